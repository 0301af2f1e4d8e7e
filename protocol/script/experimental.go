package script

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/grafana/sobek"
)

// A scriptFile is what open of k6/experimental/fs gives a virtual user. All of them share the content.
type scriptFile struct {
	path string
	*strings.Reader
}

// Modes of seek, by their names.
var seekModes = map[string]any{"Start": io.SeekStart, "Current": io.SeekCurrent, "End": io.SeekEnd}

// fsModule is "k6/experimental/fs".
func (v *vu) fsModule() exports {
	return exports{
		"open": func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value { return v.openFile(call.Argument(0).String()) })
		},
		"SeekMode": seekModes,
	}
}

// openFile opens a file by a path from the script's folder, whoever calls.
func (v *vu) openFile(path string) sobek.Value {
	if v.started {
		v.throw("open of k6/experimental/fs works in the outermost part of the script only")
	}
	at := v.target.bundle.located(path, "")
	content, known := v.target.files.Load(at)
	if !known {
		read, err := v.target.bundle.read(path, "")
		if err != nil {
			v.throw("open: %v", err)
		}
		content, _ = v.target.files.LoadOrStore(at, string(read))
	}
	f := &scriptFile{at, strings.NewReader(content.(string))}
	later := func(do func(sobek.FunctionCall) any) func(sobek.FunctionCall) sobek.Value {
		return func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value { return v.rt.ToValue(do(call)) })
		}
	}
	o := v.object(exports{
		"path": at,
		"stat": later(func(sobek.FunctionCall) any {
			return v.object(exports{"name": filepath.Base(at), "size": f.Size()})
		}),
		"read": later(func(call sobek.FunctionCall) any { return v.readInto(f, call.Argument(0)) }),
		"seek": later(func(call sobek.FunctionCall) any { return v.seek(f, call) }),
	})
	v.hide(o, f)
	return o
}

// readInto fills a Uint8Array, and returns how many bytes there were; null: the file is over.
func (v *vu) readInto(f *scriptFile, into sobek.Value) any {
	bytes, ok := v.view(into)
	if !ok {
		v.throw("read fills a Uint8Array, not %s", harmless(into))
	}
	n, err := f.Read(bytes)
	if errors.Is(err, io.EOF) {
		return sobek.Null()
	}
	return n
}

func (v *vu) seek(f *scriptFile, call sobek.FunctionCall) any {
	offset, whence := call.Argument(0).ToInteger(), int(call.Argument(1).ToInteger())
	if whence == io.SeekEnd {
		offset-- // as in k6, the end is the last byte
	}
	was, _ := f.Reader.Seek(0, io.SeekCurrent)
	at, err := f.Reader.Seek(offset, whence)
	if err != nil || at > f.Size() {
		_, _ = f.Reader.Seek(was, io.SeekStart)
		v.throw("seek to %s from %s: expected a place within the %d bytes, from SeekMode.Start, Current or End", call.Argument(0), call.Argument(1), f.Size())
	}
	return at
}

// csvModule is "k6/experimental/csv".
func (v *vu) csvModule() exports {
	return exports{
		"parse": func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value { return v.parseCSV(call.Argument(0), call.Argument(1)) })
		},
		"Parser": v.newCSVParser,
	}
}

// A csvReader reads the rows that options ask for.
type csvReader struct {
	*csv.Reader
	line, to int64    // the next one, and the last; to 0: none is
	names    []string // of columns; nil: rows are arrays
}

// csvReader reads the options of a parser.
func (v *vu) csvReader(file, options sobek.Value) *csvReader {
	f, ok := hiddenIn[*scriptFile](file)
	if !ok {
		v.throw("csv reads what open of k6/experimental/fs opened, not %s", harmless(file))
	}
	r := &csvReader{Reader: csv.NewReader(f)}
	var from int64
	var skip, objects bool
	if isObject(options) {
		o := options.ToObject(v.rt)
		get := func(name string, read func(sobek.Value)) {
			if value := o.Get(name); isObject(value) {
				read(value)
			}
		}
		get("delimiter", func(value sobek.Value) {
			if r.Comma, _ = utf8.DecodeRuneInString(value.String()); utf8.RuneCountInString(value.String()) != 1 {
				v.throw("delimiter is %q; expected one character", value.String())
			}
		})
		get("skipFirstLine", func(value sobek.Value) { skip = value.ToBoolean() })
		get("asObjects", func(value sobek.Value) { objects = value.ToBoolean() })
		get("fromLine", func(value sobek.Value) { from = value.ToInteger() })
		get("toLine", func(value sobek.Value) { r.to = value.ToInteger() })
	}
	switch {
	case from < 0 || r.to < 0 || r.to > 0 && from >= r.to:
		v.throw("fromLine is %d and toLine %d; expected 0 or more, and the first before the second", from, r.to)
	case objects && (skip || from > 0):
		v.throw("asObjects takes names from the first line: use it without skipFirstLine and fromLine")
	case skip && from == 0:
		from = 1
	}
	var err error
	if objects {
		r.names, err = r.Read()
		r.line++
	}
	for ; r.line < from && err == nil; r.line++ {
		_, err = r.Read()
	}
	if err != nil {
		v.throw("%s has no line %d: %v", f.path, r.line, err)
	}
	return r
}

// row is the next one: an array of texts, or an object of them; nil: all have been read.
func (r *csvReader) row() (any, error) {
	if r.to > 0 && r.line > r.to {
		return nil, nil
	}
	fields, err := r.Read()
	r.line++
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	case r.names == nil:
		return fields, nil
	case len(fields) != len(r.names):
		return nil, fmt.Errorf("line %d has %d fields, and the first has %d names", r.line, len(fields), len(r.names))
	}
	named := map[string]string{}
	for i, name := range r.names {
		named[name] = fields[i]
	}
	return named, nil
}

// parseCSV reads all rows into an array that cannot be changed.
func (v *vu) parseCSV(file, options sobek.Value) sobek.Value {
	r := v.csvReader(file, options)
	var rows []string
	for {
		row, err := r.row()
		if err != nil {
			v.throw("csv: %v", err)
		}
		if row == nil {
			return v.rt.NewDynamicArray(&sharedArray{v: v, elements: rows, last: -1})
		}
		rows = append(rows, asJSON(row))
	}
}

// asJSON is a row as JSON.
func asJSON(row any) string {
	text, _ := json.Marshal(row) // texts always can be
	return string(text)
}

// newCSVParser makes a Parser, whose next gives one row after another.
func (v *vu) newCSVParser(call sobek.ConstructorCall) *sobek.Object {
	r := v.csvReader(call.Argument(0), call.Argument(1))
	_ = call.This.Set("next", func(sobek.FunctionCall) sobek.Value {
		return v.promise(func() sobek.Value {
			row, err := r.row()
			if err != nil {
				v.throw("csv: %v", err)
			}
			text := asJSON(row)
			if row == nil {
				text = "[]"
			}
			return v.object(exports{"done": row == nil, "value": orThrow(v.parse(text))})
		})
	})
	return nil
}
