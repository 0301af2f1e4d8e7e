package http

import (
	"crypto/tls"
	"errors"
	"slices"
	"strconv"
	"strings"

	"contend/h2"
	"contend/load"
	"contend/loop"
)

// streams are a connection of HTTP/2 on an event loop, with prior knowledge or by
// the choice of the server in the TLS handshake. Each of its virtual users has a
// stream at a time. Bytes are those of the frames of requests and answers, and
// are not split by stream: what passed since the last answer is counted with the
// next one, so the sums are right.
type streams struct {
	target  *Target
	conn    *h2.Conn
	slots   []stream
	loop    loop.Slots // during Receive
	secure  *tls.ConnectionState
	in, out int64 // bytes that no answer has counted yet,
	came    h2.Gauge
	went    h2.Gauge
	outcome load.Outcome
}

// A stream is the part of one virtual user.
type stream struct {
	sender *sender
	parser parser
	own    h2.Request // of an iteration, if they differ
	sent   *h2.Request
	fields []h2.Field
}

var (
	_ loop.Canceler = (*streams)(nil)
	_ loop.Namer    = (*streams)(nil)
	_ loop.Repeater = (*streams)(nil)
	_ loop.Secured  = (*streams)(nil)
	_ h2.Streams    = (*streams)(nil)
)

func newStreams(t *Target, senders []*sender) *streams {
	c := &streams{target: t, slots: make([]stream, len(senders))}
	for i, s := range senders {
		c.slots[i] = stream{sender: s, parser: t.newParser()}
	}
	c.conn = h2.NewConn(len(senders), c)
	return c
}

// Open greets the server.
func (c *streams) Open(out []byte) []byte {
	c.in, c.out = 0, 0
	c.came, c.went = h2.Gauge{}, h2.ClientGauge()
	return c.send(out, c.conn.Open(out))
}

// Secured makes sure that the server has chosen HTTP/2 (RFC 9113, section 3.2).
func (c *streams) Secured(state tls.ConnectionState) error {
	if state.NegotiatedProtocol != alpn {
		return protocolError("the server did not choose HTTP/2 in the TLS handshake, but %q", state.NegotiatedProtocol)
	}
	c.secure = &state
	return nil
}

func (c *streams) handshake() *tls.ConnectionState { return c.secure }

// alpn is what HTTP/2 is called in TLS handshakes.
const alpn = "h2"

// Start sends a request.
func (c *streams) Start(out []byte, slot int) []byte {
	s := &c.slots[slot]
	s.sender.next(&s.parser)
	request := s.sender.request.streams
	if s.sent = request.fixed; s.sent == nil {
		s.fill(request)
		s.sent = &s.own
	}
	return c.send(out, c.conn.Start(out, slot, s.sent))
}

// fill builds the request of the sender's iteration.
func (s *stream) fill(r *streamRequest) {
	s.sender.body = s.sender.request.body.appendTo(s.sender.body[:0], nil, s.sender.cursor)
	s.fields = s.fields[:0]
	for _, f := range r.fields {
		value := f.value.text
		if !f.value.isFixed() {
			s.sender.out = f.value.appendTo(s.sender.out[:0], s.sender.body, s.sender.cursor)
			value = string(s.sender.out)
		}
		s.fields = append(s.fields, h2.Field{Name: f.name, Value: value})
	}
	s.own.Rewrite(s.fields, s.sender.body)
}

// Repeat sends a request again that the server did not process, and whose
// answer has not begun.
func (c *streams) Repeat(out []byte, slot int) []byte {
	return c.send(out, c.conn.Start(out, slot, c.slots[slot].sent))
}

// Safe reports whether the request may be sent twice.
func (c *streams) Safe(slot int) bool { return c.slots[slot].sender.request.safe }

// Cancel gives an iteration up.
func (c *streams) Cancel(out []byte, slot int) []byte { return c.send(out, c.conn.Cancel(out, slot)) }

