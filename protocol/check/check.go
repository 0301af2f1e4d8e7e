// Package check decides whether a response is correct. A check is a line of text,
// the same in flags and files:
//
//	status in 200-299,304
//	header Content-Type contains json
//	body contains "order accepted"
//	not body matches /error|exception/
//	size >= 100
//	json $.user.id == 7
//
// It is subject, operator, value; "not" in front negates it. The subjects and their
// operators are
//
//	status          == != < <= > >= in
//	size            == != < <= > >=             bytes of the body
//	header NAME     exists == != contains matches
//	body            == != contains matches
//	json PATH       exists == != < <= > >= contains matches
//
// A value is a word, "a string" with the escapes of Go, 'a string' without
// escapes, or after matches a regular expression (RE2) between slashes, in
// which \/ is a slash. A != holds wherever == does not, also where there is no
// such header or path; all other operators need what they look at. A header
// that is sent several times passes if one of its values does.
//
// A PATH is one of package protocol/jsonpath, such as $.items[0]["unit price"].
// After it the words true, false, null and numbers mean these values, all others
// strings; quoted, all are strings. The whole body must be valid JSON.
//
// The body is decoded (gzip and other content codings); the size is that of what was
// sent.
package check

import (
	"errors"
	"fmt"
	"slices"

	"contend/setting"
)

// BodyLimit is the proposed limit in bytes for what is kept of a body.
const BodyLimit = 1 << 20

// An Answer is what a check looks at. Fields that no check needs may be left zero.
type Answer struct {
	// Status is the protocol's status: of HTTP, or a gRPC code.
	Status int
	// Header holds lines "Name: value", each ended by LF or CRLF; the names in
	// any case. Lines that no check needs may be left out.
	Header []byte
	// Body is the body without what frames its chunks and encodes its content.
	Body []byte
	// Size is the body's length in bytes as sent, also where Body is not kept.
	Size int64
	// Encoded says that Body is still encoded, because that could not be undone.
	Encoded bool
	// Truncated says that Body is only the beginning, since it was longer than
	// what is kept.
	Truncated bool
}

// A Need is what an Answer must hold for a Set.
type Need struct {
	Status, Size, Body bool
	// Headers lists the names in lower case, each once.
	Headers []string
}

// Content reports whether more than the status is looked at.
func (n Need) Content() bool { return n.Size || n.Body || len(n.Headers) > 0 }

// A Set is a list of checks that an answer must pass. Nil and the zero value
// pass everything. It is immutable and safe for concurrent use.
type Set struct {
	checks []check
	need   Need
}

// Parse reads checks, one from each text. The error holds every text that is
// no check.
func Parse(texts ...string) (*Set, error) {
	s := &Set{}
	var errs []error
	for _, text := range texts {
		c, err := parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("check: %w", err))
			continue
		}
		s.checks = append(s.checks, c)
		s.need.add(c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// Each returns the mistakes in a list of checks that is the value of a setting.
func Each(s setting.Setting, texts []string) error {
	var errs []error
	for i, text := range texts {
		if _, err := parse(text); err != nil {
			m := s.Wrong("is %v", err)
			m.Index = i
			errs = append(errs, m)
		}
	}
	return errors.Join(errs...)
}

// Needs returns what the answers must hold.
func (s *Set) Needs() Need {
	if s == nil {
		return Need{}
	}
	need := s.need
	need.Headers = slices.Clone(need.Headers)
	return need
}

// Len returns the number of checks.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.checks)
}

// Run returns the text of the first check that the answer breaks, or "". A
// check of a truncated body is broken whatever the body says, and then
// "(body too long)" follows its text, as "(body not decoded)" does of one that is
// still encoded. Run allocates only where a JSON string
// that is looked at has escapes.
func (s *Set) Run(a Answer) string {
	if s == nil {
		return ""
	}
	for i := range s.checks {
		c := &s.checks[i]
		switch {
		case a.Truncated && c.subject.readsBody():
			return c.tooLong
		case a.Encoded && c.subject.readsBody():
			return c.encoded
		case c.holds(&a) == c.not:
			return c.name
		}
	}
	return ""
}

func (n *Need) add(c check) {
	switch c.subject {
	case status:
		n.Status = true
	case size:
		n.Size = true
	case header:
		if !slices.Contains(n.Headers, c.field) {
			n.Headers = append(n.Headers, c.field)
		}
	default:
		n.Body = true
	}
}
