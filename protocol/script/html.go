package script

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/grafana/sobek"
	"golang.org/x/net/html"
)

// htmlModule is "k6/html".
func (v *vu) htmlModule() exports {
	return exports{"parseHTML": func(call sobek.FunctionCall) sobek.Value {
		d := &document{v: v}
		return d.value(d.parse(textAt(call, 0, ""))) // the body of an answer without one is null
	}}
}

// A document is a page of HTML.
type document struct {
	v  *vu
	at *url.URL // its address; nil: it has none
}

// parse reads a page. Mistakes in it are repaired as browsers do.
func (d *document) parse(text string) *goquery.Selection {
	page, err := goquery.NewDocumentFromReader(strings.NewReader(text))
	if err != nil {
		d.v.throw("the text cannot be read as HTML: %v", err)
	}
	return page.Selection
}

// value is what a method of k6/html returns, as scripts see it.
func (d *document) value(of any) sobek.Value {
	switch of := of.(type) {
	case nil:
		return sobek.Undefined()
	case *goquery.Selection:
		return d.v.rt.NewDynamicObject(&members[*selection]{d, &selection{d, of}, selectionMethods, nil})
	case *html.Node:
		if of == nil {
			return sobek.Undefined()
		}
		return d.v.rt.NewDynamicObject(&members[*element]{d, &element{d, of}, elementMethods, nil})
	case []*html.Node:
		return arrayOf(d, of)
	case []*goquery.Selection:
		return arrayOf(d, of)
	case []string:
		return arrayOf(d, of)
	}
	return d.v.rt.ToValue(of)
}

func arrayOf[T any](d *document, all []T) sobek.Value {
	values := make([]any, len(all))
	for i, one := range all {
		values[i] = d.value(one)
	}
	return d.v.rt.NewArray(values...)
}

// nodes are those of a selection or an element of a script.
func nodes(value sobek.Value) ([]*html.Node, bool) {
	switch of := value.Export().(type) {
	case *members[*selection]:
		return of.of.Nodes, true
	case *members[*element]:
		return []*html.Node{of.of.Node}, true
	}
	return nil, false
}

// A method of an object of k6/html. What it returns is made a value of the script.
type method[T any] func(of T, call sobek.FunctionCall) any

// members are an object whose methods are made when they are asked for: pages have many elements.
type members[T any] struct {
	*document
	of   T
	all  map[string]method[T]
	made map[string]sobek.Value
}

var _ sobek.DynamicObject = (*members[*selection])(nil)

// Get returns the same function each time.
func (m *members[T]) Get(name string) sobek.Value {
	if value, ok := m.made[name]; ok {
		return value
	}
	method, ok := m.all[name]
	if !ok {
		return nil
	}
	m.Set(name, m.v.rt.ToValue(func(call sobek.FunctionCall) sobek.Value { return m.value(method(m.of, call)) }))
	return m.made[name]
}

// Set lets a script replace a method.
func (m *members[T]) Set(name string, value sobek.Value) bool {
	if m.made == nil {
		m.made = map[string]sobek.Value{}
	}
	m.made[name] = value
	return true
}

// Has reports whether there is such a method.
func (m *members[T]) Has(name string) bool {
	_, made := m.made[name]
	return made || m.all[name] != nil
}

// Delete is not possible.
func (m *members[T]) Delete(string) bool { return false }

// Keys returns the names of the methods.
func (m *members[T]) Keys() []string { return slices.Sorted(maps.Keys(m.all)) }

// textAt is an argument that is text; missing without one.
func textAt(call sobek.FunctionCall, i int, missing string) string {
	return orText(call.Argument(i), missing)
}