// Name returns the name of the request that a slot sent last.
func (c *streams) Name(slot int) string { return c.slots[slot].sender.request.name }

// send counts what was appended to before.
func (c *streams) send(before, after []byte) []byte {
	c.out += c.went.Count(after[len(before):])
	return after
}

// Receive reads answers, or parts of them.
func (c *streams) Receive(out, in []byte, slots loop.Slots) ([]byte, error) {
	c.loop = slots
	c.in += c.came.Count(in)
	all, err := c.conn.Receive(out, in)
	if c.conn.Draining() {
		slots.Drain()
	}
	return c.send(out, all), err
}

// Header reads the header of an answer; trailers say nothing that counts.
func (c *streams) Header(slot int, h *h2.Header, _ bool) error {
	if h.Status == 0 {
		return nil
	}
	c.loop.FirstByte(slot)
	return c.slots[slot].parser.beginStream(h)
}

// Data counts the body.
func (c *streams) Data(slot int, p []byte) error {
	parser := &c.slots[slot].parser
	used, err := parser.feed(p)
	if err != nil || used == len(p) {
		return err
	}
	if !parser.bodiless() {
		return protocolError("%d bytes or more follow the answer's end", len(p)-used)
	}
	parser.stray = true // which ends with its frame
	return nil
}

// End judges an answer.
func (c *streams) End(slot int, err error) {
	s := &c.slots[slot]
	if err == nil && s.parser.eof() != nil {
		err = protocolError("a body that is shorter than its Content-Length of %d", s.parser.length)
	}
	if errors.Is(err, h2.ErrUnprocessed) {
		err = &loop.Unprocessed{Err: err}
	}
	if err != nil {
		c.loop.End(slot, nil, err)
		return
	}
	c.target.judge(&c.outcome, s.sender, &s.parser, c, c.in)
	c.outcome.BytesOut = c.out
	if c.target.keepAlive {
		c.outcome.Parted = c.conn.Parted()
	}
	c.in, c.out = 0, 0
	c.loop.End(slot, &c.outcome, nil)
}

// beginStream reads the header of an answer of HTTP/2.
func (p *parser) beginStream(h *h2.Header) error {
	p.begun = true
	p.minor = 1
	p.excerpt = strconv.AppendInt(append(p.excerpt[:0], "HTTP/2 "...), int64(h.Status), 10)
	p.beginHeader(h.Status)
	for i := 1; i < h.Len(); i++ { // :status is the first
		name, value := h.Field(i)
		switch string(name) {
		case "connection", "transfer-encoding":
			return protocolError("%s in an answer of HTTP/2", name)
		}
		p.line = append(append(append(p.line[:0], name...), ": "...), value...)
		if err := p.field(p.line); err != nil {
			return err
		}
	}
	p.line = p.line[:0]
	p.bodyFollows()
	return nil
}

// A streamRequest is a request in the form of HTTP/2.
type streamRequest struct {
	fixed  *h2.Request // nil: it differs from iteration to iteration
	fields []field     // pseudo-header fields first
}

// newStreamRequest gives a message the form that RFC 9113 says in sections 8.2
// and 8.3.
func newStreamRequest(m *message, scheme string) *streamRequest {
	fields := []field{{":method", text(m.method)}, {":scheme", text(scheme)}, {":path", m.target}, {name: ":authority"}}
	const authority = 3
	for _, f := range m.fields {
		switch name := strings.ToLower(f.name); {
		case name == "host":
			fields[authority].value = f.value
		default:
			fields = append(fields, field{name, f.value})
		}
	}
	r := &streamRequest{fields: fields}
	if !m.body.isFixed() || slices.ContainsFunc(fields, func(f field) bool { return !f.value.isFixed() }) {
		return r
	}
	known := make([]h2.Field, len(fields))
	for i, f := range fields {
		known[i] = h2.Field{Name: f.name, Value: f.value.text}
	}
	r.fixed = h2.NewRequest(known, []byte(m.body.text))
	return r
}
