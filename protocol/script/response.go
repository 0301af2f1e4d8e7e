package script

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/tidwall/gjson"
)

// A response is an answer as scripts see it. Its parts are made when they are asked for.
type response struct {
	*reply
	v    *vu
	ask  *ask
	from *url.URL
	made map[string]sobek.Value
}

// a property makes a value of a response.
type property func(r *response) sobek.Value

// properties are those of a response, in the order of their names.
var properties map[string]property

var propertyNames []string

func init() { // it refers to functions that refer to it
	properties = map[string]property{
		"status":           func(r *response) sobek.Value { return r.v.rt.ToValue(r.status) },
		"status_text":      func(r *response) sobek.Value { return r.text(r.statusText()) },
		"body":             (*response).bodyValue,
		"headers":          func(r *response) sobek.Value { return r.v.headersObject(r.answerHeader()) },
		"cookies":          (*response).cookiesValue,
		"timings":          (*response).timings,
		"request":          (*response).requestValue,
		"error":            func(r *response) sobek.Value { return r.text(r.errorText()) },
		"error_code":       (*response).errorCodeValue,
		"url":              func(r *response) sobek.Value { return r.text(r.url()) },
		"proto":            func(r *response) sobek.Value { return r.text(r.proto) },
		"remote_ip":        func(r *response) sobek.Value { return r.text(r.remotePart(0)) },
		"remote_port":      (*response).remotePort,
		"tls_version":      func(r *response) sobek.Value { return r.text(r.tlsVersion()) },
		"tls_cipher_suite": func(r *response) sobek.Value { return r.text(r.cipher()) },
		"ocsp":             (*response).ocspValue,
		"json":             func(r *response) sobek.Value { return r.v.rt.ToValue(r.json) },
		"html":             func(r *response) sobek.Value { return r.v.rt.ToValue(r.html) },
		"submitForm":       func(r *response) sobek.Value { return r.v.rt.ToValue(r.submitForm) },
		"clickLink":        func(r *response) sobek.Value { return r.v.rt.ToValue(r.clickLink) },
	}
	propertyNames = slices.Sorted(maps.Keys(properties))
}

var _ sobek.DynamicObject = (*response)(nil)

// Get returns a property, the same value each time.
func (r *response) Get(name string) sobek.Value {
	if value, ok := r.made[name]; ok {
		return value
	}
	make, ok := properties[name]
	if !ok {
		return nil
	}
	value := make(r)
	r.keep(name, value)
	return value
}

func (r *response) keep(name string, value sobek.Value) {
	if r.made == nil {
		r.made = map[string]sobek.Value{}
	}
	r.made[name] = value
}

// Set changes a field, which keeps its type, as in k6. Others cannot be added, and methods not be changed.
func (r *response) Set(name string, value sobek.Value) bool {
	switch name {
	case "body":
		if text, ok := value.Export().(string); ok {
			r.body = []byte(text) // for json, html and forms
		}
	case "cookies", "headers", "ocsp", "request", "timings":
	case "error_code", "remote_port", "status":
		value = r.v.rt.ToValue(value.ToInteger())
	case "error", "proto", "remote_ip", "status_text", "tls_cipher_suite", "tls_version", "url":
		value = r.text(value.String())
	default:
		return false
	}
	r.keep(name, value)
	return true
}

// Has reports whether there is such a property.
func (r *response) Has(name string) bool { return properties[name] != nil }

// Delete is not possible.
func (r *response) Delete(string) bool { return false }

// Keys returns the names of what an answer holds.
func (r *response) Keys() []string { return propertyNames }

func (r *response) url() string { return r.from.String() }

func (r *response) text(s string) sobek.Value { return r.v.rt.ToValue(s) }

func (r *response) statusText() string {
	if r.status == 0 {
		return ""
	}
	return strings.TrimSpace(strconv.Itoa(r.status) + " " + http.StatusText(r.status))
}

// bodyValue is null where the body was not kept.
func (r *response) bodyValue() sobek.Value {
	switch {
	case r.ask.discard || r.err != nil || r.status == 204 || r.status == 304:
		return sobek.Null()
	case r.ask.binary:
		return r.v.rt.ToValue(r.v.rt.NewArrayBuffer(r.body))
	}
	return r.text(string(r.body))
}

// headersObject has each field once, by its canonical name.
func (v *vu) headersObject(header http.Header) sobek.Value {
	o := v.rt.NewObject()
	for name, values := range header {
		_ = o.Set(name, strings.Join(values, ", "))
	}
	return o
}

