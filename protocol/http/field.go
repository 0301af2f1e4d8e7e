package http

import (
	"bytes"
	"iter"

	"contend/protocol/wire"
)

// field reads one header line. It keeps only what says where the answer ends
// and whether the connection survives it.
func (p *parser) field(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' {
		if !p.fold {
			return protocolError("folded field in the header: %.40q", line)
		}
		return nil
	}
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !wire.IsToken(line[:colon]) {
		return protocolError("header %.40q is not a field", line)
	}
	name, value := line[:colon], line[colon+1:]
	p.fold = false
	p.keepField(name, line)
	switch {
	case len(name) == len("connection") && equalFold(name, "connection"):
		p.connection(value)
	case len(name) == len("content-length") && equalFold(name, "content-length"):
		return p.contentLength(trim(value))
	case len(name) == len("transfer-encoding") && equalFold(name, "transfer-encoding"):
		return p.transferEncoding(trim(value))
	case len(name) == len("server") && equalFold(name, "server"):
		p.fold = true
		value = trim(value)
		p.server = append(p.server[:0], value[:min(len(value), maxServer)]...)
	case len(name) == len("content-type") && equalFold(name, "content-type"):
		p.fold = true
		p.said.Type = wire.AppendMediaType(p.said.Type[:0], value)
	case len(name) == len("location") && equalFold(name, "location"):
		p.fold = true
		p.said.Location = wire.AppendLocation(p.said.Location[:0], trim(value))
	default:
		p.fold = true
	}
	return nil
}

// keepField keeps the line of a field that is wanted.
func (p *parser) keepField(name, line []byte) {
	if p.all {
		p.fields = append(append(p.fields, line...), '\n')
		return
	}
	for _, wanted := range p.wanted {
		if equalFold(name, wanted) {
			p.fields = append(append(p.fields, line...), '\n')
			return
		}
	}
}

func (p *parser) contentLength(value []byte) error {
	n, ok := parseLength(value)
	if !ok {
		return protocolError("Content-Length %.40q is not a length", value)
	}
	if p.length >= 0 && p.length != n {
		return protocolError("Content-Length %d and %d in one answer", p.length, n)
	}
	p.length = n
	return nil
}

// parseLength reads digits, at most as many as fit an int64 for certain.
func parseLength(value []byte) (n int64, ok bool) {
	if len(value) == 0 || len(value) > 18 {
		return 0, false
	}
	for _, c := range value {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// transferEncoding reads a list of codings. The last says where the body ends: chunked by itself,
// any other with the connection (RFC 9112, section 6.3). They are not undone: the body is counted
// as it came.
func (p *parser) transferEncoding(value []byte) error {
	for coding := range list(value) {
		if p.chunked {
			return protocolError("Transfer-Encoding has %.40q after chunked", coding)
		}
		p.chunked = equalFold(coding, "chunked")
		p.coded = p.coded || !p.chunked && !equalFold(coding, "identity")
	}
	return nil
}

// connection looks for close and keep-alive in a list of options.
func (p *parser) connection(value []byte) {
	for option := range list(value) {
		p.closes = p.closes || equalFold(option, "close")
		p.keeps = p.keeps || equalFold(option, "keep-alive")
	}
}

// list yields the members of a field's value that is a list (RFC 9110, section 5.6.1).
func list(value []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(value) > 0 {
			var member []byte
			member, value, _ = bytes.Cut(value, []byte{','})
			if member = trim(member); len(member) > 0 && !yield(member) {
				return
			}
		}
	}
}

// trim cuts spaces and tabs off both ends.
func trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// equalFold compares b with s, which is in lower case, regardless of the case
// of ASCII letters. Comparing headers with strings.EqualFold takes half as long again.
func equalFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != s[i] {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
