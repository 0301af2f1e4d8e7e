// Package setting derives flags, file keys, validation and help from struct tags.
// A setting is a field of a struct that is executed. Its tags state once its name
// in files and on the command line, which values are allowed, and one line of help.
// The decoding of files, typed mistakes, shell completion and reference tables are
// derived from them too.
//
// The tags of a field:
//
//	json     its name in plans and messages; a unit such as _ns is left out
//	file     its path in an experiment file, as in "compare.rounds", and after a
//	         comma the path whose value it takes where that one is not given
//	flag     its flag, and after a comma its letter, as in "duration,d"; "-": no
//	         flag. Without the tag it is the last name of the path, with hyphens
//	alias    another name of the flag and its letter, which help does not show
//	words    one line of words, in which *this* names the value
//	default  the value unless one is given, as it is written in a file
//	required an example of a value, which a file must give
//	min, max, above, below   bounds, as values are written
//	oneof    the texts that are allowed, separated by commas
//	unit     "percent": a share, written as in 2%; "bytes": as in 64kB
//	list     "repeat": a flag takes one element at a time; else they are joined by commas
//
// A field with neither file nor flag cannot be given, but its bounds are checked. A
// field without any of these tags is not a setting.
//
// A file or a command line gives Values by name, each with its place. Layers are
// merged as Values and filled into the structs at the end, so in a struct zero means
// zero.
package setting

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// A Setting is one field of a struct.
type Setting struct {
	// Name is what plans and messages call it.
	Name string
	// Path is its path in a file, "" without one, and Fallback the path whose value
	// it takes if that one is not given, "" without one.
	Path, Fallback string
	// Flag is its flag without the hyphens, "" for none; Short its letter. Alias and
	// AliasShort are its hidden names.
	Flag, Short, Alias, AliasShort string
	// Words say what it is; Argument names its value, as in "number".
	Words, Argument string
	// Default is the value unless one is given, as text; "" is the zero value.
	Default string
	// Example is set for what a file must give.
	Example string
	// Struct is the struct that has the field.
	Struct reflect.Type

	field  reflect.StructField
	bounds bounds
	oneof  []string
	unit   string
	repeat bool
}

// Of returns the settings of structs, or of pointers to them, in the order of
// their fields and with those of embedded structs. It panics on a tag that
// cannot be read.
func Of(structs ...any) []Setting {
	var all []Setting
	for _, s := range structs {
		all = append(all, ofType(structType(s))...)
	}
	return all
}

// known has the settings of the types whose tags have been read: reading them takes
// a tenth of a millisecond, and a start asks for those of a type again and again.
var known sync.Map // reflect.Type → []Setting

func ofType(t reflect.Type) []Setting {
	if all, ok := known.Load(t); ok {
		return all.([]Setting)
	}
	var all []Setting
	for _, f := range reflect.VisibleFields(t) {
		if one, ok := settingOf(f); ok {
			one.Struct = t
			if n := len(f.Index) - 1; n > 0 {
				one.Struct = structOf(t.FieldByIndex(f.Index[:n]).Type)
			}
			all = append(all, one)
		}
	}
	known.Store(t, all)
	return all
}

// Pick returns the settings with these names, in the order of the names. It
// panics if a name is unknown: names are literals.
func Pick(list []Setting, names ...string) []Setting {
	picked := make([]Setting, len(names))
	for i, name := range names {
		found := false
		for _, s := range list {
			if s.Name == name {
				picked[i], found = s, true
			}
		}
		if !found {
			panic("setting: there is no setting " + name)
		}
	}
	return picked
}

// At returns the setting of a field, both by their addresses, as in At(&plan,
// &plan.Think). It panics if the field is not a setting.
func At(structure, field any) Setting {
	v, at := reflect.ValueOf(structure).Elem(), reflect.ValueOf(field).Pointer()
	for _, s := range Of(structure) {
		if f := v.FieldByIndex(s.field.Index); f.Addr().Pointer() == at && f.Addr().Type() == reflect.TypeOf(field) {
			return s
		}
	}
	panic(fmt.Sprintf("setting: no setting of %T is a %T at this address", structure, field))
}

