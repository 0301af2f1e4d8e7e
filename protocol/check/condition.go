package check

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"contend/protocol/jsonpath"
)

type subject int

const (
	status subject = iota + 1
	size
	header
	body
	jsonValue
)

func (s subject) readsBody() bool { return s == body || s == jsonValue }

type operator string

const (
	exists       operator = "exists"
	equal        operator = "=="
	unequal      operator = "!="
	less         operator = "<"
	lessEqual    operator = "<="
	greater      operator = ">"
	greaterEqual operator = ">="
	in           operator = "in"
	contains     operator = "contains"
	matches      operator = "matches"
)

// A check is one parsed line. Which of the values are set follows from subject
// and operator.
type check struct {
	name, tooLong, encoded string
	not                    bool
	subject                subject
	operator               operator

	field   string // of the header, in lower case
	path    jsonpath.Path
	text    []byte
	literal bool // text is a JSON value and not a string
	number  float64
	spans   []span
	pattern *regexp.Regexp
}

// A span is a range of statuses, both ends included.
type span struct{ from, to int }

func (c *check) holds(a *Answer) bool {
	switch c.subject {
	case status:
		if c.operator == in {
			return c.within(a.Status)
		}
		return c.compare(float64(a.Status))
	case size:
		return c.compare(float64(a.Size))
	case header:
		return c.holdsHeader(a.Header)
	case body:
		return c.holdsText(a.Body)
	default:
		return c.holdsJSON(a.Body)
	}
}

func (c *check) within(n int) bool {
	for _, s := range c.spans {
		if s.from <= n && n <= s.to {
			return true
		}
	}
	return false
}

func (c *check) compare(x float64) bool {
	switch c.operator {
	case equal:
		return x == c.number
	case unequal:
		return x != c.number
	case less:
		return x < c.number
	case lessEqual:
		return x <= c.number
	case greater:
		return x > c.number
	default:
		return x >= c.number
	}
}

func (c *check) holdsText(text []byte) bool {
	switch c.operator {
	case exists:
		return true
	case equal:
		return bytes.Equal(text, c.text)
	case unequal:
		return !bytes.Equal(text, c.text)
	case contains:
		return bytes.Contains(text, c.text)
	default:
		return c.pattern.Match(text)
	}
}

func (c *check) holdsHeader(block []byte) bool {
	for len(block) > 0 {
		line := block
		if end := bytes.IndexByte(block, '\n'); end >= 0 {
			line = block[:end]
		}
		block = block[min(len(line)+1, len(block)):]
		colon := bytes.IndexByte(line, ':')
		if colon != len(c.field) || !strings.EqualFold(string(line[:colon]), c.field) {
			continue
		}
		// One line with the value is enough for == and refutes !=.
		if c.holdsText(bytes.Trim(line[colon+1:], " \t\r")) != (c.operator == unequal) {
			return c.operator != unequal
		}
	}
	return c.operator == unequal
}

func (c *check) holdsJSON(document []byte) bool {
	value, found := c.path.Find(document)
	if !found {
		return c.operator == unequal
	}
	switch c.operator {
	case exists:
		return true
	case equal, unequal:
		return c.equalsJSON(value) == (c.operator == equal)
	case contains, matches:
		return value[0] == '"' && c.holdsText(jsonpath.Unquote(value))
	}
	if !isNumber(value) {
		return false
	}
	x, err := strconv.ParseFloat(string(value), 64)
	return err == nil && c.compare(x)
}

func (c *check) equalsJSON(value []byte) bool {
	switch {
	case !c.literal:
		return value[0] == '"' && bytes.Equal(jsonpath.Unquote(value), c.text)
	case bytes.Equal(value, c.text):
		return true
	case !isNumber(value) || !isNumber(c.text):
		return false
	case isInteger(value) && isInteger(c.text):
		return false // identifiers of 64 bits are no exact float64s
	}
	x, err := strconv.ParseFloat(string(value), 64)
	return err == nil && x == c.number
}

func isNumber(value []byte) bool {
	return value[0] == '-' || '0' <= value[0] && value[0] <= '9'
}

func isInteger(number []byte) bool { return !bytes.ContainsAny(number, ".eE") }
