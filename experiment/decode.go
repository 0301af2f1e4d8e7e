package experiment

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"contend/protocol"
	"contend/setting"
)

// A decoder reads a tree of YAML into Go values and notes every mistake and
// the place of every field.
type decoder struct {
	*mistakes
	homes map[string]string // where in a file a field of that name belongs
}

func newDecoder(m *mistakes) *decoder {
	d := &decoder{mistakes: m, homes: map[string]string{}}
	d.findHomes(reflect.TypeFor[File](), "")
	return d
}

func (d *decoder) findHomes(t reflect.Type, path string) {
	if t == reflect.TypeFor[protocol.Target]() {
		for _, s := range protocol.Settings() {
			d.homes[s.Path] = path
		}
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			if known, ok := d.homes[f.name]; !ok || strings.Count(path, ".") < strings.Count(known, ".") {
				d.homes[f.name] = path
			}
			d.findHomes(f.Type, path+"."+f.name)
		}
	case reflect.Map:
		d.findHomes(t.Elem(), path+".NAME")
	case reflect.Slice:
		d.findHomes(t.Elem(), path)
	}
}

func (d *decoder) decode(root ast.Node, f *File) {
	d.value(root, reflect.ValueOf(f).Elem(), "")
}

// wrong notes that the value at path cannot be read.
func (d *decoder) wrong(n ast.Node, path, format string, args ...any) {
	d.cannotRead(d.placeOf(n, path), path, format, args...)
}

// placeOf is where a node begins: for a mapping the token is the colon after
// the first key.
func (d *decoder) placeOf(n ast.Node, path string) place {
	if entries, ok := entriesOf(n); ok && len(entries) > 0 {
		n = entries[0].Key
	}
	if n == nil || n.GetToken() == nil {
		return d.place(path)
	}
	return placeOf(n.GetToken())
}

func (d *decoder) value(n ast.Node, into reflect.Value, path string) {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.wrong(n, path, "anchors, aliases and tags are not allowed: write the value out")
		return
	case nil, *ast.NullNode:
		d.wrong(n, path, "has no value")
		return
	}
	switch kind := into.Kind(); {
	case into.Type() == reflect.TypeFor[protocol.Target]():
		into.Set(reflect.ValueOf(protocol.Target(d.settings(n, path, protocol.Settings()))))
	case kind == reflect.Struct:
		d.object(n, into, path)
	case kind == reflect.Map:
		d.byName(n, into, path)
	case into.Type() == reflect.TypeFor[Row]():
		d.row(n, into, path)
	case kind == reflect.Slice:
		d.sequence(n, into, path)
	default:
		d.scalar(n, into, path)
	}
}

// entriesOf returns the entries of a mapping.
func entriesOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// entries calls each for every key of a mapping, once.
func (d *decoder) entries(n ast.Node, path string, each func(key, path string, e *ast.MappingValueNode)) {
	list, ok := entriesOf(n)
	if !ok {
		d.wrong(n, path, "is %s, allowed is a mapping of names to values", kindOf(n))
		return
	}
	first := map[string]place{}
	for _, e := range list {
		at := placeOf(e.Key.GetToken())
		key, ok := scalarText(e.Key)
		if !ok {
			d.addAt(at, path, "the key %q is not allowed: write a plain name (there are no merge keys)", e.Key.GetToken().Value)
			continue
		}
		child := strings.TrimPrefix(path+"."+key, ".")
		if before, twice := first[key]; twice {
			d.addAt(at, child, "is given twice, first on line %d", before.line)
			continue
		}
		first[key], d.places[child] = at, at
		each(key, child, e)
	}
}

// A field is a field of a struct under its name in a file.
type field struct {
	reflect.StructField
	name string
}

// fieldsOf returns the fields of a struct, those of inlined ones among them.
func fieldsOf(t reflect.Type) []field {
	var list []field
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
			list = append(list, field{f, name})
		}
	}
	return list
}

