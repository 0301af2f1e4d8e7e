package data

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// A Template is text with placeholders. It is immutable and safe for
// concurrent use.
type Template struct {
	segments []segment
}

// A segment is a piece of a template. Which of the values are set follows from
// its kind.
type segment struct {
	kind     kind
	text     string
	values   []string // of a column, escaped
	from, to int64
}

type kind int

const (
	literal kind = iota + 1
	cell
	vuNumber
	iterationNumber
	rowNumber
	randomNumber
	uuid
)

// Literal returns the text of a template without placeholders, and false if it
// has some.
func (t *Template) Literal() (string, bool) {
	switch {
	case len(t.segments) == 0:
		return "", true
	case len(t.segments) == 1 && t.segments[0].kind == literal:
		return t.segments[0].text, true
	}
	return "", false
}

// AppendTo appends the text for the cursor's iteration, which must have begun
// (Next), and must come from a Source of the template's rows. It allocates
// only to extend dst.
func (t *Template) AppendTo(dst []byte, c *Cursor) []byte {
	for i := range t.segments {
		s := &t.segments[i]
		switch s.kind {
		case literal:
			dst = append(dst, s.text...)
		case cell:
			dst = append(dst, s.values[c.row]...)
		case vuNumber:
			dst = strconv.AppendInt(dst, int64(c.vu), 10)
		case iterationNumber:
			dst = strconv.AppendInt(dst, int64(c.iteration), 10)
		case rowNumber:
			dst = strconv.AppendInt(dst, int64(c.row)+1, 10)
		case randomNumber:
			dst = strconv.AppendInt(dst, s.from+c.random.Int64N(s.to-s.from+1), 10)
		default:
			dst = c.appendUUID(dst)
		}
	}
	return dst
}

// appendUUID appends a random UUID (RFC 9562, section 5.4).
func (c *Cursor) appendUUID(dst []byte) []byte {
	var id [16]byte
	for i := 0; i < len(id); i += 8 {
		word := c.random.Uint64()
		for j := range 8 {
			id[i+j] = byte(word >> (8 * j))
		}
	}
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // variant 10
	dst = hex.AppendEncode(dst, id[:4])
	for _, part := range [][]byte{id[4:6], id[6:8], id[8:10], id[10:]} {
		dst = hex.AppendEncode(append(dst, '-'), part)
	}
	return dst
}

// describe names what a placeholder can be, for messages.
func (r *Rows) describe() string {
	const builtIns = `built in are vu, iteration, row, uuid, random FROM TO and "text"`
	if r.Len() == 0 {
		return "there are no rows; " + builtIns
	}
	names := r.Names()
	more := ""
	if len(names) > 30 {
		names, more = names[:30], " and more"
	}
	return fmt.Sprintf("columns are %s%s; %s", strings.Join(names, ", "), more, builtIns)
}
