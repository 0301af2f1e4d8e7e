package setting

import (
	"cmp"
	"fmt"
	"reflect"
)

// bounds are the ends of what is allowed, as text; "": no end.
type bounds struct{ min, max, above, below string }

// readBounds reads the tags and panics on an end that is not a value.
func (s Setting) readBounds(tag reflect.StructTag) bounds {
	b := bounds{tag.Get("min"), tag.Get("max"), tag.Get("above"), tag.Get("below")}
	for _, end := range []string{b.min, b.max, b.above, b.below} {
		if end != "" {
			s.end(end)
		}
	}
	return b
}

// end reads an end of the bounds.
func (s Setting) end(text string) reflect.Value {
	v := reflect.New(s.element()).Elem()
	if err := s.read(v, text, InFile); err != nil {
		panic(fmt.Sprintf("setting: field %s: the bound %q: %v", s.field.Name, text, err))
	}
	return reflect.Indirect(v)
}

// within reports whether the value is within the bounds.
func (s Setting) within(v reflect.Value) bool {
	b := s.bounds
	v = reflect.Indirect(v)
	return (b.min == "" || compare(v, s.end(b.min)) >= 0) && (b.max == "" || compare(v, s.end(b.max)) <= 0) &&
		(b.above == "" || compare(v, s.end(b.above)) > 0) && (b.below == "" || compare(v, s.end(b.below)) < 0)
}

// compare is negative where a is less than b; NaN is less than anything.
func compare(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return cmp.Compare(a.Float(), b.Float())
}

// Allowed says what values can be, "" where anything can.
func (s Setting) Allowed() string {
	b := s.bounds
	if values := s.Values(); len(values) > 0 {
		return Or(values)
	}
	switch {
	case b.min != "" && b.max != "":
		return b.min + " to " + b.max
	case b.min != "" && b.below != "":
		return "at least " + b.min + " and less than " + b.below
	case b.above != "" && b.max != "":
		return "more than " + b.above + " and at most " + b.max
	case b.above != "" && b.below != "":
		return "more than " + b.above + " and less than " + b.below
	case b.min != "":
		return b.min + " or more"
	case b.above != "":
		return "more than " + b.above
	case b.max != "":
		return "at most " + b.max
	case b.below != "":
		return "less than " + b.below
	}
	return s.form()
}

// form says how values of the type are written.
func (s Setting) form() string {
	t := s.element()
	switch {
	case isDuration(t) && s.unit == "seconds":
		return "seconds, or a duration with a unit, as in 0.5, 250ms or 1m30s"
	case isDuration(t):
		return "a duration with a unit, as in 250ms, 2s or 1m30s"
	case s.unit == "percent":
		return "a percentage, as in 2%"
	case s.unit == "bytes":
		return "a number of bytes, as in 500, 64kB or 1MiB"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "a whole number"
	case t.Kind() == reflect.Uint64:
		return "a whole number, 0 or more"
	}
	return ""
}
