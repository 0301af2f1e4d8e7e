package redis

import (
	"net"
	"sync"
	"testing"
	"time"

	"contend/internal/redisserver"
)

// How a proxy treats bytes.
const (
	flowing    = iota
	held       // it keeps what callers send until it flows again
	answerless // it passes on what callers send, and swallows the answers for ever
	dead       // it swallows all for ever: TCP has no gaps
)

// A proxy connects a counter to a Redis.
type proxy struct {
	ln      net.Listener
	backend string
	wg      sync.WaitGroup

	mu     sync.Mutex
	moved  *sync.Cond
	mode   int
	closed bool
	conns  map[net.Conn]bool
	passed int    // chunks from callers, held ones included
	extra  string // follows every chunk of answers
}

func newProxy(t testing.TB, backend string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ln: ln, backend: backend, conns: map[net.Conn]bool{}}
	p.moved = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.set(flowing)
		_ = ln.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

// server is the Redis at the proxy's address.
func (p *proxy) server(t testing.TB) *redisserver.Server {
	return at(t, redisserver.Config{URL: "redis://" + p.ln.Addr().String()})
}

func (p *proxy) accept() {
	for {
		front, err := p.ln.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("tcp", p.backend)
		if err != nil {
			reset(front)
			continue
		}
		if !p.keep(front, back) {
			return
		}
		p.wg.Go(func() { p.copy(back, front, false) })
		p.wg.Go(func() { p.copy(front, back, true) })
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.closed {
			_ = conn.Close()
		}
		p.conns[conn] = true
	}
	return !p.closed
}

func (p *proxy) copy(to, from net.Conn, isAnswer bool) {
	defer reset(to)
	defer reset(from)
	buffer := make([]byte, 16<<10)
	for swallows := false; ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		swallows = swallows || !p.passes(isAnswer)
		if !swallows {
			if _, err := to.Write(p.spoil(buffer[:n], isAnswer)); err != nil {
				return
			}
		}
	}
}

// passes waits while what has been read is held, and reports whether it goes on.
func (p *proxy) passes(isAnswer bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isAnswer {
		p.passed++
	}
	for p.mode == held && !isAnswer {
		p.moved.Wait()
	}
	return p.mode == flowing || p.mode == answerless && !isAnswer || p.mode == held
}

func (p *proxy) spoil(chunk []byte, isAnswer bool) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if isAnswer {
		chunk = append(chunk, p.extra...)
	}
	return chunk
}

// add has every chunk of answers followed by something.
func (p *proxy) add(extra string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extra = extra
}

// chunks is how many came from callers.
func (p *proxy) chunks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed
}

func (p *proxy) set(mode int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	p.moved.Broadcast()
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		reset(conn)
	}
	clear(p.conns)
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// disturb cuts all connections, stops the answers or both, in turn, until stopped.
func (p *proxy) disturb(stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			p.set(flowing)
			p.cut()
			return
		case <-time.After(time.Duration(5+i%7) * time.Millisecond):
		}
		p.set([]int{flowing, answerless, flowing, dead}[i%4])
		if i%2 == 0 {
			p.cut()
		}
	}
}
