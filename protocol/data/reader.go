package data

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

const (
	maxMistakes = 20
	// maxDepth is how deep objects are taken apart. Deeper ones are text.
	maxDepth = 16
	// maxAbsent is how many rows without a value are remembered for a message.
	maxAbsent = 3
)

// A reader fills rows and collects what is wrong with the file.
type reader struct {
	rows        *Rows
	mistakes    []error
	cells, text int
}

// mistake notes what is wrong in a line, and reports whether to go on.
func (r *reader) mistake(line int, format string, args ...any) bool {
	if len(r.mistakes) == maxMistakes {
		r.mistakes = append(r.mistakes, fmt.Errorf("%s has more mistakes", r.rows.name))
	}
	if len(r.mistakes) > maxMistakes {
		return false
	}
	r.mistakes = append(r.mistakes, fmt.Errorf("%s:%d: %s", r.rows.name, line, fmt.Sprintf(format, args...)))
	return true
}

func (r *reader) csv(content []byte) {
	in := csv.NewReader(bytes.NewReader(content))
	in.FieldsPerRecord = -1
	in.ReuseRecord = true
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return
	}
	if err != nil {
		r.csvMistake(err)
		return
	}
	r.header(header)
	columns := len(header)
	for {
		record, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			if !r.csvMistake(err) {
				return
			}
			continue
		}
		line, _ := in.FieldPos(0)
		if len(record) != columns {
			if !r.mistake(line, "has %d values but the header names %d columns", len(record), columns) {
				return
			}
			continue
		}
		if r.mistakes == nil && !r.record(line, record) {
			return
		}
	}
}

// csvMistake notes an error of encoding/csv, and reports whether to go on.
func (r *reader) csvMistake(err error) bool {
	var parse *csv.ParseError
	switch {
	case !errors.As(err, &parse):
		return r.mistake(1, "%v", err)
	case parse.StartLine < parse.Line:
		return r.mistake(parse.StartLine, "in line %d, column %d: %v", parse.Line, parse.Column, parse.Err)
	}
	return r.mistake(parse.Line, "column %d: %v", parse.Column, parse.Err)
}

func (r *reader) header(names []string) {
	if len(names) > maxColumns {
		r.mistake(1, "names %d columns; expected at most %d", len(names), maxColumns)
		return
	}
	for i, name := range names {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			r.mistake(1, "column %d has no name", i+1)
		case r.rows.index[name] != nil:
			r.mistake(1, "column %d has the name %q of another one", i+1, name)
		default:
			r.add(name)
		}
	}
}

func (r *reader) add(name string) *column {
	c := &column{name: name}
	r.rows.columns = append(r.rows.columns, c)
	r.rows.index[name] = c
	return c
}

// record adds a row, unless the file is too large.
func (r *reader) record(line int, values []string) bool {
	for i, c := range r.rows.columns {
		if !r.room(line, values[i]) {
			return false
		}
		c.values = append(c.values, values[i])
	}
	r.rows.lines = append(r.rows.lines, line)
	return true
}

// room accounts for a cell.
func (r *reader) room(line int, value string) bool {
	r.cells++
	r.text += len(value)
	switch {
	case r.cells > maxCells:
		r.mistake(line, "there are more than %d values", maxCells)
		return false
	case r.text > maxTextBytes:
		r.mistake(line, "the values are longer than %d MiB in all", maxTextBytes>>20)
		return false
	}
	return true
}

func (r *reader) jsonl(content []byte) {
	for number := 1; len(content) > 0; number++ {
		var line []byte
		line, content, _ = bytes.Cut(content, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		o := object{values: map[string]string{}}
		err := o.flatten("", line, 0)
		if err != nil && !r.mistake(number, "%v", err) {
			return
		}
		if r.mistakes == nil && !r.object(number, o) {
			return
		}
	}
}

// object adds a row, unless the file is too large.
func (r *reader) object(line int, o object) bool {
	row := len(r.rows.lines)
	for _, name := range o.names {
		c := r.rows.index[name]
		if c == nil {
			if len(r.rows.columns) == maxColumns {
				r.mistake(line, "there are more than %d names", maxColumns)
				return false
			}
			c = r.add(name)
			for range row {
				if !r.absent(line, c) {
					return false
				}
			}
		}
		if !r.room(line, o.values[name]) {
			return false
		}
		c.values = append(c.values, o.values[name])
	}
	for _, c := range r.rows.columns {
		if len(c.values) == row && !r.absent(line, c) {
			return false
		}
	}
	r.rows.lines = append(r.rows.lines, line)
	return true
}

// absent adds a cell without a value.
func (r *reader) absent(line int, c *column) bool {
	if len(c.absent) < maxAbsent {
		c.absent = append(c.absent, len(c.values))
	}
	c.values = append(c.values, "")
	return r.room(line, "")
}

// An object is a line of JSONL: its values by their paths.
type object struct {
	names  []string
	values map[string]string
}

func (o *object) flatten(prefix string, text []byte, depth int) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return notAnObject(err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		path, value := prefix+name, members[name]
		if _, ok := o.values[path]; ok {
			return fmt.Errorf("there are two values of the name %q", path)
		}
		o.names = append(o.names, path)
		o.values[path] = string(value)
		switch {
		case value[0] == '"':
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
			o.values[path] = text
		case value[0] == '{' && depth < maxDepth:
			if err := o.flatten(path+".", value, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func notAnObject(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("is not JSON at byte %d: %w", syntax.Offset, syntax)
	}
	return errors.New("is not a JSON object")
}
