package wire

import (
	"net"
	"sync/atomic"
)

// Traffic is how many bytes have come and gone over connections. Its methods may be called concurrently, and
// do nothing on nil.
type Traffic struct{ in, out atomic.Int64 }

// Over counts what comes and goes over a connection.
func (t *Traffic) Over(conn net.Conn) net.Conn {
	if t == nil || conn == nil {
		return conn
	}
	return &counted{conn, t}
}

// Came counts bytes that were received.
func (t *Traffic) Came(n int64) {
	if t != nil && n > 0 {
		t.in.Add(n)
	}
}

// Went counts bytes that were sent.
func (t *Traffic) Went(n int64) {
	if t != nil && n > 0 {
		t.out.Add(n)
	}
}

// Take returns what has come and gone since it was taken last.
func (t *Traffic) Take() (in, out int64) { return t.in.Swap(0), t.out.Swap(0) }

// A counted connection counts what comes and goes.
type counted struct {
	net.Conn
	traffic *Traffic
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.Came(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	c.traffic.Went(int64(len(b))) // before the answer can be here
	return c.Conn.Write(b)
}
