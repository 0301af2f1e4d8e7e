package setting

import (
	"reflect"
	"slices"
	"strings"
)

// A Flag is a setting on a command line. It has the methods of a value of the
// flag packages. Its Set notes what is given and never fails: Fill finds every
// mistake at once.
type Flag struct {
	Setting
	given Values
}

// Flags returns those of the settings that have a flag, the first where several
// have the same. What the command line gives is noted in given.
func Flags(list []Setting, given Values) []Flag {
	flags := make([]Flag, 0, len(list))
	known := map[string]bool{"": true}
	for _, s := range list {
		if known[s.Flag] {
			continue
		}
		known[s.Flag] = true
		flags = append(flags, Flag{s, given})
	}
	return flags
}

// Set notes a text. The elements of a list that is given repeatedly add up.
func (f Flag) Set(text string) error {
	texts := []string{text}
	if f.List() && !f.repeat {
		texts = strings.Split(text, ",")
	}
	if f.List() {
		texts = append(slices.Clone(f.given[f.Setting.Flag].Texts), texts...)
	}
	f.given[f.Setting.Flag] = Value{Texts: texts}
	return nil
}

// String returns what was given, or the default.
func (f Flag) String() string {
	if f.given == nil {
		return ""
	}
	if given, ok := f.given[f.Setting.Flag]; ok {
		return strings.Join(given.Texts, ",")
	}
	return f.Default
}

// Type says what the value is where the words do not name it.
func (f Flag) Type() string {
	kind := f.element()
	name := "string"
	switch {
	case f.Bool():
		return "bool"
	case isDuration(kind):
		name = "duration"
	case f.unit == "percent":
		name = "percent"
	case f.unit == "bytes":
		name = "bytes"
	case kind.Kind() == reflect.Float64:
		name = "float"
	case !isText(kind) && f.form() != "":
		name = "int"
	}
	if f.List() {
		name += "s"
	}
	return name
}
