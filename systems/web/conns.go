package web

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// A conn is one HTTP connection that reports whether a request has begun to
// arrive on it and is not answered yet. fasthttp's StateActive does not: it
// covers a new connection on which nothing was sent.
type conn struct {
	net.Conn
	late bool // accepted while draining
	busy atomic.Bool
	// For the serving goroutine only: it has answered a request, and refused one.
	used, refused bool
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.busy.Load() {
		c.busy.Store(true)
	}
	return n, err
}

// The bounds of what is read of a refused request before its connection is closed: bytes and time.
const (
	refusedBytes = 1 << 20
	refusedTime  = time.Second
)

// Close reads what follows a refused request first: a reset would take its response away.
func (c *conn) Close() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if c.refused && ok && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(refusedTime))
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, refusedBytes))
	}
	return c.Conn.Close()
}

// ReadFrom lets files go the way of the connection, which is sendfile where there is one.
func (c *conn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// conns knows the open connections of a listener. fasthttp's own Shutdown
// closes a connection that is idle by its books at the moment when a request
// arrives on it: it is answered, and the answer lost. Here an idle
// connection only loses the right to read, so whatever was read is answered.
type conns struct {
	net.Listener
	draining func() bool

	mu   sync.Mutex
	open map[*conn]struct{}
}

func (cs *conns) Accept() (net.Conn, error) {
	nc, err := cs.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, late: cs.draining()}
	cs.mu.Lock()
	cs.open[c] = struct{}{}
	cs.mu.Unlock()
	return c, nil
}

// changed is the server's ConnState hook. It runs twice per request, so it
// touches nothing but the connection unless that is closed.
func (cs *conns) changed(nc net.Conn, state fasthttp.ConnState) {
	c := nc.(*conn)
	switch state {
	case fasthttp.StateActive:
		if c.used { // a pipelined request is in the buffer already: no Read
			c.busy.Store(true)
		}
	case fasthttp.StateIdle:
		c.used = true
		c.busy.Store(false)
	case fasthttp.StateClosed:
		cs.mu.Lock()
		delete(cs.open, c)
		cs.mu.Unlock()
	}
}

// endIdle ends the connections that carry no request at the time given, the
// late ones only if asked, and returns how many of those are still open. A
// connection that has just gone idle may renew its deadline after this, so it
// is called until nothing is left.
func (cs *conns) endIdle(at time.Time, late bool) int {
	n := 0
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		if c.late && !late {
			continue
		}
		n++
		if !c.busy.Load() {
			_ = c.SetReadDeadline(at) // fails only on a closed connection
		}
	}
	return n
}

// closeAll closes every connection in the middle of whatever it carries, and
// returns how many there were.
func (cs *conns) closeAll() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		_ = c.Conn.Close()
	}
	return len(cs.open)
}

func (cs *conns) active() (n int) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		if c.busy.Load() {
			n++
		}
	}
	return n
}
