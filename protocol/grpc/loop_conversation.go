package grpc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"contend/errkind"
	"contend/h2"
	"contend/load"
	"contend/loop"
)

// A conversation makes unary calls over one connection on an event loop. It
// judges answers as grpc-go does, and the status of a server as judge does.
type conversation struct {
	call    *loopCall
	conn    *h2.Conn
	answers []answer // by slot
	slots   loop.Slots
	outcome load.Outcome // of the latest answer; here to spare an allocation per answer
	// now is when the first call since the last bytes received was begun, and is
	// used for the others as well: only the kind of a reset depends on it.
	now     time.Time
	stamped bool
}

var (
	_ loop.Canceler = (*conversation)(nil)
	_ loop.Repeater = (*conversation)(nil)
	_ h2.Streams    = (*conversation)(nil)
)

func newConversation(call *loopCall, slots int) *conversation {
	c := &conversation{call: call, answers: make([]answer, slots)}
	c.conn = h2.NewConn(slots, c)
	return c
}

// Open greets the server.
func (c *conversation) Open(out []byte) []byte { return c.conn.Open(out) }

// Start calls once.
func (c *conversation) Start(out []byte, slot int) []byte {
	if c.call.timeout > 0 && !c.stamped {
		c.now, c.stamped = time.Now(), true
	}
	c.answers[slot].reset(c.now)
	return c.conn.Start(out, slot, c.call.request)
}

// Repeat makes a call again that the server did not process.
func (c *conversation) Repeat(out []byte, slot int) []byte {
	return c.conn.Start(out, slot, c.call.request)
}

// Safe is false: only what a server did not process may be called again, unless it says
// more of the method (https://github.com/grpc/proposal/blob/master/A6-client-retries.md).
func (*conversation) Safe(int) bool { return false }

// Cancel gives a call up.
func (c *conversation) Cancel(out []byte, slot int) []byte { return c.conn.Cancel(out, slot) }

// Receive reads answers, or parts of them.
func (c *conversation) Receive(out, in []byte, slots loop.Slots) ([]byte, error) {
	c.slots, c.stamped = slots, false
	out, err := c.conn.Receive(out, in)
	if c.conn.Draining() {
		slots.Drain()
	}
	return out, err
}

// Header takes the header of an answer or its trailers. An answer that ends
// with its header has the status there.
func (c *conversation) Header(slot int, h *h2.Header, ends bool) error {
	a := &c.answers[slot]
	if h.Status != 0 {
		c.slots.FirstByte(slot)
		if kind := h.Get("content-type"); !isGRPC(kind) {
			return foreign("HTTP status %d with the content type %.40q: not gRPC", h.Status, kind)
		}
	}
	if ends {
		return a.end(h, int(c.call.expect))
	}
	return nil
}

// Data counts messages.
func (c *conversation) Data(slot int, p []byte) error {
	return c.answers[slot].take(p, c.call.maxMessage, nil)
}

// End tells the loop what became of a call.
func (c *conversation) End(slot int, err error) {
	a := &c.answers[slot]
	timeout := c.call.timeout
	switch {
	case err == nil:
		err = a.judge(timeout > 0)
	case err == h2.ErrCancelled && timeout > 0 && time.Since(a.begun) >= timeout:
		err = errExceeded // the server's clock was faster than the loop's
	case errors.Is(err, h2.ErrUnprocessed):
		err = &loop.Unprocessed{Err: err}
	}
	if err != nil {
		c.slots.End(slot, nil, err)
		return
	}
	c.outcome = load.Outcome{
		Status:   a.code,
		Failed:   a.code != int(c.call.expect),
		Detail:   a.detail,
		BytesOut: c.call.call.request.size,
	}
	if c.call.keeps {
		c.outcome.Parted = c.conn.Parted()
	}
	if a.code == int(codes.OK) {
		c.outcome.BytesIn, c.outcome.BodyIn = a.size, a.size
	}
	if c.outcome.Failed {
		c.outcome.Expected = c.call.expected
	} else {
		c.outcome.Content = &c.call.said
	}
	c.slots.End(slot, &c.outcome, nil)
}

// isGRPC reports whether a content type is application/grpc, alone or with a
// message format or parameters after it.
func isGRPC(contentType []byte) bool {
	const base = "application/grpc"
	rest, found := strings.CutPrefix(string(contentType), base)
	return found && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func foreign(format string, args ...any) error {
	return &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("gRPC: "+format, args...)}
}

var (
	errExceeded = &errkind.Error{Kind: errkind.Timeout, Err: errors.New("the server ended the call at its deadline")}
	errNoStatus = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("the answer ended without trailers")}
	errCut      = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("the answer ended within a message")}
	errEmpty    = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("an OK without a message")}
	errMany     = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("more than one message in the answer to a unary call")}
	errLarge    = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("gRPC: a message that is too large")}
	errPacked   = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("a compressed message, which was not asked for")}
)
