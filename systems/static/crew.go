package static

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A crew is the portable engine: a goroutine for each connection.
type crew struct {
	*Server
	mu    sync.Mutex
	conns map[*conn]struct{}
	all   sync.WaitGroup
}

func newCrew(s *Server) engine { return &crew{Server: s, conns: make(map[*conn]struct{})} }

// A conn is one connection.
type conn struct {
	net.Conn
	*crew
	exchange exchange
	w        writer
	in       []byte // what has arrived
	copy     []byte // for parts of files, once there is one
	begun    bool   // a request, whose time runs
	// busy: a request has begun to arrive and is not answered.
	busy atomic.Bool
}

// acceptPause is how long to wait when a connection cannot be accepted.
const acceptPause = 50 * time.Millisecond

func (c *crew) serve() error {
	defer c.all.Wait()
	for {
		nc, err := c.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			c.log.Warn("cannot accept", "error", err)
			time.Sleep(acceptPause)
		case c.open.Add(1) > int64(c.config.MaxConns):
			_ = nc.SetWriteDeadline(time.Now().Add(acceptPause))
			_, _ = io.WriteString(nc, busy)
			_ = nc.Close()
			c.open.Add(-1)
		default:
			p := &conn{Conn: nc, crew: c, exchange: exchange{site: c.site}, w: c.newWriter(), in: make([]byte, 0, 2<<10)}
			c.mu.Lock()
			c.conns[p] = struct{}{}
			c.mu.Unlock()
			c.all.Go(p.run)
		}
	}
}

func (p *conn) run() {
	p.converse()
	_ = p.Close()
	p.mu.Lock()
	delete(p.conns, p)
	p.mu.Unlock()
	p.open.Add(-1)
}

// converse answers requests until the connection ends.
func (p *conn) converse() {
	for {
		if !p.receive() {
			return
		}
		p.w.read()
		for rest := p.in; ; {
			var out output
			n := p.exchange.next(&p.w, rest, &out)
			if n == 0 {
				p.in = append(p.in[:0], rest...)
				break
			}
			p.begun = false
			rest = rest[n:]
			if !p.send(&out) || out.close {
				p.linger(&out)
				return
			}
		}
	}
}

// receive waits for more of a request; the time for one runs from its first
// byte.
func (p *conn) receive() bool {
	fresh := len(p.in) == 0
	if fresh {
		p.busy.Store(false)
		if p.SetReadDeadline(time.Now().Add(p.config.IdleTimeout)) != nil {
			return false
		}
		if p.draining.Load() { // the drain may have set its deadline before
			_ = p.SetReadDeadline(time.Now().Add(drainLinger))
		}
	}
	if !fresh && !p.begun {
		p.begun = true
		_ = p.SetReadDeadline(time.Now().Add(p.config.HeaderTimeout))
	}
	if len(p.in) == cap(p.in) {
		p.in = append(p.in, make([]byte, maxHead)...)[:len(p.in)]
	}
	n, err := p.Read(p.in[len(p.in):cap(p.in)])
	p.in = p.in[:len(p.in)+n]
	if n > 0 && fresh {
		p.busy.Store(true)
	}
	if isTimeout(err) && len(p.in) > 0 {
		var out output
		p.w.read()
		p.exchange.fail(&p.w, http.StatusRequestTimeout, &out)
		p.send(&out)
	}
	return err == nil || n > 0
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// send writes an answer.
func (p *conn) send(out *output) bool {
	if out.file != nil {
		defer out.file.release()
	}
	_ = p.SetWriteDeadline(time.Now().Add(p.config.writeTime(int64(len(out.bytes)) + out.n)))
	if _, err := p.Write(out.bytes); err != nil {
		return false
	}
	if out.file == nil {
		_, err := p.Write(out.rest)
		return len(out.rest) == 0 || err == nil
	}
	if p.copy == nil {
		p.copy = make([]byte, 32<<10)
	}
	part := io.NewSectionReader(out.file, out.off, out.n)
	n, err := io.CopyBuffer(struct{ io.Writer }{p.Conn}, struct{ io.Reader }{part}, p.copy)
	return err == nil && n == out.n
}

// linger reads what follows a refused request.
func (p *conn) linger(out *output) {
	half, ok := p.Conn.(interface{ CloseWrite() error })
	if !out.linger || !ok || half.CloseWrite() != nil {
		return
	}
	_ = p.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.Copy(io.Discard, io.LimitReader(p.Conn, lingerBytes))
}

func (c *crew) close() {}

const drainTick = 5 * time.Millisecond

func (c *crew) drain(ctx context.Context) int {
	_ = c.listener.Close()
	end := time.Now().Add(drainLinger)
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for c.endIdle(end) > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return c.closeAll()
		}
	}
	return 0
}

// endIdle ends the connections without a request at a time, and returns how
// many are open.
func (c *crew) endIdle(at time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.conns {
		if !p.busy.Load() {
			_ = p.SetReadDeadline(at)
		}
	}
	return len(c.conns)
}

func (c *crew) closeAll() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.conns {
		_ = p.Close()
	}
	return len(c.conns)
}
