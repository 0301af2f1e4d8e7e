package setting

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Values are what a file or a command line gives: values by the paths or the
// flags of settings. Other settings are not given.
type Values map[string]Value

// A Value is what was given for one setting, as text.
type Value struct {
	Texts []string // the elements of a list, or one
	// Items are given instead of Texts where the elements are structs with settings
	// of their own.
	Items []Values
	// Places are the places of the texts in a file, and Path what it calls the
	// field there, as in profiles.quick.load.vus; none for flags.
	Places []Place
	Path   string
}

// Over returns the values over those below, which they hide.
func (v Values) Over(below Values) Values {
	merged := maps.Clone(below)
	if merged == nil {
		merged = Values{}
	}
	maps.Copy(merged, v)
	return merged
}

// Only returns the values of these settings.
func (v Values) Only(list []Setting, form Form) Values {
	only := maps.Clone(v)
	for _, name := range Foreign(list, v, form) {
		delete(only, name)
	}
	return only
}

// Name is what a form calls the setting, "" if it has no name for it.
func (f Form) Name(s Setting) string {
	if f == InFlags {
		return s.Flag
	}
	return s.Path
}

// Of returns what is given for a setting.
func (v Values) Of(s Setting, form Form) (Value, bool) {
	names := []string{form.Name(s)}
	if form == InFile {
		names = append(names, s.Fallback)
	}
	for _, name := range names {
		if value, ok := v[name]; ok && name != "" {
			return value, true
		}
	}
	return Value{}, false
}

// Fill sets the settings of the struct to their defaults and then to the values
// that are given, and returns every mistake in these. A value that is not allowed
// is set, too, so that Check finds it again; one that cannot be read is not.
// Values of other structs are ignored.
func Fill(into any, given Values, form Form) error {
	v := reflect.ValueOf(into).Elem()
	var errs []error
	for _, s := range Of(into) {
		field := v.FieldByIndex(s.field.Index)
		s.fillDefault(field)
		one, ok := given.Of(s, form)
		if !ok {
			continue
		}
		read, err := s.Read(one, form)
		errs = append(errs, err)
		if read.IsValid() {
			field.Set(read)
		}
	}
	return errors.Join(errs...)
}

// Defaults sets the settings of the struct to their defaults.
func Defaults(into any) { _ = Fill(into, nil, InFile) }

func (s Setting) fillDefault(field reflect.Value) {
	field.SetZero()
	if s.Default == "" {
		return
	}
	texts := []string{s.Default}
	if s.List() {
		texts = strings.Split(s.Default, ",")
	}
	read, err := s.Read(Value{Texts: texts}, InFile)
	if err != nil {
		panic("setting: the default: " + err.Error())
	}
	field.Set(read)
}

// Read turns what was given into a value of the setting's type and returns every
// mistake in it. The value is not valid where a text cannot be read.
func (s Setting) Read(given Value, form Form) (reflect.Value, error) {
	field := reflect.New(s.field.Type).Elem()
	var errs []error
	readable := true
	note := func(i int, m *Mistake) {
		if m == nil {
			return
		}
		readable = readable && !m.Unreadable
		if s.List() {
			m.Index = i
		}
		m.At = given.place(i)
		errs = append(errs, m)
	}
	if given.Items != nil {
		return s.readItems(given, form)
	}
	if n := len(given.Texts); !s.List() && n != 1 && form == InFile {
		note(0, &Mistake{Setting: s, Index: -1, Problem: fmt.Sprintf("has %d values", n), Allowed: "one", Unreadable: true})
		return reflect.Value{}, errors.Join(errs...)
	}
	if s.List() {
		if len(given.Texts) == 0 && s.Default != "" { // without a default it overrides an outer layer with nothing
			m := s.Wrong("is empty; expected at least one value")
			m.Unreadable = true
			return reflect.Value{}, m
		}
		field.Set(reflect.MakeSlice(field.Type(), len(given.Texts), len(given.Texts)))
		for i, text := range given.Texts {
			m := s.readOne(field.Index(i), text, form)
			if m == nil {
				m = s.checkRepeated(field, i)
			}
			note(i, m)
		}
	} else {
		note(0, s.readOne(field, given.Texts[len(given.Texts)-1], form))
	}
	if !readable {
		field = reflect.Value{}
	}
	return field, errors.Join(errs...)
}

