package script

import (
	"maps"
	"slices"

	"github.com/PuerkitoBio/goquery"
	"github.com/grafana/sobek"
	"golang.org/x/net/html"
)

// A selection is what a script found in a page.
type selection struct {
	*document
	*goquery.Selection
}

type (
	toOther  = func(*goquery.Selection) *goquery.Selection
	byText   = func(*goquery.Selection, string) *goquery.Selection
	byNodes  = func(*goquery.Selection, ...*html.Node) *goquery.Selection
	untilOne = func(*goquery.Selection, string, ...*html.Node) *goquery.Selection
)

// steps lead from a selection to another one.
var steps = map[string]toOther{
	"contents": (*goquery.Selection).Contents, "end": (*goquery.Selection).End,
	"first": (*goquery.Selection).First, "last": (*goquery.Selection).Last,
}

// neighbours are steps that may have a selector.
var neighbours = map[string]struct {
	all  toOther
	some byText
}{
	"children": {(*goquery.Selection).Children, (*goquery.Selection).ChildrenFiltered},
	"next":     {(*goquery.Selection).Next, (*goquery.Selection).NextFiltered},
	"nextAll":  {(*goquery.Selection).NextAll, (*goquery.Selection).NextAllFiltered},
	"parent":   {(*goquery.Selection).Parent, (*goquery.Selection).ParentFiltered},
	"parents":  {(*goquery.Selection).Parents, (*goquery.Selection).ParentsFiltered},
	"prev":     {(*goquery.Selection).Prev, (*goquery.Selection).PrevFiltered},
	"prevAll":  {(*goquery.Selection).PrevAll, (*goquery.Selection).PrevAllFiltered},
	"siblings": {(*goquery.Selection).Siblings, (*goquery.Selection).SiblingsFiltered},
}

// untils are steps up to what a selector, a selection or an element says, which may have a filter.
var untils = map[string]struct {
	text     byText
	nodes    byNodes
	filtered func(s *goquery.Selection, filter, until string) *goquery.Selection
	some     untilOne
}{
	"nextUntil":    {(*goquery.Selection).NextUntil, (*goquery.Selection).NextUntilNodes, (*goquery.Selection).NextFilteredUntil, (*goquery.Selection).NextFilteredUntilNodes},
	"parentsUntil": {(*goquery.Selection).ParentsUntil, (*goquery.Selection).ParentsUntilNodes, (*goquery.Selection).ParentsFilteredUntil, (*goquery.Selection).ParentsFilteredUntilNodes},
	"prevUntil":    {(*goquery.Selection).PrevUntil, (*goquery.Selection).PrevUntilNodes, (*goquery.Selection).PrevFilteredUntil, (*goquery.Selection).PrevFilteredUntilNodes},
}

// choices take a selector, a selection or an element; those with a test a function, too.
var choices = map[string]struct {
	text  byText
	nodes byNodes
	test  func(*goquery.Selection, func(int, *goquery.Selection) bool) *goquery.Selection
}{
	"add":     {(*goquery.Selection).Add, (*goquery.Selection).AddNodes, nil},
	"closest": {(*goquery.Selection).Closest, (*goquery.Selection).ClosestNodes, nil},
	"filter":  {(*goquery.Selection).Filter, (*goquery.Selection).FilterNodes, (*goquery.Selection).FilterFunction},
	"find":    {(*goquery.Selection).Find, (*goquery.Selection).FindNodes, nil},
	"has":     {(*goquery.Selection).Has, (*goquery.Selection).HasNodes, nil},
	"not":     {(*goquery.Selection).Not, (*goquery.Selection).NotNodes, (*goquery.Selection).NotFunction},
}

// selectionMethods are those of a selection.
var selectionMethods map[string]method[*selection]

