package setting

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A Form is how values are named and written.
type Form int

// The forms. On the command line a share may be written without its %.
const (
	InFile Form = iota + 1
	InFlags
)

// errForm says that a text is not written as values of the type are.
var errForm = errors.New("is not written as its values are")

// read turns a text into an element.
func (s Setting) read(into reflect.Value, text string, form Form) error {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	if u, ok := into.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	var err error
	switch kind := into.Kind(); {
	case isDuration(into.Type()):
		if _, bare := strconv.ParseFloat(text, 64); bare == nil && s.unit == "seconds" && form == InFlags {
			text += "s"
		}
		var d time.Duration
		d, err = time.ParseDuration(text)
		into.SetInt(int64(d))
	case s.unit == "percent":
		return readShare(into, text, form)
	case s.unit == "bytes":
		return readBytes(into, text)
	case kind == reflect.Bool:
		var is bool
		is, err = strconv.ParseBool(text)
		into.SetBool(is)
		if form == InFile && text != strconv.FormatBool(is) {
			err = errForm
		}
	case into.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 10, into.Type().Bits())
		into.SetInt(n)
	case into.CanUint():
		var n uint64
		n, err = strconv.ParseUint(text, 10, into.Type().Bits())
		into.SetUint(n)
	case into.CanFloat():
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		into.SetFloat(x)
	case kind == reflect.String:
		into.SetString(text)
	default:
		panic(fmt.Sprintf("setting: field %s: values of type %v cannot be read", s.field.Name, into.Type()))
	}
	if err != nil {
		return errForm
	}
	return nil
}

// readShare reads the form 2%.
func readShare(into reflect.Value, text string, form Form) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !percent && form != InFlags {
		return errForm
	}
	into.SetFloat(x / 100)
	return nil
}

// sizes are the units of sizes; a number alone is one of bytes.
var sizes = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1}, {"", 1}}

func readBytes(into reflect.Value, text string) error {
	x, ok := Bytes(text)
	if !ok || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return errForm
	}
	into.SetInt(int64(x))
	return nil
}

// Bytes reads an amount of bytes, such as 64kB or 64 MiB.
func Bytes(text string) (x float64, ok bool) {
	for _, size := range sizes {
		if number, of := strings.CutSuffix(text, size.name); of {
			x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			return x * size.bytes, err == nil
		}
	}
	return 0, false
}

// Text returns a value of the setting as it is written in a file, and the
// elements of a list joined by commas.
func (s Setting) Text(value any) string { return s.text(reflect.ValueOf(value)) }

func (s Setting) text(v reflect.Value) string {
	if v.Kind() == reflect.Slice && s.List() {
		texts := make([]string, v.Len())
		for i := range texts {
			texts[i] = s.text(v.Index(i))
		}
		return strings.Join(texts, ",")
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return ""
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, _ := m.MarshalText()
		return string(text)
	}
	switch v = reflect.Indirect(v); {
	case isDuration(v.Type()):
		return Duration(time.Duration(v.Int()))
	case s.unit == "percent":
		return strconv.FormatFloat(100*v.Float(), 'g', 12, 64) + "%"
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// Duration is a length of time as it is typed: without the zeros of 720h0m0s.
func Duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
