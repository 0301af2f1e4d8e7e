package http

import (
	"crypto/tls"
	"fmt"

	"contend/load"
	"contend/loop"
)

// A conversation is a connection on an event loop. It has one slot, since
// HTTP/1.1 answers in turn.
type conversation struct {
	target   *Target
	sender   *sender
	parser   parser
	in       int64 // bytes of the answer so far
	inFlight bool
	secure   *tls.ConnectionState
	outcome  load.Outcome // of the latest answer; here to spare an allocation per answer
}

var (
	_ loop.Skipper  = (*conversation)(nil)
	_ loop.Namer    = (*conversation)(nil)
	_ loop.Repeater = (*conversation)(nil)
	_ loop.Secured  = (*conversation)(nil)
)

func newConversation(t *Target, s *sender) *conversation {
	return &conversation{target: t, sender: s, parser: t.newParser()}
}

// Open has nothing to say before the first request.
func (c *conversation) Open(out []byte) []byte {
	c.inFlight = false
	c.parser.renew()
	return out
}

// Secured notes what a handshake agreed on.
func (c *conversation) Secured(state tls.ConnectionState) error {
	c.secure = &state
	return nil
}

func (c *conversation) handshake() *tls.ConnectionState { return c.secure }

// Start sends the request.
func (c *conversation) Start(out []byte, _ int) []byte {
	c.sender.next(&c.parser)
	return c.send(out)
}

// Repeat sends the request once more, on another connection.
func (c *conversation) Repeat(out []byte, _ int) []byte {
	c.parser.reset()
	return c.send(out)
}

// Safe reports whether the request may be sent twice.
func (c *conversation) Safe(int) bool { return c.sender.request.safe }

func (c *conversation) send(out []byte) []byte {
	c.in = 0
	c.inFlight = true
	return c.sender.appendTo(out)
}

// Name returns the name of the request that was sent last.
func (c *conversation) Name(int) string { return c.sender.request.name }

// Receive reads a piece of the answer.
func (c *conversation) Receive(out, in []byte, slots loop.Slots) ([]byte, error) {
	if len(in) == 0 {
		return out, c.closed(slots)
	}
	if !c.inFlight {
		return out, c.parser.unasked(in)
	}
	waited := !c.parser.begun
	used, err := c.parser.receive(in)
	c.in += int64(used)
	if waited && c.parser.begun {
		slots.FirstByte(0)
	}
	if err == nil && c.parser.done() {
		c.end(slots)
	}
	return out, err
}

// closed ends an answer that lasts until the connection ends.
func (c *conversation) closed(slots loop.Slots) error {
	if !c.inFlight {
		return nil
	}
	if err := c.parser.eof(); err != nil {
		return fmt.Errorf("connection closed after %d bytes of an answer: %w", c.in, err)
	}
	c.end(slots)
	return nil
}

// end hands over a complete answer.
func (c *conversation) end(slots loop.Slots) {
	c.inFlight = false
	c.target.judge(&c.outcome, c.sender, &c.parser, c, c.in)
	if !c.target.keepAlive || !c.parser.reusable() {
		slots.Drain()
	}
	slots.End(0, &c.outcome, nil)
}

// Skip lets the rest of a body go by that nobody looks at.
func (c *conversation) Skip() int64 {
	if !c.inFlight {
		return 0
	}
	return c.parser.idle()
}

// Skipped counts n bytes of the body.
func (c *conversation) Skipped(n int64, slots loop.Slots) {
	c.in += n
	c.parser.pass(n)
	if c.parser.done() {
		c.end(slots)
	}
}