func (d *decoder) object(n ast.Node, into reflect.Value, path string) {
	fields := fieldsOf(into.Type())
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	d.entries(n, path, func(key, path string, e *ast.MappingValueNode) {
		if i := slices.Index(names, key); i >= 0 {
			d.value(e.Value, into.FieldByIndex(fields[i].Index), path)
			return
		}
		d.unknown(key, path, names)
	})
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
	items := []ast.Node{n}
	if isList {
		items = list.Values
	}
	for i, item := range items {
		child := path
		if isList {
			child = fmt.Sprintf("%s[%d]", path, i)
		}
		at := d.placeOf(item, path)
		d.places[child] = at
		var text string
		d.scalar(item, reflect.ValueOf(&text).Elem(), child)
		v.Texts, v.Places = append(v.Texts, text), append(v.Places, setting.Place{Line: at.line, Column: at.column})
	}
	return v, true
}

func (d *decoder) unknown(key, path string, names []string) {
	text := oneOf(key, names)
	home, ok := d.homes[key]
	switch home = strings.TrimPrefix(home, "."); {
	case ok && home == "":
		text = "it belongs at the top of the file (here " + text + ")"
	case ok:
		text = fmt.Sprintf("it belongs in %s (here %s)", home, text)
	}
	d.cannotRead(d.place(path), path, "there is no such field: %s", text)
	if near := nearest(key, names); near != "" {
		d.unreadNames[near] = true
	}
}

func (d *decoder) byName(n ast.Node, into reflect.Value, path string) {
	into.Set(reflect.MakeMap(into.Type()))
	d.entries(n, path, func(key, path string, e *ast.MappingValueNode) {
		value := reflect.New(into.Type().Elem()).Elem()
		d.value(e.Value, value, path)
		into.SetMapIndex(reflect.ValueOf(key), value)
	})
}

// sequence reads a list. A plain value may stand for a list of one.
func (d *decoder) sequence(n ast.Node, into reflect.Value, path string) {
	element := into.Type().Elem()
	list, ok := n.(*ast.SequenceNode)
	if _, single := scalarText(n); single && element.Kind() != reflect.Struct && element.Kind() != reflect.Slice {
		into.Set(reflect.MakeSlice(into.Type(), 1, 1))
		d.scalar(n, into.Index(0), path)
		return
	}
	if !ok {
		d.wrong(n, path, "is %s, allowed is a list", kindOf(n))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(list.Values), len(list.Values)))
	for i, item := range list.Values {
		child := fmt.Sprintf("%s[%d]", path, i)
		d.places[child] = d.placeOf(item, path)
		d.value(item, into.Index(i), child)
	}
}

// row reads cells as they are written; an empty one is not published.
func (d *decoder) row(n ast.Node, into reflect.Value, path string) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrong(n, path, "is %s, allowed is a list with a cell for each column", kindOf(n))
		return
	}
	row := make(Row, len(list.Values))
	for i, item := range list.Values {
		child := fmt.Sprintf("%s[%d]", path, i)
		d.places[child] = d.placeOf(item, path)
		if _, null := item.(*ast.NullNode); null || item == nil {
			row[i] = notPublished
			continue
		}
		d.scalar(item, reflect.ValueOf(&row[i]).Elem(), child)
	}
	into.Set(reflect.ValueOf(row))
}

func (d *decoder) scalar(n ast.Node, into reflect.Value, path string) {
	text, ok := scalarText(n)
	if !ok {
		d.wrong(n, path, "is %s, allowed is a single value", kindOf(n))
		return
	}
	d.places[path] = d.placeOf(n, path)
	if err := set(into, text); err != nil {
		d.wrong(n, path, "%v", err)
	}
}

// scalarText returns a single value as it is written, without its quotes.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode, nil:
		return "empty"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "an anchor, alias or tag"
	}
	return "a single value"
}

// set reads a single value by the type of what it is for.
func set(into reflect.Value, text string) error {
	switch p := into.Addr().Interface().(type) {
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is no duration, allowed is a number with a unit, as in 250ms, 2s or 1m30s", text)
		}
		*p = d
		return nil
	case *Percent:
		return p.UnmarshalText([]byte(text))
	}
	switch into.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		into.SetInt(int64(n))
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is not allowed: true or false", text)
		}
		into.SetBool(text == "true")
	default:
		into.SetString(text)
	}
	return nil
}

// UnmarshalText reads the form 2%.
func (p *Percent) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil {
		return fmt.Errorf("%q is no share, allowed is a number of per cent, as in 2%%", text)
	}
	*p = Percent(share / 100)
	return nil
}

// MarshalText returns the form 2%.
func (p Percent) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(100*float64(p), 'g', 12, 64) + "%"), nil
}
