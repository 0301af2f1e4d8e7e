package secret

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// In returns a copy of a value without secrets in its texts. The copy shares what stays the same,
// and the value itself is not changed. Texts of a named type stay, because they are words of a
// closed set, and so do fields that are not exported. The value must be a tree.
func In[T any](value T, hide func(string) string) T {
	known := map[string]string{}
	m := masker(func(text string) string {
		hidden, ok := known[text]
		if !ok {
			hidden = hide(text)
			known[text] = hidden
		}
		return hidden
	})
	masked, _ := m.value(reflect.ValueOf(&value).Elem())
	return masked.Interface().(T)
}

type masker func(string) string

// value returns the masked value, and whether it is another one.
func (m masker) value(v reflect.Value) (reflect.Value, bool) {
	if !holdsText(v.Type()) {
		return v, false
	}
	switch v.Kind() {
	case reflect.String:
		hidden := m(v.String())
		return reflect.ValueOf(hidden), hidden != v.String()
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		return m.pointed(v)
	case reflect.Struct:
		return m.structure(v)
	case reflect.Slice, reflect.Array:
		return m.list(v)
	case reflect.Map:
		return m.table(v)
	}
	return v, false
}

func (m masker) pointed(v reflect.Value) (reflect.Value, bool) {
	masked, changed := m.value(v.Elem())
	if !changed {
		return v, false
	}
	into := reflect.New(v.Type()).Elem()
	if v.Kind() == reflect.Pointer {
		into.Set(reflect.New(v.Type().Elem()))
		into.Elem().Set(masked)
	} else {
		into.Set(masked)
	}
	return into, true
}

func (m masker) structure(v reflect.Value) (reflect.Value, bool) {
	into, copied := v, false
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		masked, changed := m.value(v.Field(i))
		if !changed {
			continue
		}
		if !copied {
			into, copied = reflect.New(v.Type()).Elem(), true
			into.Set(v)
		}
		into.Field(i).Set(masked)
	}
	return into, copied
}

// privateKey is in the first line of a key in PEM form: lines of a text are masked together where it is.
const privateKey = "PRIVATE KEY-----"

func (m masker) list(v reflect.Value) (reflect.Value, bool) {
	if lines, ok := v.Interface().([]string); ok {
		if text := strings.Join(lines, "\n"); strings.Contains(text, privateKey) {
			return reflect.ValueOf(strings.Split(m(text), "\n")), true
		}
	}
	into, copied := v, false
	for i := range v.Len() {
		masked, changed := m.value(v.Index(i))
		if !changed {
			continue
		}
		if !copied {
			into, copied = reflect.New(v.Type()).Elem(), true
			if v.Kind() == reflect.Slice {
				into.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			}
			reflect.Copy(into, v)
		}
		into.Index(i).Set(masked)
	}
	return into, copied
}

// table also masks keys. It numbers those that become equal.
func (m masker) table(v reflect.Value) (reflect.Value, bool) {
	into, changed := reflect.MakeMapWithSize(v.Type(), v.Len()), false
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, k := range keys {
		key, other := m.value(k)
		masked, another := m.value(v.MapIndex(k))
		for i := 2; other && into.MapIndex(key).IsValid(); i++ {
			key = reflect.ValueOf(fmt.Sprintf("%s (%d)", m(k.String()), i))
		}
		into.SetMapIndex(key, masked)
		changed = changed || other || another
	}
	if !changed {
		return v, false
	}
	return into, true
}

// holding caches which types hold texts: documents have millions of numbers.
var holding sync.Map // reflect.Type → bool

func holdsText(t reflect.Type) bool {
	if known, ok := holding.Load(t); ok {
		return known.(bool)
	}
	holds := holdsTextBut(t, map[reflect.Type]bool{})
	holding.Store(t, holds)
	return holds
}

func holdsTextBut(t reflect.Type, above map[reflect.Type]bool) bool {
	if above[t] {
		return false // whoever asked for it first finds the texts
	}
	above[t] = true
	switch t.Kind() {
	case reflect.String:
		return t == reflect.TypeFor[string]()
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdsTextBut(t.Elem(), above)
	case reflect.Map:
		return holdsTextBut(t.Key(), above) || holdsTextBut(t.Elem(), above)
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() && holdsTextBut(t.Field(i).Type, above) {
				return true
			}
		}
	}
	return false
}
