package ws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A path leads to one value of a JSON document. It is the part of JSONPath
// (RFC 9535) that names one place: $.name, $['name'], $[2] and what is put
// together of them.
type path []step

// A step goes to an object's member or, if index ≥ 0, to an array's element.
type step struct {
	name  string
	index int
}

// parsePath reads the text form.
func parsePath(text string) (path, error) {
	rest, ok := strings.CutPrefix(text, "$")
	var p path
	for ok && rest != "" {
		var s step
		s, rest, ok = parseStep(rest)
		p = append(p, s)
	}
	if !ok || len(p) == 0 {
		return nil, fmt.Errorf("path %q is not of the form $.name, $['name'] or $[2], or several of these", text)
	}
	return p, nil
}

func parseStep(text string) (s step, rest string, ok bool) {
	if text[0] == '.' {
		end := strings.IndexAny(text[1:], ".[") + 1
		if end == 0 {
			end = len(text)
		}
		return step{text[1:end], -1}, text[end:], end > 1 && !strings.ContainsAny(text[1:end], `*'"] `)
	}
	if text[0] != '[' {
		return step{}, "", false
	}
	for _, quote := range []string{"'", `"`} {
		if inner, quoted := strings.CutPrefix(text[1:], quote); quoted {
			name, rest, closed := strings.Cut(inner, quote+"]")
			return step{name, -1}, rest, closed && !strings.ContainsAny(name, `\`)
		}
	}
	digits, rest, closed := strings.Cut(text[1:], "]")
	n, err := strconv.ParseUint(digits, 10, 31)
	return step{index: int(n)}, rest, closed && err == nil
}

// find returns the value that p leads to in a document, as it is written there.
// Of members of one name it takes the first. In what is not JSON it finds
// nothing or some part of it.
func (p path) find(doc []byte) (value []byte, ok bool) {
	at := scanner{doc: doc}
	for _, s := range p {
		if !at.enter(s) {
			return nil, false
		}
	}
	at.space()
	start := at.pos
	if !at.skip() {
		return nil, false
	}
	return doc[start:at.pos], true
}

// A scanner walks over a JSON document.
type scanner struct {
	doc []byte
	pos int
}

// enter moves from the beginning of a value to that of its member or element.
func (s *scanner) enter(to step) bool {
	open, closing := byte('{'), byte('}')
	if to.index >= 0 {
		open, closing = '[', ']'
	}
	if !s.take(open) || s.take(closing) {
		return false
	}
	for i := 0; ; i++ {
		found := i == to.index
		if open == '{' {
			name, ok := s.name()
			if !ok {
				return false
			}
			found = isName(name, to.name)
		}
		if found {
			return true
		}
		if !s.skip() || !s.take(',') {
			return false
		}
	}
}

// name reads a member's name, quotes included, and the colon.
func (s *scanner) name() ([]byte, bool) {
	s.space()
	start := s.pos
	if s.pos == len(s.doc) || s.doc[s.pos] != '"' || !s.skip() {
		return nil, false
	}
	name := s.doc[start:s.pos]
	return name, s.take(':')
}

// isName compares a name in quotes, and possibly escaped, with a plain one.
func isName(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	var plain string
	return json.Unmarshal(quoted, &plain) == nil && plain == name
}

// skip moves behind a value, however deep it is.
func (s *scanner) skip() bool {
	depth := 0
	for {
		s.space()
		if s.pos == len(s.doc) {
			return false
		}
		switch c := s.doc[s.pos]; c {
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			s.pos++
		case '"':
			if !s.quoted() {
				return false
			}
		default:
			s.literal()
		}
		if depth <= 0 {
			return depth == 0
		}
	}
}

// quoted moves behind a string.
func (s *scanner) quoted() bool {
	for s.pos++; s.pos < len(s.doc); s.pos++ {
		switch s.doc[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return true
		}
	}
	s.pos = len(s.doc)
	return false
}

// literal moves behind a number, true, false or null: at least one byte.
func (s *scanner) literal() {
	s.pos++
	for ; s.pos < len(s.doc); s.pos++ {
		switch s.doc[s.pos] {
		case ' ', '\t', '\r', '\n', ',', ':', '{', '}', '[', ']', '"':
			return
		}
	}
}

// take moves behind c if it comes next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.pos < len(s.doc) && s.doc[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) space() {
	for s.pos < len(s.doc) && (s.doc[s.pos] == ' ' || s.doc[s.pos] == '\t' || s.doc[s.pos] == '\r' || s.doc[s.pos] == '\n') {
		s.pos++
	}
}

// parseID reads an id as we send it: digits, in quotes or not.
func parseID(value []byte) (id uint64, ok bool) {
	if n := len(value); n > 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	if len(value) == 0 || len(value) > 19 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		id = id*10 + uint64(c-'0')
	}
	return id, true
}
