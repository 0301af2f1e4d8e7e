package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"contend/systems/uplink/lorawan"
)

// The types of a problem.
const (
	typeMissing = "value_error.missing"
	typeType    = "type_error"
	typeValue   = "value_error"
)

// maxProblems is how many problems an answer names.
const maxProblems = 20

// problems collects what is wrong with the input, up to maxProblems.
type problems []problem

func (p *problems) add(loc []any, kind, format string, args ...any) {
	if !p.full() {
		*p = append(*p, problem{loc, fmt.Sprintf(format, args...), kind})
	}
}

func (p *problems) full() bool { return len(*p) >= maxProblems }

// failure returns nil without problems.
func (p *problems) failure(where string) error {
	if len(*p) == 0 {
		return nil
	}
	return invalid(where, *p)
}

// readBody reads a body of at most limit bytes, which has bodyTimeout to arrive.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *failure) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, unknown(http.StatusRequestTimeout, "the body did not arrive within %s", bodyTimeout)
	}
	if err != nil {
		return nil, unknown(http.StatusBadRequest, "the body cannot be read")
	}
	return body, nil
}

// An object is a JSON object of the input. Keys that nobody asks for are ignored;
// of a key that comes twice the last counts.
type object struct {
	values map[string]json.RawMessage // nil: not an object, for a reason in bad
	loc    []any
	bad    *problems
}

// maxKeys is how many different keys an object may have. No call has more than 4.
const maxKeys = 32

// parseObject reads a body. What is wrong with it is added to bad.
func parseObject(body []byte, bad *problems) *object {
	o := &object{loc: []any{"body"}, bad: bad}
	if !utf8.Valid(body) {
		bad.add(o.loc, typeValue, "not UTF-8")
		return o
	}
	err := json.Unmarshal(body, new(struct{})) // for the syntax; keeps nothing
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !ok {
		bad.add(o.loc, typeValue, "not JSON: %s", err)
		return o
	}
	o.read(body)
	return o
}

// read reads what is known to be JSON.
func (o *object) read(data []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, _ := dec.Token(); open != json.Delim('{') {
		o.bad.add(o.loc, typeType, "expected an object")
		return
	}
	values := make(map[string]json.RawMessage)
	for dec.More() {
		key, _ := dec.Token()
		var raw json.RawMessage
		dec.Decode(&raw)
		values[key.(string)] = raw
		if len(values) > maxKeys {
			o.bad.add(o.loc, typeValue, "more than %d keys", maxKeys)
			return
		}
	}
	o.values = values
}

// object returns an object inside the object.
func (o *object) object(key string, need need) *object {
	inner := &object{loc: o.at(key), bad: o.bad}
	if raw, ok := o.value(key, need); ok {
		inner.read(raw)
	}
	return inner
}

// A need says whether a key must be there.
type need uint8

const (
	required need = iota
	optional      // null is as good as absent
	notNull       // may be absent, but null is wrong
)

func (o *object) at(key ...any) []any { return slices.Concat(o.loc, key) }

func (o *object) failure() error { return o.bad.failure("body") }

// value returns the raw value of a key; false: it is absent, which may be a
// problem.
func (o *object) value(key string, need need) (json.RawMessage, bool) {
	raw, ok := o.values[key]
	isNull := string(raw) == "null"
	switch {
	case ok && !isNull:
		return raw, true
	case !ok && need == required && o.values != nil:
		o.bad.add(o.at(key), typeMissing, "missing")
	case isNull && need != optional:
		o.bad.add(o.at(key), typeType, "must not be null")
	}
	return nil, false
}

// text returns a string of at most limit runes or bytes, as counted by size.
func (o *object) text(key string, need need, limit int, size func(string) int) *string {
	raw, ok := o.value(key, need)
	if !ok {
		return nil
	}
	var s string
	switch {
	case json.Unmarshal(raw, &s) != nil:
		o.bad.add(o.at(key), typeType, "expected a string")
	case size(s) > limit:
		o.bad.add(o.at(key), typeValue, "longer than %d", limit)
	case strings.ContainsRune(s, 0):
		o.bad.add(o.at(key), typeValue, `must not contain \u0000`) // PostgreSQL stores none
	default:
		return &s
	}
	return nil
}

func (o *object) eui(key string, need need) *lorawan.EUI {
	return hex(o, key, need, lorawan.ParseEUI)
}

func (o *object) addr(key string, need need) *lorawan.DevAddr {
	return hex(o, key, need, lorawan.ParseDevAddr)
}

func hex[T any](o *object, key string, need need, parse func(string) (T, error)) *T {
	raw, ok := o.value(key, need)
	if !ok {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		o.bad.add(o.at(key), typeType, "expected a string of hexadecimal digits")
		return nil
	}
	v, err := parse(text)
	if err != nil {
		o.bad.add(o.at(key), typeValue, "%s", plain(err))
		return nil
	}
	return &v
}

// plain returns the text of an error of package lorawan without the prefix.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "lorawan: ") }

// hexList reads an array. Its values are read one by one: a body of 4 MiB must
// not become a million of small objects.
func hexList[T any](o *object, key string, need need, parse func(string) (T, error)) []T {
	raw, ok := o.value(key, need)
	if !ok {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, _ := dec.Token(); open != json.Delim('[') {
		o.bad.add(o.at(key), typeType, "expected an array of strings")
		return nil
	}
	var list []T
	for dec.More() && !o.bad.full() {
		item, _ := dec.Token()
		text, ok := item.(string)
		if !ok {
			o.bad.add(o.at(key, len(list)), typeType, "expected an array of strings")
			return nil
		}
		v, err := parse(text)
		if err != nil {
			o.bad.add(o.at(key, len(list)), typeValue, "%s", plain(err))
		}
		list = append(list, v)
	}
	return list
}

// parameters yields the keys and values of a query, decoded where they can be.
// net/url does not serve: it reads 10 000 parameters at most.
func parameters(query string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for part := range strings.SplitSeq(query, "&") {
			key, value, _ := strings.Cut(part, "=")
			if part != "" && !yield(unescape(key), unescape(value)) {
				return
			}
		}
	}
}

func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}
