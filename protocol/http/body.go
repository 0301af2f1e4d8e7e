package http

import (
	"strings"

	"contend/protocol/check"
	"contend/protocol/coding"
)

// detail returns the beginning of the answer, as far as it was kept.
func (p *parser) detail() []byte { return p.excerpt[:min(len(p.excerpt), maxDetail)] }

// answer returns what checks look at. It is valid until the next answer. The error says why a
// body is still encoded.
func (p *parser) answer() (check.Answer, error) {
	body := p.excerpt[p.content:]
	a := check.Answer{
		Status:    p.status,
		Header:    p.fields,
		Body:      body,
		Size:      p.body,
		Truncated: int64(len(body)) < p.body,
	}
	if len(body) == 0 || a.Truncated || p.keep < check.BodyLimit || !HasField(p.fields, encodingField) {
		return a, nil
	}
	content, whole, err := coding.Decode(strings.Join(ParseFields(p.fields).Values(encodingField), ","), body, check.BodyLimit)
	if err != nil {
		a.Encoded = true
		return a, err
	}
	a.Body, a.Truncated = content, !whole
	return a, nil
}

// encodingField says how a body is encoded.
const encodingField = "content-encoding"

// skip passes over the bytes of a body whose length is known.
func (p *parser) skip(b []byte, next parserState) int {
	n := len(b)
	if int64(n) >= p.remain {
		n = int(p.remain)
		p.state = next
	}
	p.remain -= int64(n)
	p.take(b[:n])
	return n
}

// take counts bytes of the body and keeps the first of them.
func (p *parser) take(b []byte) {
	p.body += int64(len(b))
	if p.missing > 0 {
		n := min(p.missing, len(b))
		p.missing -= n
		p.excerpt = append(p.excerpt, b[:n]...)
	}
}

// idle returns how many of the next bytes need not be seen.
func (p *parser) idle() int64 {
	if p.missing > 0 || p.state != inBody && p.state != inChunk {
		return 0
	}
	return p.remain
}

// pass passes over n bytes, at most idle ones, that nobody has seen.
func (p *parser) pass(n int64) {
	p.remain -= n
	p.body += n
	if p.remain > 0 || n == 0 {
		return
	}
	if p.state == inBody {
		p.state = complete
	} else {
		p.state = afterChunk
	}
}
