// Package ws puts a WebSocket server under load (RFC 6455).
//
// An iteration sends one message and waits for its response, or only sends, or only
// waits for the next message. Frames are read and written by gobwas/ws, which allocates
// nothing per message.
//
// # Connections
//
// Each connection has a goroutine that reads it, so that pings are answered and
// a close is noticed at any time. Messages are written by the virtual user that
// sends them, or together with others' while such a write is on its way.
//
// NewVU connects before the clock starts, unless connections are per iteration.
// If that fails, the run goes on: the virtual user tries again in its first
// iteration and reports the failure there. After an error, and after the server
// has closed the connection, the next iteration opens a new one and says so in
// Phases.Connect. Virtual users that share a connection share the attempt to
// open it. A message that was sent is never sent again.
//
// # Responses
//
// ByOrder: a message that arrives is the response to the oldest message without one. If
// one times out, the order is lost: the connection is closed, and all that wait on it
// get an error of kind Closed. ByID: messages carry an id. Messages that nobody waits
// for are skipped. In the mode Receive nothing is skipped: what no iteration has read yet
// waits in the connection and holds the server up; an iteration that finds a message
// there takes no time.
//
// # Errors
//
// A frame or handshake that breaks the protocol and a message that is too long
// are errors of kind Protocol; a close by the server, whatever its code, is
// Closed, and the error's text has the code. A handshake that is refused with a
// status of HTTP is a failed Outcome of that status.
package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/gobwas/ws"

	"contend/errkind"
	"contend/load"
	"contend/protocol/jsonpath"
	"contend/protocol/wire"
	"contend/setting"
)

// A Target does one exchange of messages per iteration. Its methods may be
// called concurrently, except Close.
type Target struct {
	config   Config
	origin   wire.Origin
	tls      *tls.Config
	upgrader ws.Dialer
	message  message
	answerID jsonpath.Path
	epoch    time.Time // of the times below that are durations
	slots    *wire.Slots[*conn]
}

var _ load.Reacher = (*Target)(nil)

// New checks the whole of c. The error joins a *setting.Mistake for everything that is
// wrong with it. It does not connect.
func New(c Config) (*Target, error) {
	c = c.withDefaults()
	o, originErr := c.origin()
	host, lines, headerErr := c.header()
	m, messageErr := newMessage(c)
	errs := []error{originErr, c.check(), headerErr, messageErr}
	t := &Target{config: c, origin: o, message: m, epoch: time.Now()}
	var tlsErr error
	t.tls, tlsErr = o.TLS(c.TLS, "http/1.1")
	errs = append(errs, tlsErr)
	if c.Match == ByID && c.AnswerIDPath != c.IDPath {
		var err error
		if t.answerID, err = jsonpath.Parse(c.AnswerIDPath); err != nil {
			errs = append(errs, setting.At(&c, &c.AnswerIDPath).About(err))
		}
	} else if c.Match == ByID {
		t.answerID, _ = jsonpath.Parse(c.IDPath) // newMessage complains
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	t.upgrader = ws.Dialer{Host: host, Header: ws.HandshakeHeaderBytes(lines), Protocols: c.Subprotocols}
	if c.Compress {
		t.upgrader.Extensions = offer()
	}
	t.slots = wire.NewSlots(c.Connections, t.connect)
	return t, nil
}

// NewVU makes a virtual user and connects it, unless connections are per
// iteration. With shared connections VU id uses connection id modulo their
// number. It returns no error: see the package comment.
func (t *Target) NewVU(ctx context.Context, id int) (load.VU, error) {
	v := newVU(t)
	v.slot, v.owns = t.slots.For(ctx, id)
	return v, nil
}

// Reach opens a connection and closes it, without the handshake of a WebSocket, which
// is a request.
func (t *Target) Reach(ctx context.Context) error {
	socket, _, err := t.stream(ctx)
	if err != nil {
		return err
	}
	socket.Close() // it has shown what it was for
	return nil
}

// Close closes the shared connections. Virtual users with connections of their
// own close those themselves.
func (t *Target) Close() error {
	t.slots.Close()
	return nil
}

func (t *Target) now() time.Duration { return time.Since(t.epoch) }

// protocolError says that the peer broke the protocol.
func protocolError(format string, args ...any) error {
	return &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("WebSocket: "+format, args...)}
}

func tooLong(limit int) error { return protocolError("a message has more than %d bytes", limit) }
