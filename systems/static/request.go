package static

import (
	"bytes"
	"net/http"
	"strings"
)

// A request is the head of one, as views of the bytes that arrived.
type request struct {
	target []byte
	method []byte
	old    bool // HTTP/1.0
	close  bool // the connection ends with the answer
	body   bool // one follows, which nobody reads
	hosts  int
	length []byte
	fields
}

// fields are the headers that matter. A header that is repeated is a list.
type fields struct {
	ranges, ifRange                    []byte
	ifMatch, ifNoneMatch               []byte
	ifModifiedSince, ifUnmodifiedSince []byte
	acceptEncoding                     []byte
}

// A status of 0 stands for no error.
type status = int

// parse reads the head of a request, of which every line ends with CRLF; the
// empty line is not part of it. Whatever two readers could understand in
// different ways is refused: RFC 9112, sections 2.2, 5.1, 5.2 and 6.1.
func (r *request) parse(head []byte) status {
	*r = request{}
	line, rest := cutLine(head)
	if !clean(line) {
		return http.StatusBadRequest
	}
	if code := r.parseLine(line); code != 0 {
		return code
	}
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !token(name) || !clean(value) {
			return http.StatusBadRequest
		}
		if !r.field(name, bytes.Trim(value, " \t")) {
			return http.StatusBadRequest
		}
	}
	if r.hosts > 1 || (r.hosts == 0 && !r.old) {
		return http.StatusBadRequest
	}
	return 0
}

func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte("\r\n"))
	return line, rest
}

// clean reports whether a line has no control character but tab.
func clean(line []byte) bool {
	for _, c := range line {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// token is that of RFC 9110, section 5.6.2.
func token(b []byte) bool {
	for _, c := range b {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) < 0 {
			return false
		}
	}
	return len(b) > 0
}

func (r *request) parseLine(line []byte) status {
	method, rest, ok := bytes.Cut(line, []byte(" "))
	target, version, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok || !ok2 || !token(method) || len(target) == 0 {
		return http.StatusBadRequest
	}
	switch string(version) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		r.old, r.close = true, true
	default:
		if len(version) == len("HTTP/1.1") && bytes.HasPrefix(version, []byte("HTTP/")) {
			return http.StatusHTTPVersionNotSupported
		}
		return http.StatusBadRequest
	}
	r.method, r.target = method, target
	return 0
}

// field takes in one header. It returns false if that makes no sense.
func (r *request) field(name, value []byte) bool {
	switch len(name) { // most headers are none of ours
	case 4, 5, 8, 10, 13, 14, 15, 17, 19:
	default:
		return true
	}
	switch {
	case is(name, "host"):
		r.hosts++
	case is(name, "connection"):
		r.connection(value)
	case is(name, "transfer-encoding"):
		r.body = true
	case is(name, "content-length"):
		return r.contentLength(value)
	case is(name, "range"):
		join(&r.ranges, value)
	case is(name, "if-range"):
		join(&r.ifRange, value)
	case is(name, "if-match"):
		join(&r.ifMatch, value)
	case is(name, "if-none-match"):
		join(&r.ifNoneMatch, value)
	case is(name, "if-modified-since"):
		join(&r.ifModifiedSince, value)
	case is(name, "if-unmodified-since"):
		join(&r.ifUnmodifiedSince, value)
	case is(name, "accept-encoding"):
		join(&r.acceptEncoding, value)
	}
	return true
}

// is compares with a name in ASCII, whatever the case.
func is(b []byte, name string) bool {
	return len(b) == len(name) && strings.EqualFold(string(b), name)
}

// join makes a list of a header that is repeated.
func join(to *[]byte, value []byte) {
	if *to == nil {
		*to = value[:len(value):len(value)]
		return
	}
	*to = append(append(*to, ','), value...)
}

func (r *request) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte(",")) {
		switch option = bytes.Trim(option, " \t"); {
		case is(option, "close"):
			r.close = true
		case is(option, "keep-alive") && r.old:
			r.close = false
		}
	}
}

func (r *request) contentLength(value []byte) bool {
	if r.length != nil && !bytes.Equal(r.length, value) {
		return false
	}
	r.length = value
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		r.body = r.body || c != '0'
	}
	return len(value) > 0
}
