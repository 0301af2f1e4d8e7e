package http

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"golang.org/x/net/http/httpguts"
)

// An Exchange is one request and answer of HTTP/1.1 after another on a connection, without I/O, for
// those who decide on each request when the one before is answered. The zero value is ready; it
// must not be used concurrently.
type Exchange struct {
	parser parser
	in     int64
}

// A Sent is a request that an Exchange sends. Host and Content-Length are added.
type Sent struct {
	Method string
	// Host is that of the Host field, unless Header has one.
	Host string
	// Target is the path with the query.
	Target string
	Header http.Header
	Body   []byte
	// Keep is how many bytes of the answer's body are kept.
	Keep int
}

// AppendTo begins an exchange: it appends the request to out.
func (e *Exchange) AppendTo(out []byte, s *Sent) []byte {
	e.parser.reset()
	e.parser.all, e.parser.keep, e.parser.head = true, s.Keep, s.Method == "HEAD"
	e.parser.last = httpguts.HeaderValuesContainsToken(s.Header["Connection"], "close")
	e.parser.expect = statuses{any: true}
	e.in = 0
	out = append(append(append(out, s.Method...), ' '), s.Target...)
	out = append(out, " HTTP/1.1\r\n"...)
	if len(s.Header["Host"]) == 0 {
		out = appendField(out, "Host", s.Host)
	}
	for name, values := range s.Header {
		for _, value := range values {
			out = appendField(out, name, value)
		}
	}
	if len(s.Body) > 0 || hasContent(s.Method) {
		out = append(out, "Content-Length: "...)
		out = append(strconv.AppendInt(out, int64(len(s.Body)), 10), "\r\n"...)
	}
	return append(append(out, "\r\n"...), s.Body...)
}

func appendField(out []byte, name, value string) []byte {
	return append(append(append(append(out, name...), ": "...), value...), "\r\n"...)
}

// Receive reads a piece of the answer, and reports whether it is complete. An empty piece is the
// connection's end.
func (e *Exchange) Receive(in []byte) (done bool, err error) {
	if len(in) == 0 {
		if err := e.parser.eof(); err != nil {
			return false, fmt.Errorf("connection closed after %d bytes of an answer: %w", e.in, err)
		}
		return true, nil
	}
	used, err := e.parser.receive(in)
	e.in += int64(used)
	return err == nil && e.parser.done(), err
}

// Unasked takes what comes while nothing was asked.
func (e *Exchange) Unasked(in []byte) error { return e.parser.unasked(in) }

// Renew prepares for another connection.
func (e *Exchange) Renew() { e.parser.renew() }

// Begun reports whether anything of the answer has come.
func (e *Exchange) Begun() bool { return e.parser.begun }

// Stray reports whether bytes came since it was asked last that belong to no answer.
func (e *Exchange) Stray() bool {
	stray := e.parser.stray
	e.parser.stray = false
	return stray
}

// Reusable reports whether the connection of a complete answer may carry another request.
func (e *Exchange) Reusable() bool { return e.parser.reusable() }

// Parted returns how many requests a connection carried that the server ended with a complete answer; 0: it did not.
func (e *Exchange) Parted() int { return e.parser.parted() }

// Status is that of the answer.
func (e *Exchange) Status() int { return e.parser.status }

// Proto is the version that the answer names.
func (e *Exchange) Proto() string { return protocol + strconv.Itoa(e.parser.minor) }

// BodyLength is how many bytes the answer's body had, without what frames its chunks.
func (e *Exchange) BodyLength() int64 { return e.parser.body }

// Body is what was kept of the body, a copy.
func (e *Exchange) Body() []byte { return slices.Clone(e.parser.excerpt[e.parser.content:]) }

// Fields are the lines of the answer's header, a copy that ParseFields reads.
func (e *Exchange) Fields() []byte { return slices.Clone(e.parser.fields) }

// HasField reports whether the lines of a header have a field, whose name is in lower case.
func HasField(lines []byte, name string) bool {
	for line := range bytes.Lines(lines) {
		if len(line) > len(name) && line[len(name)] == ':' && equalFold(line[:len(name)], name) {
			return true
		}
	}
	return false
}

// ParseFields reads the lines of a header.
func ParseFields(lines []byte) http.Header {
	h := http.Header{}
	for line := range bytes.Lines(lines) {
		name, value, _ := bytes.Cut(line, []byte{':'})
		h.Add(string(name), string(trim(bytes.TrimRight(value, "\r\n"))))
	}
	return h
}
