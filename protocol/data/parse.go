package data

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"contend/internal/lazyregexp"
	"contend/protocol/wire"
	"contend/setting"
)

// ParseTemplate reads the text of a template for rows, which may be nil. The
// error holds every mistake. The placeholders are
//
//	{{name}}            the column of that name, in every row
//	{{raw name}}        the same as it is, without escaping
//	{{vu}}              the VU, from 0
//	{{iteration}}       the VU's iteration, from 0
//	{{row}}             the row, from 1
//	{{uuid}}            a random UUID, each time another
//	{{random 1 100}}    a random whole number, both ends included
//	{{"text"}}          that text, with the escapes of Go, such as {{"{{"}}
//
// A column goes before what is built in of the same name. Spaces inside the
// braces are of no matter.
func ParseTemplate(place Place, text string, rows *Rows) (*Template, error) {
	p := &parser{place: place, rows: rows}
	for text != "" {
		before, rest, found := strings.Cut(text, "{{")
		p.literal(before)
		if !found {
			break
		}
		text = p.placeholder(rest)
	}
	if err := errors.Join(p.mistakes...); err != nil {
		return nil, err
	}
	return &Template{segments: p.segments}, nil
}

// isPlaceholder finds what ParseTemplate would fill, except text in quotes.
var isPlaceholder = lazyregexp.New(`\{\{\s*(raw\s+)?[\pL_][\pL\d_.-]*(\s+-?\d+\s+-?\d+)?\s*\}\}`)

// Placeholder returns the first placeholder of a text that is meant to be filled, such
// as {{uuid}} or {{name}}; "" without one.
func Placeholder(text string) string { return isPlaceholder().FindString(text) }

type parser struct {
	place    Place
	rows     *Rows
	segments []segment
	json     jsonText
	inQuery  bool // of a URL
	mistakes []error
}

func (p *parser) mistake(format string, args ...any) {
	p.mistakes = append(p.mistakes, fmt.Errorf("%s: %w", p.place, fmt.Errorf(format, args...)))
}

func (p *parser) literal(text string) {
	if text == "" {
		return
	}
	if err := p.place.checkText(text); err != nil {
		p.mistake("%w", err)
	}
	p.json.read(text)
	if p.place == URL {
		inQuery := p.inQuery
		p.inQuery = inQuery || strings.Contains(text, "?")
		text = wire.EscapeTarget(text, inQuery)
	}
	if n := len(p.segments); n > 0 && p.segments[n-1].kind == literal {
		p.segments[n-1].text += text
		return
	}
	p.segments = append(p.segments, segment{kind: literal, text: text})
}

// placeholder reads what follows opening braces and returns what follows the
// closing ones.
func (p *parser) placeholder(text string) (rest string) {
	if quoted, err := strconv.QuotedPrefix(strings.TrimLeft(text, " ")); err == nil && quoted[0] == '"' {
		_, after, _ := strings.Cut(text, quoted)
		if rest, closed := strings.CutPrefix(strings.TrimLeft(after, " "), "}}"); closed {
			unquoted, _ := strconv.Unquote(quoted) // QuotedPrefix has checked it
			p.literal(unquoted)
			return rest
		}
	}
	inner, rest, closed := strings.Cut(text, "}}")
	if !closed {
		p.mistake(`{{%.20s has no closing }} (braces that are text are written {{"{{"}})`, text)
		return ""
	}
	p.name(strings.TrimSpace(inner))
	return rest
}

// name reads what is within the braces.
func (p *parser) name(name string) {
	s := slot{place: p.place, first: len(p.segments) == 0, inString: p.json.inString}
	if c := p.rows.column(name); c != nil {
		p.cell(c, s)
		return
	}
	word, arguments, _ := strings.Cut(name, " ")
	arguments = strings.TrimSpace(arguments)
	if c := p.rows.column(arguments); word == "raw" && c != nil {
		s.raw = true
		p.cell(c, s)
		return
	}
	builtIn, err := p.builtIn(word, arguments)
	switch {
	case err != nil:
		p.mistake("{{%s}}: %w", name, err)
	case p.place == URL && s.first:
		p.mistake("{{%s}} stands where the path begins: put a slash before it", name)
	case p.place == JSON && builtIn.kind == uuid && !s.inString:
		p.mistake("{{uuid}} is no JSON: put it in quotes")
	}
	p.segments = append(p.segments, builtIn)
}

func (p *parser) builtIn(word, arguments string) (segment, error) {
	kinds := map[string]kind{
		"vu": vuNumber, "iteration": iterationNumber, "row": rowNumber, "uuid": uuid, "random": randomNumber,
	}
	s := segment{kind: kinds[word]}
	switch {
	case s.kind == randomNumber:
		return p.random(s, arguments)
	case s.kind == 0 || arguments != "":
		return s, p.unknown(word, arguments)
	case s.kind == rowNumber && p.rows.Len() == 0:
		return s, errors.New("there are no rows")
	}
	return s, nil
}

func (p *parser) random(s segment, arguments string) (segment, error) {
	limits := strings.Fields(arguments)
	if len(limits) == 2 {
		var err, err2 error
		s.from, err = strconv.ParseInt(limits[0], 10, 64)
		s.to, err2 = strconv.ParseInt(limits[1], 10, 64)
		if err == nil && err2 == nil && s.from <= s.to && s.to-s.from+1 > 0 {
			return s, nil
		}
	}
	return s, errors.New("write {{random FROM TO}} with two whole numbers, FROM not above TO and less than 2^63-1 below it")
}

// unknown says what could have been meant.
func (p *parser) unknown(word, arguments string) error {
	given, names := word, append(p.rows.Names(), "vu", "iteration", "row", "uuid", "random")
	switch {
	case word == "raw":
		given, names = arguments, p.rows.Names()
	case arguments != "":
		given += " " + arguments
	}
	hint := ""
	if near := setting.Nearest(given, names); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("%q is not known%s (%s)", given, hint, p.rows.describe())
}

// cell adds a column's values as they are written in the slot.
func (p *parser) cell(c *column, s slot) {
	if p.place == URL && s.first && !s.raw {
		p.mistake("{{%s}} stands where the path begins: put a slash before it, or write {{raw %s}} for whole paths", c.name, c.name)
		return
	}
	if c.absent != nil {
		p.mistake("{{%s}}: %s has no %s in %s", c.name, p.rows.name, c.name, p.rows.where(c.absent))
		return
	}
	var bad []int
	var why error
	values := c.values
	copied := false
	for i, value := range c.values {
		if err := s.check(value); err != nil && len(bad) < maxAbsent {
			bad = append(bad, i)
			if why == nil {
				why = err
			}
		}
		if escaped := s.escape(value); escaped != value {
			if !copied {
				values, copied = append([]string(nil), values...), true
			}
			values[i] = escaped
		}
	}
	if why != nil {
		p.mistake("{{%s}}: %s, column %s, %s: %w", c.name, p.rows.name, c.name, p.rows.where(bad), why)
	}
	p.segments = append(p.segments, segment{kind: cell, values: values})
}

// where names up to maxAbsent rows by their lines.
func (r *Rows) where(rows []int) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = fmt.Sprintf("row %d (line %d)", row+1, r.lines[row])
	}
	text := strings.Join(lines, ", ")
	if len(rows) == maxAbsent {
		text += " and maybe more"
	}
	return text
}
