package script

import (
	"net/url"
	"strings"

	"github.com/grafana/sobek"

	"contend/protocol/wire"
)

// page is the body as HTML.
func (r *response) page() *selection {
	if r.ask.discard || r.err != nil {
		r.v.throw("the answer to %s has no body to read as HTML", r.ask.name)
	}
	d := &document{r.v, r.from}
	return &selection{d, d.parse(string(r.body))}
}

// html is r.html(selector).
func (r *response) html(call sobek.FunctionCall) sobek.Value {
	page := r.page()
	if isObject(call.Argument(0)) {
		return page.value(page.Find(call.Argument(0).String()))
	}
	return page.value(page.Selection)
}

// find is what a selector finds, which has to be there.
func (r *response) find(selector string) *selection {
	page := r.page()
	found := &selection{page.document, page.Find(selector)}
	if found.Length() == 0 {
		r.v.throw("%q finds nothing in the answer to %s", selector, r.ask.name)
	}
	return found
}

// given are arguments by their names.
func (r *response) given(call sobek.FunctionCall) func(name string) sobek.Value {
	o := r.v.rt.NewObject()
	if isObject(call.Argument(0)) {
		o = call.Argument(0).ToObject(r.v.rt)
	}
	return func(name string) sobek.Value { return orUndefined(o.Get(name)) }
}

func orText(value sobek.Value, otherwise string) string {
	if isObject(value) {
		return value.String()
	}
	return otherwise
}

// submitForm is r.submitForm({ formSelector, fields, submitSelector, params }). Where a selector finds several forms it
// sends the fields of all to the address of the first, as k6 does.
func (r *response) submitForm(call sobek.FunctionCall) sobek.Value {
	given := r.given(call)
	form := r.find(orText(given("formSelector"), "form"))
	values := r.v.rt.NewObject()
	for _, f := range form.fields() {
		_ = values.Set(f.name, form.value(f.value))
	}
	submit := &selection{form.document, form.Find(orText(given("submitSelector"), `[type="submit"]`))}
	if name, ok := submit.Attr("name"); ok && submit.val() != nil {
		_ = values.Set(name, form.value(submit.val()))
	}
	if fields := given("fields"); isObject(fields) {
		fields := fields.ToObject(r.v.rt)
		for _, name := range fields.Keys() {
			_ = values.Set(name, fields.Get(name))
		}
	}
	method := strings.ToUpper(form.AttrOr("method", "GET"))
	to := r.leads(form.AttrOr("action", r.url()))
	if method != "GET" {
		return r.v.request(method, []sobek.Value{r.text(to.String()), values, given("params")}, 0, true)
	}
	query := url.Values{}
	for _, name := range values.Keys() {
		query.Set(name, values.Get(name).String())
	}
	to.RawQuery = query.Encode()
	return r.v.request(method, []sobek.Value{r.text(to.String()), given("params")}, 0, false)
}

// clickLink is r.clickLink({ selector, params }).
func (r *response) clickLink(call sobek.FunctionCall) sobek.Value {
	given := r.given(call)
	selector := orText(given("selector"), "a[href]")
	href, ok := r.find(selector).Attr("href")
	if !ok {
		r.v.throw("what %q finds in the answer to %s has no href", selector, r.ask.name)
	}
	return r.v.request("GET", []sobek.Value{r.text(r.leads(href).String()), given("params")}, 0, false)
}

// leads is where a link of the page leads to.
func (r *response) leads(href string) *url.URL {
	to, err := wire.Parse(href)
	if err != nil {
		r.v.throw("%q in the answer to %s is no URL", href, r.ask.name)
	}
	return r.from.ResolveReference(to)
}
