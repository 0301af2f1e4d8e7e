package redistest

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Weather is what a Proxy does to what passes it. The zero Weather is fine.
type Weather struct {
	Latency, Jitter time.Duration // of each piece of data: Latency, and up to Jitter more
	// DeafToRequests and DeafToAnswers swallow data on its way to the Redis or from it. A connection that
	// has lost some never delivers again in that direction, as that of a peer that has vanished.
	DeafToRequests, DeafToAnswers bool
	Held                          bool    // requests are kept until it changes
	Extra                         string  // follows each piece of answers
	Cut                           float64 // chance of a piece of data to be cut, and its connection reset
	ClosedDoor                    bool    // new connections are not taken on
}

// A Proxy connects clients to a Redis, or to whatever else it dials.
type Proxy struct {
	// What it has done: pieces of requests that came, and of all data those that were late, lost or cut; and
	// connections that it did not take on.
	Requests, Delayed, Swallowed, Cut, Waited atomic.Int64

	ln       net.Listener
	upstream func() (net.Conn, error)

	mu      sync.Mutex
	changed *sync.Cond // on mu: the weather, or closed
	now     Weather
	closed  bool
	conns   map[*proxied]struct{}
	wg      sync.WaitGroup
}

// StartProxy starts one in front of what upstream dials. It ends with the test.
func StartProxy(t testing.TB, upstream func() (net.Conn, error)) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{ln: ln, upstream: upstream, conns: make(map[*proxied]struct{})}
	p.changed = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.mu.Lock()
		p.closed = true
		p.changed.Broadcast()
		p.mu.Unlock()
		_ = ln.Close()
		p.Sever(true)
		p.wg.Wait()
	})
	return p
}

// Addr is where clients find it.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Become changes the weather.
func (p *Proxy) Become(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = w
	p.changed.Broadcast()
}

// Sever ends every connection, by a reset or in order, and returns how many.
func (p *Proxy) Sever(reset bool) int {
	p.mu.Lock()
	conns := make([]*proxied, 0, len(p.conns))
	for l := range p.conns {
		conns = append(conns, l)
	}
	p.mu.Unlock()
	for _, l := range conns {
		l.end(reset)
	}
	return len(conns)
}

func (p *Proxy) accept() {
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
func (p *Proxy) admit() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.now.ClosedDoor && !p.closed {
		p.Waited.Add(1)
		p.changed.Wait()
	}
	return !p.closed
}

// join connects a client with the Redis until either goes.
func (p *Proxy) join(client net.Conn) {
	server, err := p.upstream()
	if err != nil {
		_ = client.Close()
		return
	}
	l := &proxied{proxy: p, client: client, server: server}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.conns[l] = struct{}{}
	}
	p.mu.Unlock()
	if closed {
		l.end(false)
		return
	}
	var pumps sync.WaitGroup
	pumps.Go(func() { l.pump(server, client, true) })
	pumps.Go(func() { l.pump(client, server, false) })
	pumps.Wait()
	p.mu.Lock()
	delete(p.conns, l)
	p.mu.Unlock()
}

// weather is that for a piece of data, which may be kept for better.
func (p *Proxy) weather(request bool) Weather {
	if request {
		p.Requests.Add(1)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for request && p.now.Held && !p.closed {
		p.changed.Wait()
	}
	return p.now
}

// A proxied connection is that of a client and the one to the server.
type proxied struct {
	proxy          *Proxy
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
func (l *proxied) pump(dst, src net.Conn, request bool) {
	defer l.end(false)
	var buf [32 << 10]byte
	for deaf := false; ; {
		n, err := src.Read(buf[:])
		if err != nil {
			return
		}
		w := l.proxy.weather(request)
		deaf = deaf || request && w.DeafToRequests || !request && w.DeafToAnswers
		if deaf {
			l.proxy.Swallowed.Add(int64(n))
			continue
		}
		if wait := w.Latency + time.Duration(rand.Float64()*float64(w.Jitter)); wait > 0 {
			l.proxy.Delayed.Add(1)
			time.Sleep(wait)
		}
		if rand.Float64() < w.Cut {
			l.proxy.Cut.Add(1)
			_, _ = dst.Write(buf[:rand.IntN(n+1)])
			l.end(true)
			return
		}
		data := buf[:n]
		if !request {
			data = append(data, w.Extra...)
		}
		if _, err := dst.Write(data); err != nil {
			return
		}
	}
}
