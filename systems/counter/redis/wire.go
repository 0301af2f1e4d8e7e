package redis

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// maxIdle is how long an unused connection is trusted. Redis (timeout in redis.conf) or
// a load balancer may close it unnoticed; the shortest time in common use is 240 s.
const maxIdle = time.Minute

// A countedConn is a connection that counts, and that knows what has certainly not been sent.
type countedConn struct {
	net.Conn
	link   *connector
	born   time.Duration // after link.begun, as is used
	used   atomic.Int64
	writes atomic.Int32 // up to 2; the first is the greeting, which carries no command

	commands frames // of the one who writes
	answers  frames // of the reader
	owed     atomic.Int64
}

func (l *connector) dial(ctx context.Context, addr string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
	born := time.Since(l.begun)
	if deadline, ok := ctx.Deadline(); ok { // which may have no timer
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	conn, err := l.option.DialCtxFn(ctx, addr, dialer, secure)
	if err != nil {
		return nil, &unsent{cause: err}
	}
	w := &countedConn{Conn: conn, link: l, born: born}
	w.used.Store(int64(born))
	return w, nil
}

func (w *countedConn) Write(p []byte) (int, error) {
	greeting := w.greeting()
	if !greeting && w.isStale() {
		return 0, w.giveUp()
	}
	sent, err := w.commands.feed(p)
	if err != nil {
		return 0, err
	}
	w.owed.Add(int64(sent))
	n, err := w.Conn.Write(p)
	switch {
	case err == nil:
		if !greeting && !(sent == 1 && isProbe(p)) {
			w.link.roundTrips.Add(1)
		}
	case n == 0 && (greeting || w.link.oneByOne):
		return 0, &unsent{cause: err}
	}
	return n, err
}

func (w *countedConn) isStale() bool {
	if int64(w.born) < w.link.doubt.Load() {
		return true
	}
	now := int64(time.Since(w.link.begun))
	return now-w.used.Swap(now) > int64(maxIdle)
}

// giveUp ends the connection, and with it what others wait for in a pipeline.
func (w *countedConn) giveUp() error {
	if w.link.oneByOne {
		return &unsent{cause: net.ErrClosed, stale: true}
	}
	_ = w.Conn.Close()
	return net.ErrClosed
}

// greeting reports whether this write is the first.
func (w *countedConn) greeting() bool {
	return w.writes.Load() < 2 && w.writes.Add(1) == 1
}

func (w *countedConn) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if wrong := w.check(p[:n]); wrong != nil {
		n, err = 0, wrong
	}
	if err != nil && w.writes.Load() < 2 {
		return n, &unsent{cause: err}
	}
	return n, err
}

// check looks whether there are no more answers than commands.
func (w *countedConn) check(p []byte) error {
	came, err := w.answers.feed(p)
	if w.link.listens || err != nil {
		return err
	}
	if owed := w.owed.Add(-int64(came)); owed < 0 || owed == 0 && w.answers.size > 0 {
		return errProtocol
	}
	return nil
}

// isProbe reports whether a write is a probe, of rueidis or our own.
func isProbe(p []byte) bool {
	return bytes.HasPrefix(p, []byte("*1\r\n$4\r\nPING\r\n")) || bytes.HasPrefix(p, []byte("*2\r\n$6\r\nEXISTS\r\n"))
}
