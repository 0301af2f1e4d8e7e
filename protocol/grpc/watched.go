package grpc

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/credentials"

	"contend/errkind"
	"contend/failure"
)

var (
	errSilent  = &errkind.Error{Kind: errkind.Timeout, Err: errors.New("the server accepted and did not answer")}
	errForeign = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("the server does not speak HTTP/2")}
)

// watched are transport credentials that report to a channel how the handshake
// ended, and that watch the connection after it.
type watched struct {
	credentials.TransportCredentials
	link *channel
}

func (w *watched) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		if lacksALPN(err) {
			err = failure.With(err, failure.Failure{Kind: failure.NoALPN})
		}
		w.link.failed(&errkind.Error{Kind: handshakeKind(err), Err: err})
		return nil, nil, err
	}
	return &watchedConn{Conn: conn, link: w.link}, info, nil
}

func (w *watched) Clone() credentials.TransportCredentials {
	return &watched{TransportCredentials: w.TransportCredentials.Clone(), link: w.link}
}

func handshakeKind(err error) errkind.Kind {
	switch kind := errkind.Of(err); kind {
	case errkind.Timeout, errkind.Cancelled:
		return kind
	default:
		return errkind.TLS
	}
}

// A watchedConn reports to its link when the server shows that it speaks
// HTTP/2, or why the connection ended before. It hides the system connection on
// purpose: grpc-go would read its socket options, four system calls each time.
type watchedConn struct {
	net.Conn
	link *channel
	// seen counts the bytes read up to frameType and becomes established at
	// the type of the first frame.
	seen   atomic.Int32
	failed atomic.Bool
	// reset says that a write got a reset: the kernel reports it once, and a read
	// after that finds what looks like an orderly end.
	reset atomic.Bool
}

// The server's first frame is SETTINGS: RFC 9113, sections 3.4, 4.1 and 6.5.
const (
	frameType      = 3 // its offset in a frame
	frameSettings  = 4
	establishedNow = 1 << 30
)

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF && c.reset.Load() {
		err = syscall.ECONNRESET
	}
	if seen := c.seen.Load(); seen != establishedNow {
		c.inspect(p[:n], int(seen))
		c.fail(err)
	}
	return n, err
}

func (c *watchedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		c.reset.CompareAndSwap(false, errors.Is(err, syscall.ECONNRESET))
		c.fail(err)
	}
	return n, err
}

func (c *watchedConn) inspect(p []byte, seen int) {
	at := frameType - seen
	if at >= 0 && at < len(p) && p[at] == frameSettings {
		c.seen.Store(establishedNow)
		c.link.established()
		return
	}
	c.seen.Store(int32(min(seen+len(p), frameType+1)))
}

// Close is called by grpc-go alone: before the connection is established,
// because of the server's silence or of what it sent, unless it ended itself.
func (c *watchedConn) Close() error {
	if c.seen.Load() == 0 {
		c.fail(errSilent)
	} else {
		c.fail(errForeign)
	}
	return c.Conn.Close()
}

// fail notes the first error of a connection that is not established. An error
// caused by grpc-go closing it, or setting deadlines while it does, does not
// count.
func (c *watchedConn) fail(err error) {
	switch {
	case err == nil || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded):
	case c.seen.Load() == establishedNow || c.failed.Swap(true):
	case isAlert(err):
		c.link.failed(&errkind.Error{Kind: errkind.TLS, Err: err})
	default:
		c.link.failed(err)
	}
}

// isAlert reports an alert of the other side. In TLS 1.3 a refused client
// certificate comes as one after the handshake; its type is not exported.
func isAlert(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "remote error"
}
