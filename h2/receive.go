package h2

import (
	"encoding/binary"
	"fmt"
)

// A receiver is the state of the parser.
type receiver struct {
	partial []byte // of a frame that has not come whole
	// The rest of a frame that is taken as it comes: DATA of a stream, or what is
	// ignored, stream 0.
	stream    uint32
	left, pad int
	padded    bool // the length of the padding is still to come
	ends      bool
	// A header block whose end has not come, on stream blockStream.
	block       []byte
	blockStream uint32
	blockEnds   bool
}

// Receive takes bytes that arrived, in pieces of any size; in is empty when the
// server has closed its side. After an error, which is a *errkind.Error, the
// connection is not usable, and End is called for no stream of it.
func (c *Conn) Receive(out, in []byte) ([]byte, error) {
	if len(in) == 0 {
		return out, errClosed
	}
	c.out, c.ended = out, false
	var err error
	for err == nil && len(in) > 0 {
		switch r := &c.receiver; {
		case r.left > 0:
			in, err = c.payload(in)
		case len(r.partial) > 0 || len(in) < frameHeaderBytes:
			in, err = c.gather(in)
		default:
			in, err = c.frame(in)
		}
	}
	return c.sent(), err
}

// frame takes the frame that in begins with.
func (c *Conn) frame(in []byte) ([]byte, error) {
	h := parseFrameHeader(in)
	piecemeal, err := c.admit(h)
	switch {
	case err != nil:
		return nil, err
	case piecemeal:
		return in[frameHeaderBytes:], c.beginPayload(h)
	case len(in) < frameHeaderBytes+h.length:
		c.receiver.partial = append(c.receiver.partial, in...)
		return nil, nil
	}
	return in[frameHeaderBytes+h.length:], c.handle(h, in[frameHeaderBytes:frameHeaderBytes+h.length])
}

// gather completes a frame whose beginning came before.
func (c *Conn) gather(in []byte) ([]byte, error) {
	r := &c.receiver
	if in = r.fill(in, frameHeaderBytes); len(r.partial) < frameHeaderBytes {
		return in, nil
	}
	h := parseFrameHeader(r.partial)
	piecemeal, err := c.admit(h)
	if err != nil {
		return nil, err
	}
	if piecemeal {
		r.partial = r.partial[:0]
		return in, c.beginPayload(h)
	}
	if in = r.fill(in, frameHeaderBytes+h.length); len(r.partial) < frameHeaderBytes+h.length {
		return in, nil
	}
	whole := r.partial
	r.partial = r.partial[:0]
	err = c.handle(h, whole[frameHeaderBytes:])
	if cap(whole) > maxKept {
		r.partial = nil
	}
	return in, err
}

// fill moves bytes from in until partial has n of them.
func (r *receiver) fill(in []byte, n int) []byte {
	missing := min(max(0, n-len(r.partial)), len(in))
	r.partial = append(r.partial, in[:missing]...)
	return in[missing:]
}

// admit reports whether a frame is taken as it comes and not first gathered.
func (c *Conn) admit(h frameHeader) (piecemeal bool, err error) {
	switch {
	case !c.greeted && (h.kind != frameSettings || h.has(flagAck) || h.length > maxFrameBytes):
		return false, errForeign
	case h.length > maxFrameBytes:
		return false, protocolError("a frame of %d bytes, more than the %d allowed", h.length, maxFrameBytes)
	case c.receiver.blockStream != 0 && (h.kind != frameContinuation || h.stream != c.receiver.blockStream):
		return false, protocolError("a header block is interrupted by a frame of type %d", h.kind)
	}
	switch h.kind {
	case frameHeaders, frameReset, frameSettings, framePush, framePing, frameGoAway, frameWindow, frameContinuation:
		return false, nil
	}
	return true, nil
}