func structType(s any) reflect.Type { return structOf(reflect.TypeOf(s)) }

// structOf returns the struct that the type is, or points to.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func settingOf(f reflect.StructField) (Setting, bool) {
	if !f.IsExported() || f.Anonymous {
		return Setting{}, false
	}
	tag := f.Tag
	s := Setting{Default: tag.Get("default"), Example: tag.Get("required"),
		field: f, unit: tag.Get("unit"), repeat: tag.Get("list") == "repeat"}
	if list := tag.Get("oneof"); list != "" {
		s.oneof = strings.Split(list, ",")
	}
	s.Path, s.Fallback, _ = strings.Cut(tag.Get("file"), ",")
	s.Alias, s.AliasShort, _ = strings.Cut(tag.Get("alias"), ",")
	last := s.Path[strings.LastIndexByte(s.Path, '.')+1:]
	s.Flag = strings.ReplaceAll(last, "_", "-")
	if flag, ok := tag.Lookup("flag"); ok {
		s.Flag, s.Short, _ = strings.Cut(flag, ",")
	}
	if s.Flag == "-" {
		s.Flag = ""
	}
	s.Name, _, _ = strings.Cut(tag.Get("json"), ",")
	for _, unit := range []string{"_ns", "_per_s", "_bytes"} {
		s.Name = strings.TrimSuffix(s.Name, unit)
	}
	if s.Name == "" || s.Name == "-" {
		s.Name = last
	}
	if s.Name == "" {
		s.Name = s.Flag
	}
	if s.Name == "" {
		s.Name = f.Name
	}
	s.Words, s.Argument = wordsOf(tag.Get("words"))
	s.bounds = s.readBounds(tag)
	return s, s.Path != "" || s.Flag != "" || s.bounds != bounds{} || s.oneof != nil
}

// wordsOf takes the stars from around the name of the value.
func wordsOf(text string) (words, argument string) {
	before, rest, ok := strings.Cut(text, "*")
	name, after, closed := strings.Cut(rest, "*")
	if !ok || !closed {
		return text, ""
	}
	return before + name + after, name
}

// List reports whether the setting takes a list of values.
func (s Setting) List() bool {
	return s.field.Type.Kind() == reflect.Slice && !isText(s.field.Type)
}

// Fields returns the settings of the elements if these are structs, else nil.
func (s Setting) Fields() []Setting {
	if t := s.field.Type; t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && !isText(t.Elem()) {
		return Of(reflect.New(t.Elem()).Interface())
	}
	return nil
}

// Bool reports whether the setting is true or false.
func (s Setting) Bool() bool { return s.element().Kind() == reflect.Bool }

// Values returns the texts that are allowed for the setting, none if they
// cannot be listed.
func (s Setting) Values() []string {
	if len(s.oneof) > 0 {
		return s.oneof
	}
	if lister, ok := reflect.New(s.element()).Interface().(interface{ Values() []string }); ok {
		return lister.Values()
	}
	if s.Bool() {
		return []string{"true", "false"}
	}
	return nil
}

// Usage is the line of help, in which back quotes name the value.
func (s Setting) Usage() string {
	if s.Argument == "" {
		return s.Words
	}
	return strings.Replace(s.Words, s.Argument, "`"+s.Argument+"`", 1)
}

// element is the type of one value.
func (s Setting) element() reflect.Type {
	if s.List() {
		return s.field.Type.Elem()
	}
	return s.field.Type
}

// isText reports whether values of the type read themselves.
func isText(t reflect.Type) bool {
	unmarshaler := reflect.TypeFor[encoding.TextUnmarshaler]()
	return t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler)
}

func isDuration(t reflect.Type) bool { return t == reflect.TypeFor[time.Duration]() }
