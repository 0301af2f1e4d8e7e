package http

import (
	"bytes"
	"fmt"
	"io"

	"contend/errkind"
	"contend/load"
)

const (
	// maxHeaderBytes bounds the header of one answer, including its 1xx answers,
	// and separately its trailer. curl allows 300 KiB and net/http 1 MiB; servers
	// send a few hundred bytes.
	maxHeaderBytes = 256 << 10
	// maxChunkLine bounds a chunk's size line with its extensions, as
	// net/http's chunked reader does.
	maxChunkLine = 4 << 10
	// maxSameHeader bounds the header that a parser remembers.
	maxSameHeader = 1 << 10
	// maxServer bounds what is kept of a Server field.
	maxServer = 128
	// maxDetail bounds the beginning of a wrong answer that is kept.
	maxDetail = 200
	// protocol is how every answer begins; one digit follows.
	protocol = "HTTP/1."
)

type parserState uint8

const (
	inStatusLine parserState = iota
	inHeader
	inBody      // of known length
	inOpenBody  // until the connection closes
	inChunkSize // its line
	inChunk     // its data
	afterChunk  // the line end that follows the data
	inTrailer
	complete
)

// A parser reads one answer of HTTP/1.0 or 1.1 (RFC 9112) after another. It takes
// the bytes in pieces of any size and asks for none, so it does not care who reads
// them. It discards bodies, except for the beginning that it is to keep, and
// copies only that and a line that is split between two pieces.
//
// Interim answers (1xx without 101) are skipped. An answer that the RFC lets a
// client repair silently is repaired (a bare line feed, a folded field that says
// nothing about the body, line breaks before an answer); one that leaves the
// body's end in doubt is an error of kind Protocol. A body that must not be there
// leaves no doubt: the answer counts, and its connection has to end.
type parser struct {
	head   bool     // the request was HEAD: answers have no body
	expect statuses // of the others, the beginning of the body is kept
	keep   int      // bytes of every body that are kept
	wanted []string // names of the fields that are kept, in lower case
	all    bool     // are kept
	http10 bool     // the request was of HTTP/1.0: the header says if the connection is kept
	last   bool     // the request said that it is the connection's last

	state  parserState
	lines  int    // bytes that the current section of lines may still take
	line   []byte // the beginning of a line whose end has not been seen
	remain int64  // bytes of the body or of the chunk that are still to come

	status    int
	minor     int   // HTTP/1.minor
	length    int64 // Content-Length, or -1
	chunked   bool
	coded     bool   // Transfer-Encoding names another coding
	closes    bool   // Connection: close
	keeps     bool   // Connection: keep-alive
	continued bool   // 100 Continue came before
	fold      bool   // the latest field may be continued on the next line
	begun     bool   // at least one byte of the answer was seen
	stray     bool   // bytes that belong to no answer came since the latest was judged
	spoilt    bool   // of this answer: more of them may come
	spoils    bool   // the answer before may be followed by a body that it cannot have
	asked     int    // requests that the connection has carried, with the present one
	body      int64  // bytes of the body so far, without what frames its chunks
	server    []byte // the beginning of the Server field
	fields    []byte // the lines of the wanted ones
	said      load.Content
	excerpt   []byte // the beginning of the status line, an empty line, and what is kept of the body
	content   int    // where the body begins in excerpt
	missing   int    // bytes of the body that are still to be kept

	header []byte // of the previous answer, if it came in one piece, and is short
}

// renew prepares the parser for another connection.
func (p *parser) renew() { p.asked, p.spoils = 0, false }

// reset prepares the parser for the next answer.
func (p *parser) reset() {
	p.spoilt, p.spoils = false, p.asked > 0 && p.bodiless()
	p.asked++
	p.state = inStatusLine
	p.lines = maxHeaderBytes
	p.line = p.line[:0]
	p.begun, p.body = false, 0
}

