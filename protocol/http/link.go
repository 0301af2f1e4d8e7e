package http

import (
	"crypto/tls"
	"net"
	"syscall"

	"contend/errkind"
)

// A keptConn is a connection that can carry one request after another.
type keptConn struct {
	net.Conn
	raw    syscall.RawConn // of the socket below; nil without one (net.Pipe)
	secure bool
	used   bool // has carried a request
	broken bool // the peer takes no more
	raws   rawExchange
}

func newLink(conn net.Conn) *keptConn {
	l := &keptConn{Conn: conn}
	wire := l.wire()
	l.secure = wire != conn
	if s, ok := wire.(syscall.Conn); ok {
		l.raw, _ = s.SyscallConn()
	}
	l.raws.init()
	return l
}

// wire returns the connection below TLS.
func (l *keptConn) wire() net.Conn {
	if secure, ok := l.Conn.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return l.Conn
}

// handshake returns what was agreed on; nil without TLS.
func (l *keptConn) handshake() *tls.ConnectionState {
	secure, ok := l.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	state := secure.ConnectionState()
	return &state
}

// exchange sends request and reads the first bytes of the answer into buf.
func (l *keptConn) exchange(request, buf []byte) (int, error) {
	fresh := !l.used
	l.used = true
	if l.raw != nil && !l.secure && !fresh {
		return l.exchangeRaw(request, buf)
	}
	return l.writeRead(request, buf)
}

func (l *keptConn) writeRead(request, buf []byte) (int, error) {
	if _, err := l.Write(request); err != nil {
		return l.readLast(buf, err)
	}
	return l.Read(buf)
}

// readLast reads what a peer sent that takes no more of a request: it may have answered before.
func (l *keptConn) readLast(buf []byte, err error) (int, error) {
	if !errkind.IsLost(err) {
		return 0, err
	}
	l.broken = true
	n, _ := l.Read(buf)
	if n == 0 {
		return 0, err
	}
	return n, nil
}

// stale reports whether the peer has closed the connection or has sent
// something while no request was out that p does not pass over. The connection
// must then not be used.
//
// Over TLS a connection that has not yet carried a request is never stale:
// session tickets may be waiting in it.
func (l *keptConn) stale(p *parser) bool {
	if l.raw == nil || l.secure && !l.used {
		return false
	}
	return l.readable(func(in []byte) bool { return !l.secure && p.unasked(in) == nil })
}
