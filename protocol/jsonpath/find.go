package jsonpath

import (
	"bytes"
	"encoding/json"
)

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10000

// Find returns the text of the value at the path, a view, if the document is
// valid JSON (RFC 8259) and holds such a value. It reads all of the document and
// allocates only to compare names that have escapes.
func (p Path) Find(document []byte) (value []byte, found bool) {
	f := finder{in: document, path: p, from: -1}
	at, ok := f.value(f.space(0), 0, 0)
	if !ok || f.space(at) != len(document) || f.from < 0 {
		return nil, false
	}
	return document[f.from:f.to], true
}

// A finder reads a document and notes the place of the value. Its methods take
// the place where something begins and return where it ends, or false.
type finder struct {
	in       []byte
	path     Path
	from, to int // from is -1 until the value is found
}

// off is the number of steps taken by values that do not lie on the path.
const off = -1

// value reads a value to which the first taken steps of the path led, or off.
func (f *finder) value(at, taken, depth int) (end int, ok bool) {
	if at >= len(f.in) {
		return at, false
	}
	switch f.in[at] {
	case '{':
		end, ok = f.object(at+1, taken, depth+1)
	case '[':
		end, ok = f.array(at+1, taken, depth+1)
	case '"':
		end, ok = f.text(at + 1)
	case 't':
		end, ok = f.word(at, "true")
	case 'f':
		end, ok = f.word(at, "false")
	case 'n':
		end, ok = f.word(at, "null")
	default:
		end, ok = f.number(at)
	}
	if taken == len(f.path) {
		f.from, f.to = at, end
	}
	return end, ok
}

func (f *finder) object(at, taken, depth int) (end int, ok bool) {
	if at = f.space(at); depth > maxDepth {
		return at, false
	}
	if f.is(at, '}') {
		return at + 1, true
	}
	for {
		if !f.is(at, '"') {
			return at, false
		}
		if end, ok = f.text(at + 1); !ok {
			return end, false
		}
		next := off
		if f.expects(taken, false) && f.isName(f.in[at:end], taken) {
			next, f.from = taken+1, -1 // the last of equal names counts
		}
		if at = f.space(end); !f.is(at, ':') {
			return at, false
		}
		if at, ok = f.value(f.space(at+1), next, depth); !ok {
			return at, false
		}
		if at = f.space(at); !f.is(at, ',') {
			return at + 1, f.is(at, '}')
		}
		at = f.space(at + 1)
	}
}

func (f *finder) array(at, taken, depth int) (end int, ok bool) {
	if at = f.space(at); depth > maxDepth {
		return at, false
	}
	if f.is(at, ']') {
		return at + 1, true
	}
	for index := 0; ; index++ {
		next := off
		if f.expects(taken, true) && f.path[taken].index == index {
			next = taken + 1
		}
		if at, ok = f.value(at, next, depth); !ok {
			return at, false
		}
		if at = f.space(at); !f.is(at, ',') {
			return at + 1, f.is(at, ']')
		}
		at = f.space(at + 1)
	}
}

// expects reports whether the path goes on from here by an index, or by a name.
func (f *finder) expects(taken int, index bool) bool {
	return taken != off && taken < len(f.path) && (f.path[taken].index >= 0) == index
}

func (f *finder) isName(quoted []byte, taken int) bool {
	return string(Unquote(quoted)) == f.path[taken].name
}

func (f *finder) is(at int, b byte) bool { return at < len(f.in) && f.in[at] == b }

func (f *finder) space(at int) int {
	in := f.in
	for at < len(in) && in[at] <= ' ' && (in[at] == ' ' || in[at] == '\n' || in[at] == '\r' || in[at] == '\t') {
		at++
	}
	return at
}

func (f *finder) word(at int, word string) (end int, ok bool) {
	end = min(at+len(word), len(f.in))
	return end, string(f.in[at:end]) == word
}

// text reads the rest of a string whose opening quote has been read.
func (f *finder) text(at int) (end int, ok bool) {
	in := f.in
	for at < len(in) {
		b := in[at]
		if b >= ' ' && b != '"' && b != '\\' {
			at++
			continue
		}
		if b != '\\' {
			return at + 1, b == '"'
		}
		if at, ok = f.escape(at + 1); !ok {
			return at, false
		}
	}
	return at, false
}

func (f *finder) escape(at int) (end int, ok bool) {
	if at >= len(f.in) {
		return at, false
	}
	switch f.in[at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 1, true
	case 'u':
		for range 4 {
			at++
			if at >= len(f.in) || !isHex(f.in[at]) {
				return at, false
			}
		}
		return at + 1, true
	}
	return at, false
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

func (f *finder) number(at int) (end int, ok bool) {
	if f.is(at, '-') {
		at++
	}
	if f.is(at, '0') {
		at++
	} else if at, ok = f.digits(at); !ok {
		return at, false
	}
	if f.is(at, '.') {
		if at, ok = f.digits(at + 1); !ok {
			return at, false
		}
	}
	if f.is(at, 'e') || f.is(at, 'E') {
		at++
		if f.is(at, '+') || f.is(at, '-') {
			at++
		}
		return f.digits(at)
	}
	return at, true
}

func (f *finder) digits(at int) (end int, ok bool) {
	end = at
	for end < len(f.in) && '0' <= f.in[end] && f.in[end] <= '9' {
		end++
	}
	return end, end > at
}

// Unquote returns what a valid JSON string, as Find returns it, says: a view
// unless it has escapes.
func Unquote(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		return unescape(quoted)
	}
	return inner
}

func unescape(quoted []byte) []byte {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return quoted // only if it is not valid
	}
	return []byte(s)
}
