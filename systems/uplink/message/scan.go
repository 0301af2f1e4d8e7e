package message

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep a value that nobody asked for may be nested.
const maxDepth = 32

// A scanner reads one JSON text without allocating. After the first mistake,
// which err holds, it is at the end and everything reads as zero.
type scanner struct {
	data  []byte
	pos   int
	err   error
	name  string // the known member that is being read
	first bool   // nothing was read of the innermost array or object yet
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("message: at byte %d: %s", min(s.pos, len(s.data)), fmt.Sprintf(format, args...))
	}
	s.pos = len(s.data)
}

// wrong fails with what is wrong with the member that is being read, if one is.
func (s *scanner) wrong(format string, args ...any) {
	if s.name != "" {
		format = s.name + ": " + format
	}
	s.fail(format, args...)
}

// peek skips white space and returns the byte after it, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) && s.data[s.pos] > ' ' {
		return s.data[s.pos]
	}
	return s.space()
}

func (s *scanner) space() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// open reads the bracket that begins an array or an object.
func (s *scanner) open(bracket byte) {
	if s.peek() != bracket {
		s.wrong("expected %q", bracket)
		return
	}
	s.pos++
	s.first = true
}

// more reports whether another element follows, and reads the comma before it or
// the closing bracket.
func (s *scanner) more(bracket byte) bool {
	c := s.peek()
	first := s.first
	s.first = false
	switch {
	case s.err != nil:
		return false
	case c == bracket:
		s.pos++
		return false
	case first:
		return true
	case c != ',':
		s.wrong("expected a comma or %q", bracket)
		return false
	}
	s.pos++
	return true
}

// end reports the first mistake, or what follows the value.
func (s *scanner) end() error {
	if s.peek(); s.pos < len(s.data) {
		s.fail("text after the message")
	}
	return s.err
}

// literal reads a word if it is here.
func (s *scanner) literal(word string) bool {
	if s.peek() != word[0] || len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

func (s *scanner) bool() bool {
	if s.literal("true") {
		return true
	}
	if !s.literal("false") {
		s.wrong("expected true or false")
	}
	return false
}

// integer reads an integer from least to most.
func (s *scanner) integer(least, most uint64) uint64 {
	const cut = math.MaxUint64 / 10
	s.peek()
	var n uint64
	i := s.pos
	for ; i < len(s.data); i++ {
		d := uint64(s.data[i] - '0')
		if d > 9 {
			break
		}
		if n >= cut && (n > cut || d > math.MaxUint64%10) {
			s.fail("%s is too large; expected %d to %d", s.name, least, most)
			return 0
		}
		n = n*10 + d
	}
	switch digits := i - s.pos; {
	case digits == 0:
		s.wrong("expected an integer from %d to %d", least, most)
		return 0
	case digits > 1 && s.data[s.pos] == '0':
		s.wrong("an integer with a leading zero")
		return 0
	case n < least || n > most:
		s.fail("%s is %d; expected %d to %d", s.name, n, least, most)
		return 0
	}
	s.pos = i
	return n
}

func (s *scanner) uint(most uint64) uint64 { return s.integer(0, most) }
func (s *scanner) positive() uint64        { return s.integer(1, math.MaxUint64) }

func (s *scanner) uint32() uint32 { return uint32(s.uint(math.MaxUint32)) }

// appendUints reads an array of integers that fit into a T.
func appendUints[T ~uint8 | ~uint32 | ~uint64](s *scanner, dst []T) []T {
	for s.open('['); s.more(']'); {
		dst = appendRun(s, dst)
		dst = append(dst, T(s.uint(uint64(^T(0)))))
	}
	return dst
}

// appendRun reads what appendUints would, and the commas, as long as nothing
// has to be decided: integers of at most 19 digits, which fit into 64 bits.
func appendRun[T ~uint8 | ~uint32 | ~uint64](s *scanner, dst []T) []T {
	for {
		var n uint64
		rest := s.data[min(s.pos, len(s.data)):]
		digits := 0
		for digits < len(rest) && rest[digits]-'0' <= 9 {
			n = n*10 + uint64(rest[digits]-'0')
			digits++
		}
		switch {
		case digits == 0, digits == len(rest), digits > 19, rest[digits] != ',', rest[0] == '0' && digits > 1, n > uint64(^T(0)):
			return dst
		}
		dst = append(dst, T(n))
		s.pos += digits + 1
	}
}

func (s *scanner) float(bits int) float64 {
	s.peek()
	start := s.pos
	s.number()
	if s.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(s.data[start:s.pos]), bits)
	if err != nil {
		s.wrong("a number beyond %d bits", bits)
	}
	return f
}

// number skips a number.
func (s *scanner) number() {
	s.skipOne('-', '-')
	if !s.skipOne('0', '0') {
		s.digits()
	}
	if s.skipOne('.', '.') {
		s.digits()
	}
	if s.skipOne('e', 'E') {
		s.skipOne('+', '-')
		s.digits()
	}
}

func (s *scanner) skipOne(a, b byte) bool {
	if s.pos < len(s.data) && (s.data[s.pos] == a || s.data[s.pos] == b) {
		s.pos++
		return true
	}
	return false
}

// digits skips one digit or more.
func (s *scanner) digits() {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	if s.pos == start {
		s.wrong("expected a number")
	}
}

// text reads a string. What it returns is a part of the data unless the string
// holds an escape.
func (s *scanner) text() []byte {
	if s.peek() != '"' {
		s.wrong("expected a string")
		return nil
	}
	var escaped, wide bool
	for i := s.pos + 1; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			quoted := s.data[s.pos : i+1]
			if wide && !utf8.Valid(quoted) {
				s.wrong("a string that is not UTF-8")
				return nil
			}
			if escaped {
				return s.unescape(quoted)
			}
			s.pos = i + 1
			return quoted[1 : len(quoted)-1]
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			s.wrong("a control character in a string")
			return nil
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	s.wrong("a string without an end")
	return nil
}

// unescape reads a string that holds an escape, which is rare.
func (s *scanner) unescape(quoted []byte) []byte {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		s.wrong("%v", err)
		return nil
	}
	s.pos += len(quoted)
	return []byte(text)
}

// skip reads any value, nested up to depth.
func (s *scanner) skip(depth int) {
	switch c := s.peek(); {
	case c == '"':
		s.text()
	case c == '-' || c-'0' <= 9:
		s.number()
	case s.literal("null") || s.literal("true") || s.literal("false"):
	case c != '[' && c != '{':
		s.fail("expected a value")
	case depth == 0:
		s.fail("more than %d arrays and objects in each other", maxDepth)
	case c == '[':
		for s.open('['); s.more(']'); {
			s.skip(depth - 1)
		}
	default:
		for s.open('{'); s.more('}'); {
			s.key()
			s.skip(depth - 1)
		}
	}
}

// key reads the name of a member and its colon.
func (s *scanner) key() []byte {
	key := s.text()
	s.colon()
	return key
}

func (s *scanner) colon() {
	if s.peek() != ':' {
		s.fail("expected a colon")
		return
	}
	s.pos++
}