// feed reads from b and returns how many bytes belong to the answer: all of
// them, or fewer when the answer is complete.
func (p *parser) feed(b []byte) (int, error) {
	used, start := 0, 0
	first := !p.begun
	if first {
		start = p.skipBreaks(b)
		if used = start; used == len(b) {
			return used, p.tooMuch()
		}
		p.begun = true
		used += p.skipSameHeader(b[start:])
	}
	for used < len(b) && p.state != complete {
		inside := p.state <= inHeader
		n, err := p.step(b[used:])
		used += n
		if err != nil {
			return used, err
		}
		if first && inside && p.state > inHeader && used-start <= maxSameHeader {
			p.header = append(p.header, b[start:used]...)
		}
	}
	return used, nil
}

// skipSameHeader passes over a header that is the previous answer's, byte for
// byte, and returns its length. It says what it said then, and comparing is a
// tenth of the work of reading; a server changes its Date once in a second.
func (p *parser) skipSameHeader(b []byte) int {
	n := len(p.header)
	if n == 0 || !bytes.HasPrefix(b, p.header) {
		p.header, p.continued = p.header[:0], false
		return 0
	}
	p.bodyFollows()
	return n
}

// done reports whether the answer is complete.
func (p *parser) done() bool { return p.state == complete }

// reusable reports whether the connection of a complete answer may carry
// another request.
func (p *parser) reusable() bool {
	if p.closes || p.last || p.spoilt || p.status == 101 || p.openBody() {
		return false
	}
	return p.keeps || p.minor > 0 && !p.http10
}

// parted returns how many requests a connection carried that was to be kept and ended with a complete answer; 0: it did not end.
func (p *parser) parted() int {
	if p.last || p.spoilt || p.status == 101 || p.reusable() {
		return 0
	}
	return p.asked
}

// eof says what the connection's end means here: nil if it completes the
// answer, io.EOF if nothing of an answer had come, else io.ErrUnexpectedEOF.
func (p *parser) eof() error {
	switch {
	case p.state == complete:
		return nil
	case p.state == inOpenBody:
		p.state = complete
		return nil
	case p.begun:
		return io.ErrUnexpectedEOF
	}
	return io.EOF
}

func (p *parser) step(b []byte) (int, error) {
	switch p.state {
	case inBody:
		return p.skip(b, complete), nil
	case inChunk:
		return p.skip(b, afterChunk), nil
	case inOpenBody:
		p.take(b)
		return len(b), nil
	}
	end := bytes.IndexByte(b, '\n')
	n := end + 1
	if end < 0 {
		n = len(b)
	}
	if p.lines -= n; p.lines < 0 {
		return n, p.tooMuch()
	}
	if end < 0 {
		p.line = append(p.line, b...)
		return n, p.checkBeginning()
	}
	line := b[:end]
	if len(p.line) > 0 {
		line = append(p.line, line...)
		p.line = line[:0]
	}
	if last := len(line) - 1; last >= 0 && line[last] == '\r' {
		line = line[:last]
	}
	return n, p.readLine(line)
}

// checkBeginning tells garbage that never ends its line, such as a TLS alert,
// from an answer that is cut off.
func (p *parser) checkBeginning() error {
	n := min(len(p.line), len(protocol))
	if p.state == inStatusLine && string(p.line[:n]) != protocol[:n] {
		return protocolError("%.40q is not the beginning of an answer", p.line)
	}
	return nil
}

func (p *parser) readLine(line []byte) error {
	switch p.state {
	case inStatusLine:
		return p.statusLine(line)
	case inHeader:
		if len(line) == 0 {
			return p.endHeader()
		}
		return p.field(line)
	case inChunkSize:
		return p.chunkSize(line)
	case afterChunk:
		if len(line) != 0 {
			return protocolError("a chunk is longer than its size: %.40q", line)
		}
		p.expectChunk()
	case inTrailer:
		if len(line) == 0 {
			p.state = complete
		} else if bytes.IndexByte(line, ':') <= 0 {
			return protocolError("trailer %.40q is not a field", line)
		}
	}
	return nil
}

