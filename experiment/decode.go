package experiment

import (
	"fmt"
	"reflect"
	"slices"
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

// newDecoder is for files of a type.
func newDecoder(m *mistakes, file reflect.Type) *decoder {
	d := &decoder{mistakes: m, homes: map[string]string{}}
	d.findHomes(file, "")
	return d
}

func (d *decoder) findHomes(t reflect.Type, path string) {
	if t == reflect.TypeFor[protocol.Target]() {
		for _, s := range protocol.Settings() {
			d.homes[s.Path] = path
		}
		return
	}
	switch {
	case isSection(t):
		for _, name := range sectionNames(path[strings.LastIndexByte(path, '.')+1:]) {
			d.addHome(name, path)
		}
	case t.Kind() == reflect.Struct:
		for _, f := range fieldsOf(t) {
			d.addHome(f.name, path)
			d.findHomes(f.Type, path+"."+f.name)
		}
	case t.Kind() == reflect.Map:
		d.findHomes(t.Elem(), path+".NAME")
	case t.Kind() == reflect.Slice:
		d.findHomes(t.Elem(), path)
	}
}

func (d *decoder) addHome(name, path string) {
	if known, ok := d.homes[name]; !ok || strings.Count(path, ".") < strings.Count(known, ".") {
		d.homes[name] = path
	}
}

func (d *decoder) decode(root ast.Node, file any) {
	d.value(root, reflect.ValueOf(file).Elem(), "")
}

// wrong notes that the value at path cannot be read.
func (d *decoder) wrong(n ast.Node, path, format string, args ...any) {
	d.cannotRead(d.placeOf(n, path), path, format, args...)
}

// placeOf is where a node begins: for a mapping the token is the colon after
// the first key.
func (d *decoder) placeOf(n ast.Node, path string) setting.Place {
	if entries, ok := entriesOf(n); ok && len(entries) > 0 {
		n = entries[0].Key
	}
	if n == nil || n.GetToken() == nil {
		return d.place(path)
	}
	return placeOf(n.GetToken())
}

func (d *decoder) value(n ast.Node, into reflect.Value, path string) {
	if !d.isPlain(n, path) {
		return
	}
	switch kind := into.Kind(); {
	case into.Type() == reflect.TypeFor[protocol.Target]():
		into.Set(reflect.ValueOf(protocol.Target(d.settings(n, path, protocol.Settings()))))
	case isSection(into.Type()):
		d.section(n, into, path)
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

// isPlain reports whether there is a value without anything but plain YAML.
func (d *decoder) isPlain(n ast.Node, path string) bool {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.noteSentence(d.placeOf(n, path), path, "anchors, aliases and tags are not allowed; write the value out")
		d.leaveOut(path)
		return false
	case nil, *ast.NullNode:
		d.wrong(n, path, "has no value")
		return false
	}
	return true
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
		d.wrong(n, path, "is %s; expected a mapping, as in NAME: VALUE with a colon and a blank", kindOf(n))
		return
	}
	first := map[string]setting.Place{}
	for _, e := range list {
		at := placeOf(e.Key.GetToken())
		key, ok := scalarText(e.Key)
		if !ok {
			d.noteSentence(at, path, "the key %q is not allowed; write a plain name (there are no merge keys)", e.Key.GetToken().Value)
			continue
		}
		child := strings.TrimPrefix(path+"."+key, ".")
		if before, twice := first[key]; twice {
			d.addAt(at, child, "is given twice, first on line %d", before.Line)
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

// fieldsOf returns the fields of a struct, those of embedded ones among them,
// under each of their names.
func fieldsOf(t reflect.Type) []field {
	var list []field
	for _, f := range reflect.VisibleFields(t) {
		for name := range strings.SplitSeq(f.Tag.Get("yaml"), ",") {
			if name != "" && name != "omitempty" {
				list = append(list, field{f, name})
			}
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

func (d *decoder) unknown(key, path string, names []string) {
	asked := meant(key, names)
	near, text := setting.Nearest(asked, names), oneOf(asked, names)
	if home, ok := d.homes[key]; ok && asked == key {
		if home = strings.TrimPrefix(home, "."); home == "" {
			home = "at the top of the file"
		} else {
			home = "in " + home
		}
		text = " here; it belongs " + home + oneOf("", names)
	}
	d.addSentence(path, "unknown field%s", text)
	d.leaveOut(path)
	if near != "" {
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

// sequence reads a list. A plain value is a list of one.
func (d *decoder) sequence(n ast.Node, into reflect.Value, path string) {
	element := into.Type().Elem()
	list, ok := n.(*ast.SequenceNode)
	if _, single := scalarText(n); single && element.Kind() != reflect.Struct && element.Kind() != reflect.Slice {
		into.Set(reflect.MakeSlice(into.Type(), 1, 1))
		d.scalar(n, into.Index(0), path)
		return
	}
	if !ok {
		d.wrong(n, path, "is %s; expected a list", kindOf(n))
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
		d.wrong(n, path, "is %s; expected a list with a value for each column", kindOf(n))
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
		d.wrong(n, path, "is %s; expected a single value", kindOf(n))
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

// set reads a single value: true or false, a length of time, or a text.
func set(into reflect.Value, text string) error {
	if into.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("is %q; expected a duration above 0s, such as 10s", text)
		}
		into.SetInt(int64(d))
		return nil
	}
	if into.Kind() != reflect.Bool {
		into.SetString(text)
		return nil
	}
	if text != "true" && text != "false" {
		return fmt.Errorf("is %q; expected true, false", text)
	}
	into.SetBool(text == "true")
	return nil
}