func (r *response) cookiesValue() sobek.Value {
	all := map[string][]map[string]any{}
	for _, c := range (&http.Response{Header: r.answerHeader()}).Cookies() {
		const perMilli = int64(time.Millisecond)
		expires := c.Expires.UnixNano() / perMilli // of no time, too, as in k6
		all[c.Name] = append(all[c.Name], map[string]any{"name": c.Name, "value": c.Value, "domain": c.Domain, "path": c.Path,
			"http_only": c.HttpOnly, "secure": c.Secure, "max_age": c.MaxAge, "expires": expires})
	}
	return r.v.listsOf(all)
}

// listsOf makes an object of lists.
func (v *vu) listsOf(all map[string][]map[string]any) *sobek.Object {
	o := v.rt.NewObject()
	for name, list := range all {
		items := make([]any, len(list))
		for i, one := range list {
			items[i] = v.object(one)
		}
		_ = o.Set(name, v.rt.NewArray(items...))
	}
	return o
}

// timings are in milliseconds.
func (r *response) timings() sobek.Value {
	return r.v.object(exports{
		"blocked": milliseconds(r.blocked), "looking_up": milliseconds(r.lookup), "connecting": milliseconds(r.connect), "tls_handshaking": milliseconds(r.handshake),
		"sending": milliseconds(r.send), "waiting": milliseconds(r.wait), "receiving": milliseconds(r.receive), "duration": milliseconds(r.send + r.wait + r.receive),
	})
}

func (r *response) requestValue() sobek.Value {
	if r.ask.first == nil { // there was none
		return sobek.Null()
	}
	headers := r.v.rt.NewObject()
	for name, values := range r.ask.first.header {
		_ = headers.Set(name, r.v.rt.ToValue(values))
	}
	cookies := map[string][]map[string]any{}
	for _, c := range r.ask.carried {
		cookies[c.Name] = append(cookies[c.Name], map[string]any{"name": c.Name, "value": c.Value, "replace": false})
	}
	return r.v.object(exports{"method": r.ask.first.method, "url": r.ask.first.url.String(), "body": r.ask.sent, "headers": headers, "cookies": r.v.listsOf(cookies)})
}

func (r *reply) errorText() string {
	if r.err == nil {
		return ""
	}
	return r.err.Error()
}

func (r *response) errorCodeValue() sobek.Value { return r.v.rt.ToValue(r.errorCode()) }

// remotePart is the address (0) or the port (1) of the server.
func (r *reply) remotePart(i int) string {
	if r.remote == nil {
		return ""
	}
	host, port, _ := net.SplitHostPort(r.remote.String())
	return [...]string{host, port}[i]
}

func (r *response) remotePort() sobek.Value {
	n, _ := strconv.Atoi(r.remotePart(1))
	return r.v.rt.ToValue(n)
}

func (r *reply) tlsVersion() string {
	if r.tls == nil {
		return ""
	}
	return "tls" + strings.TrimPrefix(tls.VersionName(r.tls.Version), "TLS ")
}

func (r *response) cipher() string {
	if r.tls == nil {
		return ""
	}
	return tls.CipherSuiteName(r.tls.CipherSuite)
}

// json reads the body: all of it, or the value at a path of package gjson.
func (r *response) json(call sobek.FunctionCall) sobek.Value {
	if r.ask.discard || r.err != nil {
		r.v.throw("the answer to %s has no body to read as JSON", r.ask.name)
	}
	if path := call.Argument(0); isObject(path) {
		if !gjson.ValidBytes(r.body) {
			r.noJSON(string(r.body))
		}
		found := gjson.GetBytes(r.body, path.String())
		if !found.Exists() {
			return sobek.Undefined()
		}
		return r.parsed(found.Raw)
	}
	return r.parsed(string(r.body))
}

func (r *response) parsed(text string) sobek.Value {
	value, err := r.v.parse(text)
	if err != nil {
		r.noJSON(text)
	}
	return value
}

// noJSON throws, with the coding of a body that is still encoded.
func (r *response) noJSON(text string) {
	if r.encoded != nil {
		r.v.throw("the body is not JSON: %v", r.encoded)
	}
	r.v.throw("the body is no JSON: %.60q", text)
}

// detail is the beginning of an answer.
func (r *response) detail() []byte {
	if r.err != nil {
		return nil
	}
	d := fmt.Appendf(nil, "%s %s\r\n", r.proto, r.statusText())
	if r.encoded != nil {
		d = fmt.Appendf(d, "%v\r\n", r.encoded)
	}
	return fmt.Appendf(d, "\r\n%.200s", r.body)
}
