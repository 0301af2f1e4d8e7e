package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"contend/protocol/jsonpath"
)

const (
	maxStatus = 999
	maxSize   = 1 << 53 // to which float64 counts every number
)

// operators lists what may follow each subject.
func (s subject) operators() []operator {
	ordering := []operator{equal, unequal, less, lessEqual, greater, greaterEqual}
	text := []operator{contains, matches}
	switch s {
	case status:
		return append(ordering, in)
	case size:
		return ordering
	case header:
		return append([]operator{exists, equal, unequal}, text...)
	case body:
		return append([]operator{equal, unequal}, text...)
	default:
		return append(append([]operator{exists}, ordering...), text...)
	}
}

// A scanner reads a check from its text.
type scanner struct {
	text string
	at   int
}

// fail reports what is wrong from position at on.
func (s *scanner) fail(at int, format string, args ...any) error {
	return fmt.Errorf("%q, position %d: %s", s.text, at+1, fmt.Sprintf(format, args...))
}

func parse(text string) (check, error) {
	s := &scanner{text: text}
	c := check{name: strings.TrimSpace(text)}
	c.tooLong, c.encoded = c.name+" (body too long)", c.name+" (body not decoded)"
	word, at := s.word()
	if word == "not" {
		c.not = true
		word, at = s.word()
	}
	err := s.subject(&c, word, at)
	if err != nil {
		return check{}, err
	}
	if err = s.operator(&c); err != nil {
		return check{}, err
	}
	if c.operator != exists {
		if err = s.value(&c); err != nil {
			return check{}, err
		}
	}
	if s.space(); s.at < len(text) {
		return check{}, s.fail(s.at, "%q is too much: a value with spaces needs quotes", text[s.at:])
	}
	return c, nil
}

func (s *scanner) subject(c *check, word string, at int) error {
	switch word {
	case "status":
		c.subject = status
	case "size":
		c.subject = size
	case "header":
		c.subject = header
		name, at := s.word()
		if name == "" || strings.ContainsAny(name, `:"'`) {
			return s.fail(at, "%q is not the name of a header", name)
		}
		c.field = strings.ToLower(name)
	case "body":
		c.subject = body
	case "json":
		c.subject = jsonValue
		return s.path(c)
	default:
		return s.fail(at, "what is checked is %q; expected status, size, header, body, json", word)
	}
	return nil
}

func (s *scanner) operator(c *check) error {
	s.space()
	at := s.at
	var word string
	if isComparison(s.peek()) {
		for isComparison(s.peek()) {
			s.at++
		}
		word = s.text[at:s.at]
	} else {
		word, _ = s.word()
	}
	c.operator = operator(word)
	allowed := c.subject.operators()
	if !slices.Contains(allowed, c.operator) {
		return s.fail(at, "operator is %q; expected %s", word, strings.Trim(fmt.Sprint(allowed), "[]"))
	}
	return nil
}

func (s *scanner) value(c *check) error {
	s.space()
	at := s.at
	if c.operator == matches {
		return s.pattern(c)
	}
	quoted := s.peek() == '"' || s.peek() == '\''
	value, err := s.string()
	if err != nil {
		return err
	}
	switch {
	case value == "" && !quoted:
		return s.fail(at, "there is no value after %s", c.operator)
	case c.operator == in:
		return s.spans(c, value, at)
	case c.subject == status || c.subject == size:
		limit := uint64(maxSize)
		if c.subject == status {
			limit = maxStatus
		}
		whole, err := strconv.ParseUint(value, 10, 64)
		if err != nil || whole > limit {
			return s.fail(at, "%q is not a whole number from 0 to %d", value, limit)
		}
		c.number = float64(whole)
	case c.operator[0] == '<' || c.operator[0] == '>':
		if c.number, err = strconv.ParseFloat(value, 64); err != nil || quoted || !json.Valid([]byte(value)) {
			return s.fail(at, "%q is not a number", value)
		}
	case c.subject == jsonValue && !quoted && c.operator != contains:
		return s.literal(c, value, at)
	}
	c.text = []byte(value)
	return nil
}

// literal reads a value of JSON: a number, true, false, null or else a string.
func (s *scanner) literal(c *check, value string, at int) error {
	if strings.ContainsAny(value[:1], "{[") {
		return s.fail(at, "%s is an object or array, which cannot be compared: name one of its values in the path", value)
	}
	c.text = []byte(value)
	c.literal = json.Valid(c.text)
	if c.literal && isNumber(c.text) {
		c.number, _ = strconv.ParseFloat(value, 64) // beyond float64 it is infinite and equals nothing
	}
	return nil
}

func (s *scanner) spans(c *check, list string, at int) error {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err != nil || err2 != nil || from > to || to > maxStatus {
			return s.fail(at, "%q is not a status from 0 to %d or a range of them, as in 200-299,304", part, maxStatus)
		}
		c.spans = append(c.spans, span{int(from), int(to)})
	}
	return nil
}

// pattern reads a regular expression between slashes.
func (s *scanner) pattern(c *check) error {
	at := s.at
	if s.peek() != '/' {
		return s.fail(at, "matches needs a regular expression between slashes, as in /re/")
	}
	var b strings.Builder
	for s.at++; s.at < len(s.text) && s.text[s.at] != '/'; s.at++ {
		if s.text[s.at] == '\\' && s.at+1 < len(s.text) {
			if s.at++; s.text[s.at] != '/' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(s.text[s.at])
	}
	if s.at == len(s.text) {
		return s.fail(at, "the regular expression has no closing slash")
	}
	s.at++
	pattern, err := regexp.Compile(b.String())
	if err != nil {
		return s.fail(at, "%s", strings.TrimPrefix(err.Error(), "error "))
	}
	c.pattern = pattern
	return nil
}

// path reads a JSON path.
func (s *scanner) path(c *check) error {
	s.space()
	p, rest, err := jsonpath.Cut(s.text[s.at:])
	if syntax, ok := errors.AsType[*jsonpath.SyntaxError](err); ok {
		return s.fail(s.at+syntax.Offset, "%s", syntax.Reason)
	}
	c.path, s.at = p, len(s.text)-len(rest)
	return nil
}

// string reads a word up to the next space, or a string in quotes.
func (s *scanner) string() (string, error) {
	at := s.at
	if b := s.peek(); b == '"' || b == '\'' {
		value, rest, err := jsonpath.Quoted(s.text[at:])
		if err != nil {
			return "", s.fail(at, "%v", err)
		}
		s.at = len(s.text) - len(rest)
		return value, nil
	}
	for s.at < len(s.text) && !isSpace(s.text[s.at]) {
		s.at++
	}
	return s.text[at:s.at], nil
}

// word reads up to the next space or comparison.
func (s *scanner) word() (word string, at int) {
	s.space()
	at = s.at
	for s.at < len(s.text) && !isSpace(s.text[s.at]) && !isComparison(s.text[s.at]) {
		s.at++
	}
	return s.text[at:s.at], at
}

func (s *scanner) space() {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
	}
}

// peek returns the next byte, or zero at the end.
func (s *scanner) peek() byte {
	if s.at >= len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func isSpace(b byte) bool { return strings.IndexByte(" \t\r\n", b) >= 0 }

func isComparison(b byte) bool { return strings.IndexByte("=!<>", b) >= 0 }
