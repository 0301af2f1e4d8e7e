package script

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/PuerkitoBio/goquery"
	"github.com/grafana/sobek"
	"golang.org/x/net/html"
)

// valueMethods tell what is in a selection.
var valueMethods = map[string]method[*selection]{
	"attr":    (*selection).attr,
	"data":    (*selection).data,
	"each":    (*selection).each,
	"eq":      func(s *selection, call sobek.FunctionCall) any { return s.Eq(int(call.Argument(0).ToInteger())) },
	"get":     (*selection).get,
	"html":    func(s *selection, _ sobek.FunctionCall) any { return innerOf(s.Selection) },
	"index":   (*selection).index,
	"is":      (*selection).is,
	"map":     (*selection).mapped,
	"size":    func(s *selection, _ sobek.FunctionCall) any { return s.Length() },
	"slice":   (*selection).slice,
	"text":    func(s *selection, _ sobek.FunctionCall) any { return s.Text() },
	"toArray": func(s *selection, _ sobek.FunctionCall) any { return s.toArray() },
	"val":     func(s *selection, _ sobek.FunctionCall) any { return s.val() },

	"serialize":       func(s *selection, _ sobek.FunctionCall) any { return s.serialize() },
	"serializeArray":  func(s *selection, _ sobek.FunctionCall) any { return s.serializeArray() },
	"serializeObject": func(s *selection, _ sobek.FunctionCall) any { return s.serializeObject() },
}

// attr is s.attr(name, otherwise), of the first node.
func (s *selection) attr(call sobek.FunctionCall) any {
	if value, ok := s.Attr(call.Argument(0).String()); ok {
		return value
	}
	return call.Argument(1)
}

// innerOf is what the first node has between its tags.
func innerOf(s *goquery.Selection) string {
	text, _ := s.Html() // it is written to memory
	return text
}

// val is the value of the first node if it is one that a form sends.
func (s *selection) val() any {
	switch first := s.First(); goquery.NodeName(first) {
	case "input":
		otherwise := ""
		if kind := first.AttrOr("type", ""); kind == "checkbox" || kind == "radio" {
			otherwise = "on"
		}
		return first.AttrOr("value", otherwise)
	case "button":
		return first.AttrOr("value", "")
	case "textarea":
		return innerOf(first)
	case "option":
		return optionValue(first)
	case "select":
		chosen := first.Find("option[selected]")
		if _, several := first.Attr("multiple"); several {
			return chosen.Map(func(_ int, one *goquery.Selection) string { return optionValue(one) })
		}
		return optionValue(chosen)
	}
	return nil
}

func optionValue(s *goquery.Selection) string { return s.AttrOr("value", innerOf(s)) }

// data is s.data(key), of the first node, or without a key all of them by their names.
func (s *selection) data(call sobek.FunctionCall) any {
	if key := call.Argument(0); isObject(key) {
		value, ok := s.Attr("data-" + hyphenated(key.String()))
		if !ok {
			return nil
		}
		return s.datum(value)
	}
	all := exports{}
	if s.Length() > 0 {
		for _, a := range s.Nodes[0].Attr {
			if name, is := strings.CutPrefix(a.Key, "data-"); is && name != "" && s.datum(a.Val) != nil {
				all[camelCase(name)] = s.datum(a.Val)
			}
		}
	}
	return s.v.object(all)
}

// hyphenated is the name of an attribute: userName is user-name.
func hyphenated(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// camelCase is the opposite.
func camelCase(name string) string {
	parts := strings.Split(name, "-")
	for i, part := range parts[1:] {
		if part != "" {
			parts[1+i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}

// datum is the value that an attribute stands for, almost as jQuery has it: a number, a truth, nothing, JSON, or text.
func (s *selection) datum(text string) any {
	switch {
	case text == "true" || text == "false":
		return text == "true"
	case text == "" || text == "null":
		return nil
	case json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "{[-0123456789"):
		if n, err := strconv.ParseFloat(text, 64); err != nil || strconv.FormatFloat(n, 'f', -1, 64) == text {
			value, _ := s.v.parse(text) // it is valid
			return value
		}
	}
	return text
}

// A field is what a form sends of one of its parts.
type field struct {
	name  string
	value any // text, or a list of texts
}

// text are the values of a field.
func (f *field) texts() []string {
	switch value := f.value.(type) {
	case string:
		return []string{value}
	case []string:
		return value
	}
	return nil
}

// unsent are the types of inputs that say nothing unless something is done with them.
var unsent = []string{"button", "file", "image", "reset", "submit"}

// fields are what forms send, or what of the selection itself they would send. As in k6, disabled and checked count if
// they have their own names as values.
func (s *selection) fields() (all []field) {
	const parts = "input, select, textarea, keygen"
	of := s.Filter(parts)
	if s.Is("form") {
		of = s.Find(parts)
	}
	for _, node := range of.Nodes {
		one := &selection{s.document, s.just(node)}
		name, kind := one.AttrOr("name", ""), one.AttrOr("type", "")
		disabled, checked := one.AttrOr("disabled", "") == "disabled", one.AttrOr("checked", "") == "checked"
		if name == "" || disabled || slices.Contains(unsent, kind) || !checked && (kind == "checkbox" || kind == "radio") {
			continue
		}
		all = append(all, field{name, one.val()})
	}
	return all
}

// just is a selection of one node.
func (d *document) just(node *html.Node) *goquery.Selection {
	return goquery.NewDocumentFromNode(node).Selection
}

func (s *selection) serializeArray() any {
	list := []any{}
	for _, f := range s.fields() {
		list = append(list, s.v.object(exports{"name": f.name, "value": s.value(f.value)}))
	}
	return s.v.rt.NewArray(list...)
}

func (s *selection) serializeObject() any {
	o := s.v.rt.NewObject()
	for _, f := range s.fields() {
		_ = o.Set(f.name, s.value(f.value)) // the last of a name
	}
	return o
}

func (s *selection) serialize() any {
	form := url.Values{}
	for _, f := range s.fields() {
		form[f.name] = f.texts()
	}
	return form.Encode()
}
