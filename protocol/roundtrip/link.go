package roundtrip

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"contend/errkind"
	"contend/h2"
	"contend/protocol/wire"
)

// A clientConn is one connection that carries requests.
type clientConn interface {
	http.RoundTripper
	wire.Conn
	// traffic is what its requests and answers took; nil: the library does not tell.
	traffic() *wire.Traffic
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
	took := new(wire.Traffic)
	// To the library the connection is one without TLS, since that is below what is counted.
	conn, err := t.tcp.NewClientConn(context.WithValue(ctx, tookKey{}, took), "http", t.origin.Address)
	if err != nil {
		return nil, dialError(err)
	}
	return tcpConn{conn, took}, nil
}

// tookKey is the key of a context with the traffic that a connection is to count.
type tookKey struct{}

// dialTCP opens a connection for HTTP/2, and shakes hands over it if it is secure.
func (t *Target) dialTCP(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := t.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if t.origin.Secure {
		secure := tls.Client(conn, t.tls)
		err := secure.HandshakeContext(ctx)
		if chosen := secure.ConnectionState().NegotiatedProtocol; err == nil && chosen != "h2" {
			err = &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("the server did not choose HTTP/2 in the TLS handshake, but %q", chosen)}
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
		conn = secure
	}
	return &framed{Conn: conn, took: ctx.Value(tookKey{}).(*wire.Traffic), went: h2.ClientGauge()}, nil
}

// A framed connection counts the frames of requests and answers.
type framed struct {
	net.Conn
	took       *wire.Traffic
	came, went h2.Gauge // of one goroutine each at a time
}

func (c *framed) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.took.Came(c.came.Count(b[:n]))
	return n, err
}

func (c *framed) Write(b []byte) (int, error) {
	c.took.Went(c.went.Count(b)) // before the answer can be here
	return c.Conn.Write(b)
}

// A tcpConn is a connection of HTTP/2.
type tcpConn struct {
	*http.ClientConn
	took *wire.Traffic
}

func (l tcpConn) IsDead() bool { return l.Err() != nil }

func (l tcpConn) traffic() *wire.Traffic { return l.took }

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

func (l *quicConn) traffic() *wire.Traffic { return nil }

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
