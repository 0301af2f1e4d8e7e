package script

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/grafana/sobek"
	"golang.org/x/net/html"
)

// An element is one node of a page.
type element struct {
	*document
	*html.Node
}

// nodeTypes are the numbers of the living standard (DOM, section 4.4).
var nodeTypes = map[html.NodeType]int{html.ElementNode: 1, html.TextNode: 3, html.CommentNode: 8, html.DocumentNode: 9, html.DoctypeNode: 10}

// elementMethods are those of an element, with the attributes that elements have by their tags.
var elementMethods map[string]method[*element]

func init() { // they refer to functions that refer to it
	elementMethods = map[string]method[*element]{
		"attributes":      func(e *element, _ sobek.FunctionCall) any { return e.attributes() },
		"className":       func(e *element, _ sobek.FunctionCall) any { return e.valueOf("class") },
		"classList":       func(e *element, _ sobek.FunctionCall) any { return strings.Fields(e.attribute("class")) },
		"contains":        (*element).contains,
		"getAttribute":    func(e *element, call sobek.FunctionCall) any { return e.valueOf(call.Argument(0).String()) },
		"hasAttribute":    func(e *element, call sobek.FunctionCall) any { return e.has(call.Argument(0).String()) },
		"hasAttributes":   func(e *element, _ sobek.FunctionCall) any { return len(e.Attr) > 0 },
		"hasChildNodes":   func(e *element, _ sobek.FunctionCall) any { return e.FirstChild != nil },
		"innerHTML":       func(e *element, _ sobek.FunctionCall) any { return innerOf(e.just(e.Node)) },
		"isEqualNode":     (*element).isEqual,
		"isSameNode":      func(e *element, call sobek.FunctionCall) any { return e.Node == nodeAt(call) },
		"nodeName":        func(e *element, _ sobek.FunctionCall) any { return goquery.NodeName(e.just(e.Node)) },
		"nodeValue":       func(e *element, _ sobek.FunctionCall) any { return e.nodeValue() },
		"ownerDocument":   func(e *element, _ sobek.FunctionCall) any { return e.root() },
		"selection":       func(e *element, _ sobek.FunctionCall) any { return e.just(e.Node) },
		"textContent":     func(e *element, _ sobek.FunctionCall) any { return e.just(e.Node).Text() },
		"toString":        func(*element, sobek.FunctionCall) any { return "[object html.Node]" },
		"matches":         func(e *element, call sobek.FunctionCall) any { return e.just(e.Node).Is(call.Argument(0).String()) },
		"childNodes":      func(e *element, _ sobek.FunctionCall) any { return slices.Collect(e.ChildNodes()) },
		"children":        func(e *element, _ sobek.FunctionCall) any { return e.elements() },
		"firstChild":      func(e *element, _ sobek.FunctionCall) any { return e.FirstChild },
		"lastChild":       func(e *element, _ sobek.FunctionCall) any { return e.LastChild },
		"nextSibling":     func(e *element, _ sobek.FunctionCall) any { return e.NextSibling },
		"previousSibling": func(e *element, _ sobek.FunctionCall) any { return e.PrevSibling },
		"parentNode":      func(e *element, _ sobek.FunctionCall) any { return e.Parent },
		"parentElement":   func(e *element, _ sobek.FunctionCall) any { return elementOrNil(e.Parent) },

		"childElementCount":      func(e *element, _ sobek.FunctionCall) any { return len(e.elements()) },
		"firstElementChild":      func(e *element, _ sobek.FunctionCall) any { return firstOf(e.elements()) },
		"getAttributeNode":       (*element).attributeNode,
		"getElementsByClassName": func(e *element, call sobek.FunctionCall) any { return e.byClass(call.Argument(0).String()) },
		"getElementsByTagName":   func(e *element, call sobek.FunctionCall) any { return e.find(call.Argument(0).String()) },
		"lastElementChild": func(e *element, _ sobek.FunctionCall) any {
			all := e.elements()
			slices.Reverse(all)
			return firstOf(all)
		},
		"nextElementSibling":     func(e *element, _ sobek.FunctionCall) any { return firstOf(e.just(e.Node).Next().Nodes) },
		"nodeType":               func(e *element, _ sobek.FunctionCall) any { return nodeTypes[e.Type] },
		"previousElementSibling": func(e *element, _ sobek.FunctionCall) any { return firstOf(e.just(e.Node).Prev().Nodes) },
		"querySelector":          func(e *element, call sobek.FunctionCall) any { return firstOf(e.find(call.Argument(0).String())) },
		"querySelectorAll":       func(e *element, call sobek.FunctionCall) any { return e.find(call.Argument(0).String()) },
	}
	maps.Copy(elementMethods, reflected)
}

func elementOrNil(n *html.Node) *html.Node {
	if n == nil || n.Type != html.ElementNode {
		return nil
	}
	return n
}

