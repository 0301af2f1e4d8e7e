// Package data fills requests with rows of test data and generated values.
//
// Rows are read once from a CSV or JSONL file. A Source hands them to the
// VUs, and each has a Cursor; a Template is text with placeholders such
// as {{name}}, {{user.id}} or {{uuid}}, which it fills from the row at the
// cursor without allocating.
package data

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"contend/setting"
)

// Limits of a file. A cell is one value; a value that is JSON text counts as a
// cell in addition to the cells inside it, and its text counts again.
const (
	maxFileBytes = 64 << 20
	maxCells     = 4 << 20
	maxTextBytes = 256 << 20
	maxColumns   = 1000
)

// Rows are the rows of a file. They are immutable and safe for concurrent use.
type Rows struct {
	name    string
	lines   []int // of the rows in the file, from 1
	columns []*column
	index   map[string]*column
}

// A column holds a value of each row.
type column struct {
	name   string
	values []string
	absent []int // the first rows without a value, from 0
}

// ReadRows reads a file whose name ends in .csv, .jsonl or .ndjson. The error
// names every mistake with its line, the first 20 if there are more.
//
// The first line of CSV (RFC 4180, separated by commas) names the columns.
// Every line of JSONL is an object; values in nested objects are named by their
// path: user.id. Text is taken without quotes, and everything else as JSON.
// Blank lines and a byte order mark are skipped, and lines may end in CRLF.
// Files are UTF-8 and at most 64 MiB long.
func ReadRows(path string) (*Rows, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, setting.CannotRead(path, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, setting.CannotRead(path, err)
	}
	return ParseRows(path, content)
}

// ParseRows reads the content of a file of that name.
func ParseRows(name string, content []byte) (*Rows, error) {
	r := &reader{rows: &Rows{name: name, index: map[string]*column{}}}
	content, err := setting.Text(content)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	ending := strings.ToLower(filepath.Ext(name))
	switch {
	case len(content) > maxFileBytes:
		return nil, fmt.Errorf("%s is longer than %d MiB", name, maxFileBytes>>20)
	case !utf8.Valid(content):
		r.mistake(firstInvalid(content), "is not UTF-8")
	case ending == ".csv":
		r.csv(content)
	case ending == ".jsonl" || ending == ".ndjson":
		r.jsonl(content)
	default:
		return nil, fmt.Errorf("%s: ending is %q; expected .csv, .jsonl, .ndjson", name, ending)
	}
	if r.mistakes == nil && len(r.rows.lines) == 0 {
		r.mistakes = []error{fmt.Errorf("%s has no rows", name)}
	}
	if r.mistakes != nil {
		return nil, errors.Join(r.mistakes...)
	}
	return r.rows, nil
}

// Len returns the number of rows; nil has none.
func (r *Rows) Len() int {
	if r == nil {
		return 0
	}
	return len(r.lines)
}

// Names returns the names of the columns in the order of the file.
func (r *Rows) Names() []string {
	if r == nil {
		return nil
	}
	names := make([]string, len(r.columns))
	for i, c := range r.columns {
		names[i] = c.name
	}
	return names
}

// column returns the column of a name, or nil.
func (r *Rows) column(name string) *column {
	if r == nil {
		return nil
	}
	return r.index[name]
}

// firstInvalid returns the line of the first byte that is not UTF-8.
func firstInvalid(content []byte) int {
	line := 1
	for len(content) > 0 {
		c, size := utf8.DecodeRune(content)
		if c == utf8.RuneError && size == 1 {
			return line
		}
		if c == '\n' {
			line++
		}
		content = content[size:]
	}
	return line
}