// readItems reads a list of structs.
func (s Setting) readItems(given Value, form Form) (reflect.Value, error) {
	if s.Fields() == nil {
		m := s.Wrong("is a list of mappings")
		m.Allowed, m.At = s.form(), given.place(0)
		return reflect.Value{}, m
	}
	list := reflect.MakeSlice(s.field.Type, len(given.Items), len(given.Items))
	var errs []error
	for i, item := range given.Items {
		into := list.Index(i).Addr().Interface()
		known := Of(into)
		found := Mistakes(Fill(into, item, form))
		for _, name := range Foreign(known, item, form) {
			found = append(found, Unknown(name, known, item, form))
		}
		for _, m := range found {
			m.In = fmt.Sprintf("%s[%d].%s", form.Name(s), i, m.In)
			errs = append(errs, m)
		}
	}
	return list, errors.Join(errs...)
}

// place is the place of a text in a file, if that is known.
func (v Value) place(i int) Place {
	if i < len(v.Places) {
		return v.Places[i]
	}
	return Place{}
}

// Unknown is the mistake that no setting has a given name.
func Unknown(name string, known []Setting, given Values, form Form) *Mistake {
	names := make([]string, len(known))
	for i, s := range known {
		names[i] = form.Name(s)
	}
	return &Mistake{Setting: Setting{Name: name, Path: name}, Index: -1, Problem: "is not known", Allowed: strings.Join(names, ", "),
		Meant: Nearest(name, names), At: given[name].place(0)}
}

// readOne reads a text that must be allowed.
func (s Setting) readOne(into reflect.Value, text string, form Form) *Mistake {
	if err := s.read(into, text, form); errors.Is(err, errForm) {
		m := s.Wrong("is %q", text)
		m.Allowed, m.Unreadable = s.Allowed(), true
		if form := s.form(); form != "" && form != m.Allowed {
			m.Allowed += " (" + form + ")"
		}
		return m
	} else if err != nil {
		m := s.because(text, err)
		m.Unreadable = true
		return m
	}
	return s.check(into)
}

// check returns what is wrong with an element.
func (s Setting) check(v reflect.Value) *Mistake {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	text := s.text(v)
	checker, checks := v.Interface().(interface{ Check() error })
	if values := s.Values(); len(values) > 0 && !checks && text+s.Default != "" && !slices.Contains(values, text) {
		m := s.OutOf(v.Interface(), s.Allowed())
		m.Meant = Nearest(text, values)
		return m
	}
	if s.bounds != (bounds{}) && !s.within(v) {
		return s.OutOf(v.Interface(), s.Allowed())
	}
	if !checks {
		return nil
	}
	if err := checker.Check(); err != nil {
		return s.because(text, err)
	}
	return nil
}

// because is the mistake that the type of the value found.
func (s Setting) because(text string, err error) *Mistake {
	if known, ok := errors.AsType[*Mistake](err); ok {
		m := *known
		m.Setting = s
		return &m
	}
	return s.Wrong("is %q: %s", text, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// checkRepeated returns what is wrong with an element that occurs earlier in
// the list.
func (s Setting) checkRepeated(list reflect.Value, i int) *Mistake {
	if s.repeat || !list.Index(i).Comparable() {
		return nil
	}
	for earlier := range i {
		if list.Index(earlier).Equal(list.Index(i)) {
			return s.Wrong("is %s, given twice", s.shown(s.text(list.Index(i))))
		}
	}
	return nil
}

// Check returns every value of the struct's settings that is not allowed.
func Check(structure any) error {
	v := reflect.Indirect(reflect.ValueOf(structure))
	var errs []error
	for _, s := range Of(structure) {
		field := v.FieldByIndex(s.field.Index)
		if !s.List() {
			if m := s.check(field); m != nil {
				errs = append(errs, m)
			}
			continue
		}
		for i := range field.Len() {
			m := s.check(field.Index(i))
			if m == nil {
				m = s.checkRepeated(field, i)
			}
			if m != nil {
				m.Index = i
				errs = append(errs, m)
			}
		}
	}
	return errors.Join(errs...)
}

// Missing returns the settings with an Example that a file does not give.
func Missing(list []Setting, given Values) error {
	var errs []error
	for _, s := range list {
		if _, ok := given.Of(s, InFile); !ok && s.Example != "" {
			errs = append(errs, s.Wrong("is missing: %s, as in %s", s.Words, s.Example))
		}
	}
	return errors.Join(errs...)
}

// Foreign returns the given names that no setting has, in order.
func Foreign(list []Setting, given Values, form Form) []string {
	known := func(name string) bool {
		return slices.ContainsFunc(list, func(s Setting) bool {
			return form.Name(s) == name || form == InFile && s.Fallback == name
		})
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(given)), known)
}