func firstOf(all []*html.Node) *html.Node {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// nodeAt is the first argument as a node; nil: it is something else.
func nodeAt(call sobek.FunctionCall) *html.Node {
	all, _ := nodes(call.Argument(0))
	return firstOf(all)
}

// has reports whether there is an attribute.
func (e *element) has(name string) bool { return e.valueOf(name) != nil }

// valueOf is the value of an attribute; nil: it is not there.
func (e *element) valueOf(name string) any {
	for _, a := range e.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return nil
}

// attribute is the value of an attribute, "" without one.
func (e *element) attribute(name string) string {
	text, _ := e.valueOf(name).(string)
	return text
}

// attributes are all of them, by their names.
func (e *element) attributes() any {
	all := exports{}
	for _, a := range e.Attr {
		all[a.Key] = e.attributeObject(a)
	}
	return e.v.object(all)
}

func (e *element) attributeObject(a html.Attribute) sobek.Value {
	return e.v.object(exports{"name": a.Key, "value": a.Val, "owner_element": e.value(e.Node),
		"localName": func() string { return a.Key }, "namespaceURI": func() string { return a.Namespace }, "prefix": func() string { return "" }})
}

func (e *element) attributeNode(call sobek.FunctionCall) any {
	for _, a := range e.Attr {
		if a.Key == call.Argument(0).String() {
			return e.attributeObject(a)
		}
	}
	return nil
}

// elements are the children that are no text.
func (e *element) elements() []*html.Node { return e.just(e.Node).Children().Nodes }

func (e *element) find(selector string) []*html.Node { return e.just(e.Node).Find(selector).Nodes }

// byClass are the elements below that have all the classes of a list.
func (e *element) byClass(list string) []*html.Node {
	return e.find("." + strings.Join(strings.Fields(list), "."))
}

// contains reports whether another node is below this one, or this one itself.
func (e *element) contains(call sobek.FunctionCall) any {
	for other := nodeAt(call); other != nil; other = other.Parent {
		if other == e.Node {
			return true
		}
	}
	return false
}

// isEqual reports whether another node is written the same.
func (e *element) isEqual(call sobek.FunctionCall) any {
	other := nodeAt(call)
	return other != nil && (&element{e.document, other}).text() == e.text()
}

// text is the node as it is written.
func (e *element) text() string {
	text, _ := goquery.OuterHtml(e.just(e.Node)) // it is written to memory
	return text
}

func (e *element) nodeValue() any {
	if e.Type == html.TextNode || e.Type == html.CommentNode {
		return e.Data
	}
	return nil
}

// root is the document of a node.
func (e *element) root() *html.Node {
	n := e.Node
	for n.Parent != nil {
		n = n.Parent
	}
	return n
}

// reflected are attributes that are methods, too, by the names that these have (HTML, section 2.6.1).
var reflected = func() map[string]method[*element] {
	all := map[string]method[*element]{}
	for _, name := range []string{"accept", "accessKey", "alt", "autocomplete", "content", "dir", "download", "enctype", "htmlFor", "httpEquiv", "id",
		"label", "lang", "max", "media", "method", "min", "name", "pattern", "placeholder", "rel", "step", "target", "title", "wrap"} {
		attribute := attributeOf(name)
		all[name] = func(e *element, _ sobek.FunctionCall) any { return e.attribute(attribute) }
	}
	for _, name := range []string{"action", "formAction", "href", "src"} {
		attribute := attributeOf(name)
		all[name] = func(e *element, _ sobek.FunctionCall) any { return e.address(attribute).String() }
	}
	for _, name := range []string{"async", "autofocus", "checked", "defer", "disabled", "hidden", "multiple", "noValidate", "readOnly", "required", "selected"} {
		attribute := attributeOf(name)
		all[name] = func(e *element, _ sobek.FunctionCall) any { return e.has(attribute) }
	}
	for _, name := range []string{"colSpan", "cols", "height", "maxLength", "minLength", "rowSpan", "rows", "size", "tabIndex", "width"} {
		attribute := attributeOf(name)
		all[name] = func(e *element, _ sobek.FunctionCall) any { return e.number(attribute) }
	}
	for name, part := range map[string]func(*url.URL) string{
		"hash": func(u *url.URL) string { return withBefore("#", u.EscapedFragment()) }, "host": func(u *url.URL) string { return u.Host },
		"hostname": (*url.URL).Hostname, "origin": origin, "pathname": (*url.URL).EscapedPath, "port": (*url.URL).Port,
		"protocol": func(u *url.URL) string { return u.Scheme + ":" }, "search": func(u *url.URL) string { return withBefore("?", u.RawQuery) },
	} {
		all[name] = func(e *element, _ sobek.FunctionCall) any { return part(e.address("href")) }
	}
	all["type"] = func(e *element, _ sobek.FunctionCall) any { return e.kind() }
	all["value"] = func(e *element, _ sobek.FunctionCall) any { return (&selection{e.document, e.just(e.Node)}).val() }
	all["text"] = func(e *element, _ sobek.FunctionCall) any { return e.just(e.Node).Text() }
	all["form"] = func(e *element, _ sobek.FunctionCall) any { return firstOf(e.just(e.Node).Closest("form").Nodes) }
	all["options"] = func(e *element, _ sobek.FunctionCall) any { return e.find("option") }
	all["selectedOptions"] = func(e *element, _ sobek.FunctionCall) any { return e.find("option[selected]") }
	return all
}()

// attributeOf is the attribute that a method is about.
func attributeOf(method string) string {
	switch method {
	case "htmlFor":
		return "for"
	case "httpEquiv":
		return "http-equiv"
	}
	return strings.ToLower(method)
}

// kind is the type of an element, with those of parts of forms that do not say it.
func (e *element) kind() string {
	otherwise := map[string]string{"button": "submit", "input": "text", "select": "select", "textarea": "textarea"}[e.Data]
	if e.Data == "select" && e.has("multiple") {
		otherwise = "select-multiple"
	}
	return cmp.Or(e.attribute("type"), otherwise)
}

// origin is that of an address; "" of one without a host.
func origin(u *url.URL) string {
	if u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func withBefore(sign, text string) string {
	if text == "" {
		return ""
	}
	return sign + text
}

// address is an attribute that is a URL, as the page's address makes it.
func (e *element) address(name string) *url.URL {
	to, err := url.Parse(strings.TrimSpace(e.attribute(name)))
	if err != nil || !e.has(name) {
		return new(url.URL)
	}
	if e.at != nil {
		to = e.at.ResolveReference(to)
	}
	return to
}

// number is an attribute that is one; 0 of anything else.
func (e *element) number(name string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(e.attribute(name)))
	return n
}