func init() { // they refer to functions that refer to it
	selectionMethods = maps.Clone(valueMethods)
	for name, of := range steps {
		selectionMethods[name] = func(s *selection, _ sobek.FunctionCall) any { return of(s.Selection) }
	}
	for name, of := range neighbours {
		selectionMethods[name] = func(s *selection, call sobek.FunctionCall) any {
			if filter := call.Argument(0); isObject(filter) {
				return of.some(s.Selection, filter.String())
			}
			return of.all(s.Selection)
		}
	}
	for name, of := range untils {
		selectionMethods[name] = func(s *selection, call sobek.FunctionCall) any {
			until, is := nodes(call.Argument(0))
			switch filter := call.Argument(1); {
			case is && isObject(filter):
				return of.some(s.Selection, filter.String(), until...)
			case is:
				return of.nodes(s.Selection, until...)
			case isObject(filter):
				return of.filtered(s.Selection, filter.String(), textAt(call, 0, ""))
			}
			return of.text(s.Selection, textAt(call, 0, ""))
		}
	}
	for name, of := range choices {
		selectionMethods[name] = func(s *selection, call sobek.FunctionCall) any {
			if of.test != nil {
				if f, is := sobek.AssertFunction(call.Argument(0)); is {
					return of.test(s.Selection, s.test(f))
				}
			}
			if some, is := nodes(call.Argument(0)); is {
				return of.nodes(s.Selection, some...)
			}
			return of.text(s.Selection, s.selector(name, call.Argument(0)))
		}
	}
}

// selector is an argument that is one.
func (s *selection) selector(method string, value sobek.Value) string {
	text, ok := value.Export().(string)
	if !ok {
		s.v.throw("%s takes a selector, a selection or an element, and not %s", method, harmless(value))
	}
	return text
}

// test has a function of the script choose among selections of one node.
func (s *selection) test(f sobek.Callable) func(int, *goquery.Selection) bool {
	return func(i int, one *goquery.Selection) bool { return s.call(f, i, one).ToBoolean() }
}

// call calls a function of the script with an index and what is there.
func (s *selection) call(f sobek.Callable, i int, of any) sobek.Value {
	return orThrow(f(sobek.Undefined(), s.v.rt.ToValue(i), s.value(of)))
}

func (s *selection) function(method string, call sobek.FunctionCall) sobek.Callable {
	f, ok := sobek.AssertFunction(call.Argument(0))
	if !ok {
		s.v.throw("%s needs a function", method)
	}
	return f
}

// each is s.each(function), whose second argument is an element.
func (s *selection) each(call sobek.FunctionCall) any {
	f := s.function("each", call)
	for i, node := range s.Nodes {
		s.call(f, i, node)
	}
	return s.Selection
}

// mapped is s.map(function): what the function returns of selections of one node, without those where it throws.
func (s *selection) mapped(call sobek.FunctionCall) any {
	f := s.function("map", call)
	all := []any{}
	for i := range s.Nodes {
		_ = s.v.rt.Try(func() { all = append(all, s.call(f, i, s.Eq(i))) }) // as in k6
	}
	return s.v.rt.NewArray(all...)
}

// get is the element at an index, from the end where it is negative, but not the first; without an index it is all of
// them.
func (s *selection) get(call sobek.FunctionCall) any {
	if !isObject(call.Argument(0)) {
		return s.Nodes
	}
	if at := int(call.Argument(0).ToInteger()); at > -s.Length() {
		return firstOf(s.Eq(at).Nodes)
	}
	return nil
}

func (s *selection) toArray() any {
	all := make([]*goquery.Selection, s.Length())
	for i := range all {
		all[i] = s.Eq(i)
	}
	return all
}

// slice is s.slice(from, to), numbers from the end where they are negative.
func (s *selection) slice(call sobek.FunctionCall) any {
	from, to := between(call, s.Length())
	return s.Slice(from, to)
}

// between are the arguments (from, to) of a slice of n.
func between(call sobek.FunctionCall, n int) (from, to int) {
	at := func(i, missing int) int {
		value := call.Argument(i)
		if !isObject(value) {
			return missing
		}
		at := int(value.ToInteger())
		if at < 0 {
			at += n
		}
		return min(max(at, 0), n)
	}
	from = at(0, 0)
	return from, max(from, at(1, n))
}

// is is s.is(selector, selection, element or function).
func (s *selection) is(call sobek.FunctionCall) any {
	if f, is := sobek.AssertFunction(call.Argument(0)); is {
		return s.IsFunction(s.test(f))
	}
	if some, is := nodes(call.Argument(0)); is {
		return s.IsNodes(some...)
	}
	return s.Is(s.selector("is", call.Argument(0)))
}

// index is where the first node is among its siblings, or where it is among what a selector finds, or where another
// one is in the selection; -1: nowhere.
func (s *selection) index(call sobek.FunctionCall) any {
	if !isObject(call.Argument(0)) {
		return s.Index()
	}
	if some, is := nodes(call.Argument(0)); is {
		if len(some) == 0 {
			return -1
		}
		return slices.Index(s.Nodes, some[0])
	}
	return s.IndexSelector(s.selector("index", call.Argument(0)))
}
