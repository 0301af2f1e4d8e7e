package grpc

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"contend/load"
)

// A call is what every iteration of a Target does.
type call struct {
	method string
	kind   kind
	desc   *grpc.StreamDesc
	// request is the message of a unary call; requests are the messages that a
	// stream sends in turn, request first.
	request  *request
	requests []*request
	// messages is Config.Messages, with its default where the client streams.
	messages int
	expect   codes.Code
	said     load.Content // of every answer with the expected status
	expected string       // that status, where it was asked for
	deadline time.Duration
}

// A caller makes the calls of one VU and holds what they reuse.
type caller struct {
	call
	progress
	// apart says that the server knows another deadline than the iteration's, or
	// none: its DEADLINE_EXCEEDED is then an answer.
	apart           bool
	next            int // how many messages the stream has taken: the place in requests
	sending         outgoing
	reply           reply
	header, trailer metadata.MD
	options         []grpc.CallOption
	patient         []grpc.CallOption
	detail          []byte
}

// The progress of an iteration is what it has done so far.
type progress struct {
	// begun is when the first message was sent, lapped when the last one was sent
	// or received.
	begun, lapped     time.Time
	firstByte         time.Duration
	bytesIn, bytesOut int64
	received          int
	latencies         []time.Duration
	// short says that the stream ended well before it had all its messages.
	short bool
}

func newCaller(c call) caller { return caller{call: c} }

func (c *caller) reset() { c.progress = progress{latencies: c.latencies[:0]} }

// do makes one call over l. A stream needs a ctx that is cancelled after it.
func (c *caller) do(ctx context.Context, l *channel) (load.Outcome, error) {
	c.reset()
	c.next = 0
	stream, err := c.open(ctx, l)
	if stream != nil {
		err = c.exchange(stream)
	}
	return c.outcome(ctx, l, stream, err)
}

func (c *caller) outcome(ctx context.Context, l *channel, stream grpc.ClientStream, err error) (load.Outcome, error) {
	if err == nil {
		return c.answer(codes.OK, ""), nil
	}
	if stream != nil {
		c.header, _ = stream.Header()
		c.trailer = stream.Trailer()
	}
	return c.judge(ctx, l, err)
}

// open makes a unary call, or opens a stream that lives until ctx is done or it
// ends.
func (c *caller) open(ctx context.Context, l *channel) (stream grpc.ClientStream, err error) {
	if c.options == nil {
		c.options = []grpc.CallOption{grpc.ForceCodecV2(rawCodec{})}
		if c.kind == unary { // of a stream it would be written by another goroutine
			c.options = append(c.options, grpc.Header(&c.header), grpc.Trailer(&c.trailer))
		}
		c.patient = append(slices.Clone(c.options), grpc.WaitForReady(true))
	}
	c.header, c.trailer = nil, nil
	return l.open(ctx, c)
}

// attempt makes a unary call and returns no stream, or opens one.
func (c *caller) attempt(ctx context.Context, l *channel, patient bool) (grpc.ClientStream, error) {
	options := c.options
	if patient {
		options = c.patient
	}
	if c.kind != unary {
		return l.conn.NewStream(ctx, c.desc, c.method, options...)
	}
	c.sending = outgoing{request: c.request}
	err := l.conn.Invoke(ctx, c.method, &c.sending, &c.reply, options...)
	if !c.sending.at.IsZero() {
		c.sent()
	}
	if err == nil {
		c.got()
	}
	return nil, err
}

// sent notes that a message was sent.
func (c *caller) sent() {
	if c.begun.IsZero() {
		c.begun = c.sending.at
	}
	c.lapped = c.sending.at
	c.bytesOut += c.sending.size
	c.next++
}

// got notes that a message was received.
func (c *caller) got() {
	if c.received == 0 {
		c.firstByte = c.reply.at.Sub(c.begun)
	}
	c.bytesIn += c.reply.size
	c.received++
}

// maxDetail bounds what is kept of a status's message, which is the server's.
const maxDetail = 500

// checkMessages is the Outcome.Check of a stream that ended before it had all
// its messages.
const checkMessages = "messages"

// answer is the outcome of a call that ended with a status of the server.
func (c *caller) answer(code codes.Code, message string) load.Outcome {
	if c.received == 0 && !c.begun.IsZero() {
		c.firstByte = time.Since(c.begun) // of the status alone
	}
	out := load.Outcome{
		Status:   int(code),
		Failed:   code != c.expect || c.short,
		BytesIn:  c.bytesIn,
		BodyIn:   c.bytesIn,
		BytesOut: c.bytesOut,
		Phases:   load.Phases{FirstByte: c.firstByte},
		Messages: c.latencies,
	}
	switch {
	case code != c.expect:
		c.detail = append(c.detail[:0], message[:min(len(message), maxDetail)]...)
		out.Detail, out.Expected = c.detail, c.expected
	case c.short:
		c.detail = fmt.Appendf(c.detail[:0], "the stream ended after %d of %d messages", c.received, c.messages)
		out.Check, out.Detail = checkMessages, c.detail
	default:
		out.Content = &c.said
	}
	return out
}