// statusLine reads "HTTP/1.1 200 OK" (RFC 9112, section 4); the reason and the
// space before it may be missing.
func (p *parser) statusLine(line []byte) error {
	const form = protocol + "1 200"
	if len(line) < len(form) || string(line[:7]) != protocol || !isDigit(line[7]) || line[8] != ' ' ||
		len(line) > len(form) && line[len(form)] != ' ' {
		return protocolError("%.40q is not a status line of HTTP/1.0 or HTTP/1.1", line)
	}
	status := 0
	for _, c := range line[9:12] {
		if !isDigit(c) {
			return protocolError("%.40q has no status of three digits", line)
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 {
		return protocolError("status %03d is none", status)
	}
	p.minor = int(line[7] - '0')
	p.excerpt = append(p.excerpt[:0], line[:min(len(line), maxDetail/2)]...)
	p.beginHeader(status)
	p.state = inHeader
	return nil
}

// beginHeader makes the parser ready for the fields that follow a status, which the excerpt has already.
func (p *parser) beginHeader(status int) {
	p.status, p.length = status, -1
	p.chunked, p.coded, p.closes, p.keeps, p.fold = false, false, false, false, false
	p.server, p.fields = p.server[:0], p.fields[:0]
	p.said.Type, p.said.Location = p.said.Type[:0], p.said.Location[:0]
	p.excerpt = append(p.excerpt, "\r\n\r\n"...)
	p.content = len(p.excerpt)
}

// endHeader decides what follows the header.
func (p *parser) endHeader() error {
	switch {
	case p.status < 200 && p.status != 101:
		p.state, p.continued = inStatusLine, p.continued || p.status == 100
	case (p.chunked || p.coded) && p.minor == 0:
		return protocolError("Transfer-Encoding in an answer of HTTP/1.0")
	default:
		p.bodyFollows()
	}
	return nil
}

// bodyFollows decides how the body ends (RFC 9112, section 6.3).
func (p *parser) bodyFollows() {
	p.body = 0
	p.excerpt = p.excerpt[:p.content]
	p.missing = p.keep
	if !p.expect.right(p.status) {
		p.missing = max(p.keep, maxDetail-p.content)
	}
	switch {
	case p.bodiless() || p.status == 101:
		p.state = complete
		if p.status == 204 && (p.chunked || p.length > 0) { // which announces one
			p.stray, p.spoilt = true, true
		}
	case p.chunked:
		p.expectChunk()
	case p.coded:
		p.state = inOpenBody
	case p.length > 0:
		p.remain = p.length
		p.state = inBody
	case p.length == 0:
		p.state = complete
	default:
		p.state = inOpenBody
	}
}

// bodiless reports whether the answer can have no body.
func (p *parser) bodiless() bool { return p.head || p.status == 204 || p.status == 304 }

// openBody reports whether the answer's body ended with the connection.
func (p *parser) openBody() bool {
	return (p.length < 0 || p.coded) && !p.chunked && !p.bodiless()
}

func (p *parser) expectChunk() {
	p.state = inChunkSize
	p.lines = maxChunkLine
}

// chunkSize reads a hexadecimal size, perhaps followed by extensions after a
// semicolon (RFC 9112, section 7.1).
func (p *parser) chunkSize(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte{';'})
	digits = trim(digits)
	if len(digits) == 0 || len(digits) > 15 {
		return protocolError("%.40q is not a chunk size", line)
	}
	size := int64(0)
	for _, c := range digits {
		d := hexDigit(c)
		if d < 0 {
			return protocolError("%.40q is not a chunk size", line)
		}
		size = size<<4 | int64(d)
	}
	if size == 0 {
		p.state = inTrailer
		p.lines = maxHeaderBytes
		return nil
	}
	p.remain = size
	p.state = inChunk
	return nil
}

// tooMuch is the error of a section of lines that is too long, or nil.
func (p *parser) tooMuch() error {
	if p.lines >= 0 {
		return nil
	}
	return protocolError("more than %d bytes of %s", p.limit(), p.section())
}

func (p *parser) limit() int {
	if p.state == inChunkSize || p.state == afterChunk {
		return maxChunkLine
	}
	return maxHeaderBytes
}

func (p *parser) section() string {
	switch p.state {
	case inChunkSize, afterChunk:
		return "a chunk's size line"
	case inTrailer:
		return "trailer"
	}
	return "header"
}

func protocolError(format string, args ...any) error {
	return &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("HTTP: "+format, args...)}
}
