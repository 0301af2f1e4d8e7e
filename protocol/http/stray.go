package http

import (
	"bytes"

	"contend/loop"
)

// receive feeds a piece of an answer, and judges what follows it. The error is a *loop.Leftover where the answer before may
// explain it.
func (p *parser) receive(in []byte) (used int, err error) {
	if used, err = p.feed(in); err == nil && used < len(in) {
		err = p.follow(in[used:])
	}
	if err != nil && p.leftover() {
		err = &loop.Leftover{Err: err}
	}
	return used, err
}

// skipBreaks skips line breaks before an answer, up to the limit p.lines, and returns how
// many bytes these are.
func (p *parser) skipBreaks(b []byte) (n int) {
	for n < len(b) && (b[n] == '\r' || b[n] == '\n') {
		n++
	}
	p.stray = p.stray || n > 0
	p.lines -= n
	return n
}

// unasked takes what comes while nothing was asked: line breaks, or else the connection has to
// end. A body may come late to an answer that can have none.
func (p *parser) unasked(in []byte) error {
	if p.skipBreaks(in) == len(in) {
		return p.tooMuch()
	}
	p.stray = p.stray || p.bodiless()
	return protocolError("%d bytes that nobody asked for: %.40q", len(in), in)
}

// follow judges what came after a complete answer: line breaks, or a body that must not be
// there. An answer that announces less than comes is an error.
func (p *parser) follow(rest []byte) error {
	switch {
	case len(bytes.Trim(rest, "\r\n")) == 0:
	case p.bodiless():
		p.spoilt = true
	default:
		return protocolError("%d bytes or more follow the answer's end", len(rest))
	}
	p.stray = true
	return nil
}

// leftover reports whether an error may come from bytes of the answer before, which can have no
// body and had one.
func (p *parser) leftover() bool {
	if !p.spoils || p.state != inStatusLine {
		return false
	}
	p.stray = true
	return true
}