// beginPayload begins DATA, or a frame that is ignored: of PRIORITY or unknown.
func (c *Conn) beginPayload(h frameHeader) error {
	r := &c.receiver
	r.left, r.stream, r.pad, r.padded, r.ends = h.length, 0, 0, false, false
	if h.kind != frameData {
		return nil
	}
	if err := c.checkStream(h); err != nil {
		return err
	}
	if r.padded = h.has(flagPadded); r.padded && h.length == 0 {
		return errPadding
	}
	r.stream, r.ends = h.stream, h.has(flagEnd)
	if c.received += h.length; c.received >= windowStep {
		c.out = appendWindowUpdate(c.out, 0, c.received)
		c.received = 0
	}
	if slot := c.slotOf(h.stream); slot >= 0 {
		c.credit(slot, h.length)
	}
	if r.left == 0 {
		c.endPayload()
	}
	return nil
}

// credit gives a stream's window back.
func (c *Conn) credit(slot, n int) {
	s := &c.streams[slot]
	if !s.answered {
		c.fail(slot, codeProtocol, protocolError("a body before its header"))
		return
	}
	if s.received += n; s.received >= windowStep {
		c.out = appendWindowUpdate(c.out, s.id, s.received)
		s.received = 0
	}
}

// payload takes the next bytes of DATA or of what is ignored.
func (c *Conn) payload(in []byte) ([]byte, error) {
	r := &c.receiver
	if r.padded {
		r.padded = false
		r.left--
		if r.pad, in = int(in[0]), in[1:]; r.pad > r.left {
			return nil, errPadding
		}
	}
	n := min(len(in), r.left)
	if data := min(n, r.left-r.pad); data > 0 && r.stream != 0 {
		c.data(in[:data])
	}
	if r.left -= n; r.left == 0 {
		c.endPayload()
	}
	r.pad = min(r.pad, r.left)
	return in[n:], nil
}

// data hands a part of a body on, unless its stream has ended.
func (c *Conn) data(p []byte) {
	slot := c.slotOf(c.receiver.stream)
	if slot < 0 {
		return
	}
	if err := c.owner.Data(slot, p); err != nil {
		c.fail(slot, codeCancel, err)
	}
}

func (c *Conn) endPayload() {
	if r := &c.receiver; r.ends {
		if slot := c.slotOf(r.stream); slot >= 0 {
			c.finish(slot)
		}
	}
}

// finish ends a stream whose answer is complete. If the server did not wait
// for the whole request, the rest of it is not sent.
func (c *Conn) finish(slot int) {
	if s := &c.streams[slot]; len(s.body) > 0 {
		c.out = appendReset(c.out, s.id, codeNo)
	}
	c.replies, c.ended = 0, true
	c.carried++
	c.release(slot)
	c.owner.End(slot, nil)
}

// fail resets a stream.
func (c *Conn) fail(slot int, code uint32, err error) {
	c.out = appendReset(c.out, c.streams[slot].id, code)
	c.release(slot)
	c.owner.End(slot, err)
}

// checkStream makes sure that a frame is on a stream that was opened.
func (c *Conn) checkStream(h frameHeader) error {
	if h.stream%2 == 0 || h.stream >= c.next {
		return protocolError("a frame of type %d on stream %d, which was not opened", h.kind, h.stream)
	}
	return nil
}

// handle takes a whole frame.
func (c *Conn) handle(h frameHeader, p []byte) error {
	switch h.kind {
	case frameHeaders:
		return c.headers(h, p)
	case frameContinuation:
		return c.continuation(h, p)
	case frameReset:
		return c.resetByServer(h, p)
	case frameSettings:
		return c.settings(h, p)
	case framePing:
		return c.ping(h, p)
	case frameGoAway:
		return c.goAway(h, p)
	case frameWindow:
		return c.windowUpdate(h, p)
	}
	return protocolError("a pushed stream, which was not allowed")
}

func (c *Conn) headers(h frameHeader, p []byte) error {
	if err := c.checkStream(h); err != nil {
		return err
	}
	p, ok := unpad(h, p)
	if !ok {
		return errPadding
	}
	r := &c.receiver
	r.blockEnds = h.has(flagEnd)
	if h.has(flagEndHeaders) {
		return c.block(h.stream, p)
	}
	r.blockStream = h.stream
	r.block = append(r.block[:0], p...)
	return nil
}

