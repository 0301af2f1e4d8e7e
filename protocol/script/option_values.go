package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// number reads one that may be text, as in k6.
func number[T int | int64](field func(*Options) *T) reader {
	return func(o *Options, raw json.RawMessage) error {
		n := amount(*field(o))
		if err := decode(raw, &n); err != nil {
			return err
		}
		if *field(o) = T(n); amount(*field(o)) != n {
			return fmt.Errorf("is %s; expected a whole number", raw)
		}
		return nil
	}
}

// An amount is a number, or text that is one; empty text says nothing.
type amount float64

// UnmarshalJSON reads it.
func (a *amount) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	if text == "" || text == "null" {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return &json.UnmarshalTypeError{Value: string(raw), Type: reflect.TypeFor[amount]()} // to which the field is added
	}
	*a = amount(n)
	return nil
}

// kindOf says what a value of Go is in JSON.
func kindOf(t reflect.Type) string {
	if t.Kind() == reflect.Float64 {
		return "a number"
	}
	return "a value of type " + t.String()
}

// readPaused warns: a run here begins at once.
func (o *Options) readPaused(raw json.RawMessage) error {
	var paused bool
	err := decode(raw, &paused)
	if paused {
		o.warnings = append(o.warnings, "options.paused is ignored: the run begins at once")
	}
	return err
}

// readDebug warns: requests are not printed here.
func (o *Options) readDebug(raw json.RawMessage) error {
	if how := string(raw); how != `""` && how != "false" {
		o.warnings = append(o.warnings, "options.httpDebug is ignored: requests are not printed")
	}
	return nil
}

// optionNamed is the option that a script means, whatever the case of its letters.
func optionNamed(as string) string {
	for _, names := range [][]string{slices.Collect(maps.Keys(optionReaders)), idle, segments, {ofThresholds}} {
		if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, as) }); i >= 0 {
			return names[i]
		}
	}
	return as
}
