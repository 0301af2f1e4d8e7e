package loop

import (
	"crypto/tls"
	"io"
	"net"
	"os"

	"contend/internal/epoll"
)

// A sealed connection is one of TLS. During the handshake crypto/tls has the
// connection itself; afterwards the loop gives it what was read and sends what
// it has written, so that it never waits.
type sealed struct {
	*tls.Conn
	wire memoryConn
}

// A memoryConn is what crypto/tls takes for the connection.
type memoryConn struct {
	net.Conn         // is closed after the handshake
	detached bool    // which has ended
	in       []byte  // what came
	ended    bool    // and was the last
	out      *[]byte // what is to be sent
}

// errNothing says that nothing has come. It has to be a temporary net.Error:
// after any other crypto/tls gives the connection up, after that it keeps the
// part of a record that it has (crypto/tls, Conn.readRecordOrCCS). Package os
// has one that is.
var errNothing = os.ErrDeadlineExceeded.(net.Error)

func (w *memoryConn) Read(p []byte) (int, error) {
	switch {
	case !w.detached:
		return w.Conn.Read(p)
	case len(w.in) > 0:
		n := copy(p, w.in)
		w.in = w.in[n:]
		return n, nil
	case w.ended:
		return 0, io.EOF
	}
	return 0, errNothing
}

func (w *memoryConn) Write(p []byte) (int, error) {
	if !w.detached {
		return w.Conn.Write(p)
	}
	*w.out = append(*w.out, p...)
	return len(p), nil
}

// clearSize is as much as a record of TLS holds (RFC 8446, section 5.1).
const clearSize = 16 << 10

// fetchSealed is fetch for TLS. With nothing read it still finds what came
// together with the handshake.
func (l *Loop) fetchSealed(k *connection) (full bool, err error) {
	n, errno := epoll.Receive(k.fd, l.buf)
	again := k.unread(errno)
	if errno != 0 && again != errno {
		return false, again
	}
	if err := l.unseal(k, l.buf[:n], errno == 0 && n == 0); err != nil {
		return false, err
	}
	if errno != 0 {
		return false, errno
	}
	return n == len(l.buf), nil
}

// unseal hands on what came, in the clear. Replies of TLS itself are sent.
func (l *Loop) unseal(k *connection, in []byte, ended bool) error {
	s := k.sealed
	s.wire.in, s.wire.ended = in, ended
	l.sealed = l.sealed[:0]
	var err, fault error
	for err == nil && fault == nil {
		var n int
		if n, err = s.Read(l.clear); n > 0 {
			l.out, fault = k.conversation.Receive(l.out, l.clear[:n], k)
		}
	}
	if len(l.sealed) > 0 {
		if len(k.pending) > maxPending {
			return errDeaf
		}
		_ = k.transmit(l.sealed) // if that fails a read will also fail
	}
	switch {
	case fault != nil:
		return fault
	case err == errNothing:
		return nil
	case err != io.EOF:
		return secureError("TLS", err)
	}
	l.out, err = k.conversation.Receive(l.out, nil, k)
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// seal returns b as it is to be sent. It is valid until the next call.
func (k *connection) seal(b []byte) ([]byte, error) {
	l := k.loop
	l.sealed = l.sealed[:0]
	if k.sealed == nil || len(b) == 0 {
		return b, nil
	}
	if _, err := k.sealed.Write(b); err != nil {
		return nil, secureError("TLS", err)
	}
	return l.sealed, nil
}

// unseat ends TLS on a connection that is being closed, and says so to the peer
// if nothing is left to be sent before that.
func (k *connection) unseat() {
	l := k.loop
	l.sealed = l.sealed[:0]
	if err := k.sealed.CloseWrite(); err == nil && len(k.pending) == 0 {
		_, _ = epoll.Send(k.fd, l.sealed, 0)
	}
	k.sealed = nil
}
