package ws

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/gobwas/ws"

	"contend/errkind"
	"contend/websocket"
)

// A refusal is the answer of a server that did not open a WebSocket.
type refusal struct {
	status int
	answer []byte // its beginning
}

func (r *refusal) Error() string { return fmt.Sprintf("handshake: status %d", r.status) }

// connect opens a connection and has it read.
func (t *Target) connect(ctx context.Context) (*conn, error) {
	c, err := t.open(ctx)
	if err == nil {
		go c.read() // conn.close waits for it, or it has ended with the connection
	}
	return c, err
}

// open opens a connection that nobody reads yet.
func (t *Target) open(ctx context.Context) (*conn, error) {
	wire, stream, err := t.stream(ctx)
	if err != nil {
		return nil, err
	}
	c, err := t.shakeHands(ctx, stream)
	if err != nil {
		wire.Close()
		return nil, err
	}
	c.wire = wire
	return c, nil
}

// stream opens a connection, and shakes hands over it if it is secure: wire is the
// socket, stream what is written to and read.
func (t *Target) stream(ctx context.Context) (wire, stream net.Conn, err error) {
	wire, err = t.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	if t.tls == nil {
		return wire, wire, nil
	}
	secure := tls.Client(wire, t.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		wire.Close()
		return nil, nil, tlsError(err)
	}
	return wire, secure, nil
}

// dial opens a plain connection. Probes for a dead peer are off: the
// iteration's timeout finds it, and they cost system calls.
func (t *Target) dial(ctx context.Context) (net.Conn, error) {
	if t.config.Dial != nil {
		return t.config.Dial(ctx)
	}
	d := net.Dialer{KeepAlive: -1}
	return d.DialContext(ctx, "tcp", t.origin.Address)
}

// shakeHands makes a WebSocket of a stream.
func (t *Target) shakeHands(ctx context.Context, stream net.Conn) (*conn, error) {
	var refused *refusal
	upgrader := t.upgrader
	upgrader.OnStatusError = func(status int, _ []byte, answer io.Reader) {
		refused = &refusal{status: status, answer: beginning(answer)}
	}
	early, deflates, err := upgrade(ctx, &limitedStream{Conn: stream, left: maxHandshake}, upgrader, t.origin.URL)
	switch {
	case err != nil && ctx.Err() == nil && refused != nil:
		return nil, refused
	case err != nil:
		return nil, err
	}
	return newConn(t, stream, early, deflates), nil
}

// upgrade shakes hands over a stream, until ctx is done. It returns what came after the
// answer, and whether messages may be compressed.
func upgrade(ctx context.Context, stream net.Conn, d ws.Dialer, u *url.URL) (early []byte, deflates bool, err error) {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = stream.SetDeadline(time.Unix(1, 0)) // fails if the connection is closed, which is as good
	})
	buffered, handshake, err := d.Upgrade(&websocket.Client{Conn: stream}, u)
	if !stop() {
		<-interrupted
		return nil, false, fmt.Errorf("handshake: %w", ctx.Err())
	}
	if err != nil {
		return nil, false, handshakeError(err)
	}
	deflates, err = accepted(handshake.Extensions)
	return takeEarly(buffered), deflates, err
}

// beginning returns the status line and what came with it: three reads, since
// the line, its end and the rest are read apart.
func beginning(answer io.Reader) []byte {
	buf := make([]byte, maxDetail)
	n := 0
	for range 3 {
		more, _ := answer.Read(buf[n:])
		n += more
	}
	return buf[:n]
}

// takeEarly returns what the server sent right after the handshake.
func takeEarly(early *bufio.Reader) []byte {
	if early == nil {
		return nil
	}
	defer ws.PutReader(early)
	first, _ := early.Peek(early.Buffered()) // without an error: they have arrived
	return bytes.Clone(first)
}

// maxHandshake is how many bytes of a handshake's answer are read.
const maxHandshake = 32 << 10

var errHandshakeTooLong = errors.New("the answer's header is too long")

// A limitedStream can be read up to a limit.
type limitedStream struct {
	net.Conn
	left int
}

// Read reads what is left at most.
func (s *limitedStream) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, errHandshakeTooLong
	}
	n, err := s.Conn.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

// handshakeError is of kind Protocol unless the network or the clock failed.
func handshakeError(err error) error {
	return errkind.Or(errkind.Protocol, fmt.Errorf("handshake: %w", err))
}

// tlsError is of kind TLS unless the network or the clock failed.
func tlsError(err error) error {
	return errkind.Or(errkind.TLS, fmt.Errorf("TLS handshake: %w", err))
}
