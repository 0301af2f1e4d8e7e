package ws

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gobwas/ws"

	"contend/protocol/wire"
)

// What a Received is, and what Send sends.
const (
	Text   = ws.OpText
	Binary = ws.OpBinary
	Ping   = ws.OpPing
	Pong   = ws.OpPong
)

// SocketOptions are how a Socket is opened. MaxMessage must be set.
type SocketOptions struct {
	// Header is sent with the handshake. A field Host overrides the URL's.
	Header http.Header
	// Protocols are the subprotocols that are offered.
	Protocols []string
	// TLS applies to wss; its ServerName may be empty.
	TLS *tls.Config
	// At is the host:port that is dialled where it is not the URL's own; "": it is.
	At string
	// Traffic counts what comes and goes over the connection, below TLS; nil: nobody does.
	Traffic *wire.Traffic
	// Dial opens a connection instead of the operating system, as through a proxy; nil: nothing else does.
	Dial func(ctx context.Context) (net.Conn, error)
	// Compress offers permessage-deflate without context takeover (RFC 7692).
	Compress bool
	// MaxMessage is the greatest number of bytes of a message that is received.
	MaxMessage int
}

// Check says what cannot be sent.
func (o *SocketOptions) Check() error {
	for name, values := range o.Header {
		switch {
		case strings.Contains(reserved, ","+strings.ToLower(name)+","):
			return fmt.Errorf("header %s is the handshake's own", name)
		case !wire.IsToken(name) || strings.ContainsAny(strings.Join(values, ""), "\r\n\x00"):
			return fmt.Errorf("header %q cannot be sent", name)
		}
	}
	for _, p := range o.Protocols {
		if !wire.IsToken(p) {
			return fmt.Errorf("subprotocol is %q, which is not a token", p)
		}
	}
	return nil
}

// An Answer is a server's to a handshake.
type Answer struct {
	Status int // 101, or that of a refusal
	Header http.Header
	Body   []byte // of a refusal, its beginning
}

// DialSocket opens a WebSocket of a URL of ws or wss. If the server refuses it, the answer is
// returned without a socket and without an error. The options are those that Check takes.
func DialSocket(ctx context.Context, u *url.URL, o SocketOptions) (*Socket, *Answer, error) {
	socket, stream, err := dialStream(ctx, u, &o)
	if err != nil {
		return nil, nil, err
	}
	s, answer, err := openSocket(ctx, stream, u, &o)
	if s == nil {
		socket.Close()
	} else {
		s.wire = socket
	}
	return s, answer, err
}

// dialStream opens a connection, with TLS for wss.
func dialStream(ctx context.Context, u *url.URL, o *SocketOptions) (socket, stream net.Conn, err error) {
	port := map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	if o.Dial != nil {
		socket, err = o.Dial(ctx)
	} else {
		d := net.Dialer{KeepAlive: -1}
		socket, err = d.DialContext(ctx, "tcp", cmp.Or(o.At, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))))
	}
	if err != nil {
		return nil, nil, err
	}
	if socket = o.Traffic.Over(socket); u.Scheme != "wss" {
		return socket, socket, nil
	}
	config := o.TLS.Clone()
	config.NextProtos = []string{"http/1.1"}
	config.ServerName = cmp.Or(config.ServerName, u.Hostname())
	secure := tls.Client(socket, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		socket.Close()
		return nil, nil, tlsError(err)
	}
	return socket, secure, nil
}

// openSocket shakes hands.
func openSocket(ctx context.Context, stream net.Conn, u *url.URL, o *SocketOptions) (*Socket, *Answer, error) {
	header := o.Header.Clone()
	header.Del("Host")
	d := ws.Dialer{Host: o.Header.Get("Host"), Header: ws.HandshakeHeaderHTTP(header), Protocols: o.Protocols}
	if o.Compress {
		d.Extensions = offer()
	}
	var refused *Answer
	d.OnStatusError = func(_ int, _ []byte, answer io.Reader) { refused, _ = readAnswer(answer) }
	heard := &heardStream{limitedStream: limitedStream{Conn: stream, left: maxHandshake}}
	early, deflates, err := upgrade(ctx, heard, d, u)
	switch {
	case refused != nil && ctx.Err() == nil:
		return nil, refused, nil
	case err != nil:
		return nil, nil, err
	}
	answer, err := readAnswer(bytes.NewReader(heard.bytes))
	if err != nil {
		return nil, nil, handshakeError(err)
	}
	return newSocket(stream, early, deflates, o.MaxMessage), answer, nil
}

// A heardStream keeps what came over it.
type heardStream struct {
	limitedStream
	bytes []byte
}

// Read reads what is left at most.
func (s *heardStream) Read(p []byte) (int, error) {
	n, err := s.limitedStream.Read(p)
	s.bytes = append(s.bytes, p[:n]...)
	return n, err
}

// readAnswer reads an answer after those that only inform, and what has arrived of the body of a refusal.
func readAnswer(from io.Reader) (*Answer, error) {
	buffered := bufio.NewReader(from)
	r, err := http.ReadResponse(buffered, nil)
	for err == nil && r.StatusCode < 200 && r.StatusCode != http.StatusSwitchingProtocols {
		r, err = http.ReadResponse(buffered, nil)
	}
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	a := &Answer{Status: r.StatusCode, Header: r.Header}
	if a.Status != http.StatusSwitchingProtocols {
		a.Body, _ = io.ReadAll(io.LimitReader(r.Body, maxDetail)) // what came
	}
	return a, nil
}

// A Closed is the end of a Socket by a close frame of the server's.
type Closed struct {
	Code   int // 1005: the frame has none
	Reason string
}

func (c *Closed) Error() string {
	return fmt.Sprintf("closed by the server: %d %.100q", c.Code, c.Reason)
}

// errFull says that more is sent than the server takes.
var errFull = errors.New("more is sent than the server reads")

// closeTimeout is how long a server may take to answer a close.
const closeTimeout = 5 * time.Second
