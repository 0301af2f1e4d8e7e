package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"contend/setting"
)

// isSection reports whether fields of the type hold settings.
func isSection(t reflect.Type) bool { return t == reflect.TypeFor[setting.Values]() }

// sectionNames returns the names that a section has.
func sectionNames(section string) []string {
	var names []string
	for _, s := range settings() {
		if name, ok := strings.CutPrefix(s.Path, section+"."); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// meant is the name, among those of a section, of the setting that key is the flag of; else key.
func meant(key string, names []string) string {
	for _, s := range settings() {
		if name := s.Path[strings.LastIndexByte(s.Path, '.')+1:]; s.Flag == key && slices.Contains(names, name) {
			return name
		}
	}
	return key
}

// section reads settings and checks each.
func (d *decoder) section(n ast.Node, into reflect.Value, path string) {
	if into.IsNil() {
		into.Set(reflect.ValueOf(setting.Values{}))
	}
	section := path[strings.LastIndexByte(path, '.')+1:]
	all := settings()
	d.entries(n, path, func(key, path string, e *ast.MappingValueNode) {
		i := slices.IndexFunc(all, func(s setting.Setting) bool { return s.Path == section+"."+key })
		if i < 0 {
			d.unknown(key, path, sectionNames(section))
			return
		}
		if value, ok := d.texts(e.Value, path, all[i].List()); ok {
			read, err := all[i].Read(value, setting.InFile)
			d.addSettings(path, setting.Mistakes(err))
			if read.IsValid() {
				into.Interface().(setting.Values)[all[i].Path] = value
			} else {
				d.unread[path], d.unreadNames[key] = true, true
			}
		}
	})
}

// texts returns a single value, or the elements of a list of them, as they are
// written.
func (d *decoder) texts(n ast.Node, path string, list bool) (setting.Value, bool) {
	v := setting.Value{Path: path}
	add := func(n ast.Node, path, allowed string) bool {
		text, ok := scalarText(n)
		if ok = ok && d.isPlain(n, path); ok {
			d.places[path] = d.placeOf(n, path)
			v.Texts, v.Places = append(v.Texts, text), append(v.Places, d.places[path])
		} else if d.isPlain(n, path) {
			d.wrong(n, path, "is %s; expected %s", kindOf(n), allowed)
		}
		return ok
	}
	sequence, ok := n.(*ast.SequenceNode)
	if _, single := scalarText(n); !list || single || !ok {
		allowed := "a single value"
		if list {
			allowed = "a list"
		}
		return v, add(n, path, allowed)
	}
	complete := true
	for i, item := range sequence.Values {
		complete = add(item, fmt.Sprintf("%s[%d]", path, i), "a single value") && complete
	}
	return v, complete
}

// settings reads a mapping of names of settings to values.
func (d *decoder) settings(n ast.Node, path string, known []setting.Setting) setting.Values {
	given := setting.Values{}
	names := make([]string, len(known))
	for i, s := range known {
		names[i] = s.Path
	}
	d.entries(n, path, func(key, path string, e *ast.MappingValueNode) {
		i := slices.Index(names, key)
		if i < 0 {
			d.unknown(key, path, names)
		} else if value, ok := d.given(e.Value, path, known[i]); ok {
			given[key] = value
		}
	})
	return given
}

// given reads the value of a setting as text, or as lists and mappings of texts.
func (d *decoder) given(n ast.Node, path string, s setting.Setting) (v setting.Value, ok bool) {
	list, isList := n.(*ast.SequenceNode)
	if fields := s.Fields(); isList && fields != nil {
		v.Items = []setting.Values{}
		for i, item := range list.Values {
			child := fmt.Sprintf("%s[%d]", path, i)
			d.places[child] = d.placeOf(item, path)
			v.Items = append(v.Items, d.settings(item, child, fields))
		}
		return v, true
	}
	return d.texts(n, path, true)
}
