// Package jsonpath finds a value in a JSON document.
//
// A path is the part of JSONPath (RFC 9535) that names one place: $ and then any
// number of .name, ["name"], ['name'] or [index], counted from 0, as in
// $.items[0]["unit price"]. Names in double quotes have the escapes of Go, those
// in single quotes none; a name without quotes holds no space and none of
// . [ ] = ! < > " ' and *.
//
// If a name occurs more than once in an object, the last one counts, as in
// encoding/json.
package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
)

// A Path leads to a value. The zero value is $, the whole document. It is
// immutable and safe for concurrent use.
type Path []step

// A step is a name in an object or an index in an array.
type step struct {
	name  string
	index int // -1: a name
}

// A SyntaxError says what is wrong with a path, from byte Offset on.
type SyntaxError struct {
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("position %d: %s", e.Offset+1, e.Reason) }

// Parse reads a path.
func Parse(text string) (Path, error) {
	p, rest, err := Cut(text)
	if err == nil && rest != "" {
		err = &SyntaxError{len(text) - len(rest), fmt.Sprintf("%q is too much", rest)}
	}
	if err != nil {
		return nil, fmt.Errorf("path %q, %w", text, err)
	}
	return p, nil
}

// steps are what may follow, for messages.
const steps = `expected .name, [index], ["name"]`

// Cut reads the path that text begins with, up to a space or one of = ! < >, and
// returns the rest. The error is a *SyntaxError.
func Cut(text string) (p Path, rest string, err error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, text, &SyntaxError{0, "a JSON path begins with $, as in $.user.id"}
	}
	for rest != "" && strings.IndexByte(" \t\r\n=!<>", rest[0]) < 0 {
		at := len(text) - len(rest)
		var s step
		switch rest[0] {
		case '.':
			s, rest, err = member(rest)
		case '[':
			s, rest, err = bracket(rest)
		default:
			err = &SyntaxError{0, fmt.Sprintf("%q cannot follow here; %s", rest[:1], steps)}
		}
		if wrong, ok := err.(*SyntaxError); ok {
			wrong.Offset += at
			return nil, rest, wrong
		}
		p = append(p, s)
	}
	return p, rest, nil
}

// member reads .name.
func member(text string) (step, string, error) {
	end := strings.IndexAny(text[1:], " \t\r\n.[]=!<>\"'*") + 1
	if end == 0 {
		end = len(text)
	}
	if end == 1 {
		return step{}, "", &SyntaxError{1, "there is no name after the point; " + steps}
	}
	return step{text[1:end], -1}, text[end:], nil
}

// bracket reads [index], ["name"] or ['name'].
func bracket(text string) (s step, rest string, err error) {
	if text[1:] != "" && (text[1] == '"' || text[1] == '\'') {
		s.index = -1
		if s.name, rest, err = Quoted(text[1:]); err != nil {
			return s, "", &SyntaxError{1, err.Error()}
		}
	} else {
		rest = strings.TrimLeft(text[1:], "0123456789")
		index, err := strconv.ParseUint(text[1:len(text)-len(rest)], 10, 31)
		if err != nil {
			return s, "", &SyntaxError{1, `there is no index; expected [index], from [0] to [2147483647], and ["name"]`}
		}
		s.index = int(index)
	}
	after, ok := strings.CutPrefix(rest, "]")
	if !ok {
		return s, "", &SyntaxError{len(text) - len(rest), "a closing ] is missing"}
	}
	return s, after, nil
}

// Quoted reads the string in double quotes, with the escapes of Go, or in single
// quotes, without escapes, that text begins with, and returns the rest.
func Quoted(text string) (value, rest string, err error) {
	if inner, ok := strings.CutPrefix(text, "'"); ok {
		value, rest, ok = strings.Cut(inner, "'")
		if !ok {
			return "", text, fmt.Errorf("the string has no closing quote")
		}
		return value, rest, nil
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err == nil {
		value, err = strconv.Unquote(quoted)
	}
	if err != nil {
		return "", text, fmt.Errorf("the string has no closing quote or an escape that is unknown")
	}
	return value, text[len(quoted):], nil
}
