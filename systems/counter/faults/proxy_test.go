package faults_test

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A weather is what a proxy does to what passes it. The zero weather is fine.
type weather struct {
	latency, jitter time.Duration // of each piece of data: latency, and up to jitter more
	// deafToRequests and deafToAnswers swallow data on its way to the Redis or
	// from it. A connection that has lost some never delivers again in that
	// direction, as that of a peer that has vanished.
	deafToRequests, deafToAnswers bool
	cut                           float64 // chance of a piece of data to be cut, and its connection reset
	closedDoor                    bool    // new connections are not taken on
}

// tolls count what a proxy has done.
type tolls struct{ passed, delayed, swallowed, cut, dropped, reset, waited atomic.Int64 }

// A proxy connects the replicas to the Redis.
type proxy struct {
	ln       net.Listener
	upstream func() (net.Conn, error)
	tolls    tolls

	mu      sync.Mutex
	changed *sync.Cond // on mu: the weather, or closed
	now     weather
	closed  bool
	conns   map[*proxied]struct{}
	wg      sync.WaitGroup
}

// startProxy starts one in front of what upstream dials. It ends with the test.
func startProxy(t testing.TB, upstream func() (net.Conn, error)) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ln: ln, upstream: upstream, conns: make(map[*proxied]struct{})}
	p.changed = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

// become changes the weather.
func (p *proxy) become(w weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = w
	p.changed.Broadcast()
}

func (p *proxy) weather() weather {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// sever ends every connection, by a reset or in order, and returns how many.
func (p *proxy) sever(reset bool) int {
	p.mu.Lock()
	conns := make([]*proxied, 0, len(p.conns))
	for l := range p.conns {
		conns = append(conns, l)
	}
	p.mu.Unlock()
	for _, l := range conns {
		l.end(reset)
	}
	if reset {
		p.tolls.reset.Add(int64(len(conns)))
	} else {
		p.tolls.dropped.Add(int64(len(conns)))
	}
	return len(conns)
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	_ = p.ln.Close()
	p.sever(true)
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		if p.admit() {
			p.wg.Go(func() { p.join(client) })
		} else {
			_ = client.Close()
		}
	}
}

// admit waits while the door is closed, and reports whether it opened.
func (p *proxy) admit() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.now.closedDoor && !p.closed {
		p.tolls.waited.Add(1)
		p.changed.Wait()
	}
	return !p.closed
}

// join connects a client with the Redis until either goes.
func (p *proxy) join(client net.Conn) {
	server, err := p.upstream()
	if err != nil {
		_ = client.Close()
		return
	}
	l := &proxied{proxy: p, client: client, server: server}
	if !p.enter(l) {
		l.end(false)
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(server, client, func(w weather) bool { return w.deafToRequests }) })
	pumps.Go(func() { l.pump(client, server, func(w weather) bool { return w.deafToAnswers }) })
	pumps.Wait()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

func (p *proxy) enter(l *proxied) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.conns[l] = struct{}{}
	}
	return !p.closed
}

// A proxied connection is that of a client and the one to the server.
type proxied struct {
	proxy          *proxy
	client, server net.Conn
	once           sync.Once
}

func (l *proxied) end(reset bool) {
	l.once.Do(func() {
		if c, ok := l.client.(*net.TCPConn); ok && reset {
			_ = c.SetLinger(0)
		}
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// pump carries data from src to dst through the weather.
func (l *proxied) pump(dst, src net.Conn, deafened func(weather) bool) {
	defer l.end(false)
	var (
		buf   [32 << 10]byte
		tolls = &l.proxy.tolls
		deaf  bool
	)
	for {
		n, err := src.Read(buf[:])
		if err != nil {
			return
		}
		w := l.proxy.weather()
		deaf = deaf || deafened(w)
		if deaf {
			tolls.swallowed.Add(int64(n))
			continue
		}
		if wait := w.latency + time.Duration(rand.Float64()*float64(w.jitter)); wait > 0 {
			tolls.delayed.Add(1)
			time.Sleep(wait)
		}
		if rand.Float64() < w.cut {
			tolls.cut.Add(1)
			_, _ = dst.Write(buf[:rand.IntN(n+1)])
			l.end(true)
			return
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
		tolls.passed.Add(int64(n))
	}
}