// unpad takes padding and priority off a HEADERS frame.
func unpad(h frameHeader, p []byte) ([]byte, bool) {
	pad := 0
	if h.has(flagPadded) {
		if len(p) == 0 {
			return nil, false
		}
		pad, p = int(p[0]), p[1:]
	}
	if h.has(flagPriority) {
		if len(p) < priorityBytes {
			return nil, false
		}
		p = p[priorityBytes:]
	}
	if pad > len(p) {
		return nil, false
	}
	return p[:len(p)-pad], true
}

func (c *Conn) continuation(h frameHeader, p []byte) error {
	r := &c.receiver
	if r.blockStream == 0 {
		return protocolError("a frame that continues no header block")
	}
	if r.block = append(r.block, p...); len(r.block) > maxHeaderBytes {
		return errLongHeader
	}
	if !h.has(flagEndHeaders) {
		return nil
	}
	r.blockStream = 0
	err := c.block(h.stream, r.block)
	if cap(r.block) > maxKept {
		r.block = nil
	}
	return err
}

// block takes a whole header block.
func (c *Conn) block(stream uint32, block []byte) error {
	h, err := c.decoder.header(block)
	if err != nil {
		return err
	}
	slot := c.slotOf(stream)
	if slot < 0 {
		return nil // the stream was given up; the table had to follow
	}
	s, ends := &c.streams[slot], c.receiver.blockEnds
	switch {
	case h.malformed != "":
		c.fail(slot, codeProtocol, protocolError("an answer with malformed %s", h.malformed))
		return nil
	case s.answered && (h.Status != 0 || !ends), !s.answered && h.Status == 0, h.Status == 101, h.Status < 200 && h.Status > 0 && ends:
		c.fail(slot, codeProtocol, protocolError("a header out of place"))
		return nil
	case h.Status > 0 && h.Status < 200:
		return nil
	}
	s.answered = true
	if err := c.owner.Header(slot, h, ends); err != nil {
		c.fail(slot, codeCancel, err)
	} else if ends {
		c.finish(slot)
	}
	return nil
}

func (c *Conn) resetByServer(h frameHeader, p []byte) error {
	if err := c.checkStream(h); err != nil {
		return err
	}
	if len(p) != codeBytes {
		return wrongSize(h)
	}
	slot := c.slotOf(h.stream)
	if slot < 0 {
		return nil
	}
	err := ErrCancelled
	switch code := binary.BigEndian.Uint32(p); {
	case code == codeRefused && !c.streams[slot].answered:
		err = fmt.Errorf("%w: %s", ErrUnprocessed, codeName(code))
	case code != codeCancel:
		err = resetError(code)
	}
	c.release(slot)
	c.owner.End(slot, err)
	return nil
}

func wrongSize(h frameHeader) error {
	return protocolError("a frame of type %d with %d bytes", h.kind, h.length)
}

// goAway ends the streams that the server did not and will not process.
func (c *Conn) goAway(h frameHeader, p []byte) error {
	if len(p) < codeBytes+codeBytes || h.stream != 0 {
		return wrongSize(h)
	}
	c.goneAway = true
	c.inUse = c.inUse || c.ended || c.open+len(c.waiting) > 0
	last := binary.BigEndian.Uint32(p) & streamMask
	err := fmt.Errorf("%w: GOAWAY, %s", ErrUnprocessed, codeName(binary.BigEndian.Uint32(p[codeBytes:])))
	waiting := c.waiting
	c.waiting = c.waiting[:0]
	for _, slot := range waiting {
		c.streams[slot] = stream{}
		c.owner.End(slot, err)
	}
	for slot := range c.streams {
		s := &c.streams[slot]
		if s.id <= last {
			continue
		}
		if s.answered {
			return protocolError("GOAWAY takes back a stream that was answered")
		}
		c.release(slot)
		c.owner.End(slot, err)
	}
	return nil
}
