package roundtrip

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"contend/protocol/wire"
)

// A clientConn is one connection that carries requests.
type clientConn interface {
	http.RoundTripper
	wire.Conn
}

// open opens a connection.
func (t *Target) open(ctx context.Context) (clientConn, error) {
	if t.config.Version == "3" {
		l, err := t.openUDP(ctx)
		if err != nil {
			return nil, dialError(err)
		}
		return l, nil
	}
	conn, err := t.tcp.NewClientConn(ctx, t.origin.URL.Scheme, t.origin.Address)
	if err != nil {
		return nil, dialError(err)
	}
	return tcpConn{conn}, nil
}

// A tcpConn is a connection of HTTP/2.
type tcpConn struct{ *http.ClientConn }

func (l tcpConn) IsDead() bool { return l.Err() != nil }

// A quicConn is a connection of HTTP/3 with a socket of its own, as any client
// has one.
type quicConn struct {
	*http3.ClientConn
	socket    socket
	transport *quic.Transport
}

// handshakeTimeout bounds one attempt to connect, for a server that is silent.
// The plan's timeout may be shorter.
const handshakeTimeout = 10 * time.Second

func (t *Target) openUDP(ctx context.Context) (*quicConn, error) {
	// The network is asked for names, but told nothing yet: a connected socket
	// learns that nobody listens, where quic-go's own sockets wait in vain.
	connection, err := (&net.Dialer{}).DialContext(ctx, "udp", t.origin.Address)
	if err != nil {
		return nil, err
	}
	l := &quicConn{socket: socket{connection.(*net.UDPConn)}}
	l.transport = &quic.Transport{Conn: l.socket}
	conn, err := l.transport.Dial(ctx, connection.RemoteAddr(), t.tls, &quic.Config{HandshakeIdleTimeout: handshakeTimeout})
	if err != nil {
		l.closeSocket()
		return nil, err
	}
	l.ClientConn = t.udp.NewClientConn(conn)
	return l, nil
}

func (l *quicConn) IsDead() bool { return l.Context().Err() != nil }

// Close says goodbye and frees the socket.
func (l *quicConn) Close() error {
	_ = l.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") // it may have ended before
	l.closeSocket()
	return nil
}

// closeSocket ends the transport first, which then reads no more.
func (l *quicConn) closeSocket() {
	_ = l.transport.Close() // it may have failed before
	_ = l.socket.Close()
}

// A socket is a connected one that takes the addresses of its only peer.
type socket struct{ *net.UDPConn }

// WriteTo writes to the peer.
func (s socket) WriteTo(p []byte, _ net.Addr) (int, error) { return s.Write(p) }

// WriteMsgUDP writes to the peer.
func (s socket) WriteMsgUDP(p, oob []byte, _ *net.UDPAddr) (n, oobn int, err error) {
	return s.UDPConn.WriteMsgUDP(p, oob, nil)
}

var _ quic.OOBCapablePacketConn = socket{}

// dialError is of kind TLS where a handshake failed.
func dialError(err error) error { return classify(err, true) }
