package script

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"contend/load"
	"contend/protocol/wire"
)

// httpState is what the module k6/http keeps for a virtual user.
type httpState struct {
	expected func(status int) bool        // nil: nothing is asked of answers
	words    string                       // what is expected, as in "200 or 204"; "" for the default
	last     interface{ detail() []byte } // the latest answer, of gRPC too, for an example of what a check refused
}

// detail is the beginning of the latest answer.
func (s *httpState) detail() []byte {
	if s.last == nil {
		return nil
	}
	return s.last.detail()
}

// httpModule is "k6/http".
func (v *vu) httpModule() exports {
	v.http = httpState{expected: expectedByDefault}
	all := exports{
		"request": func(call sobek.FunctionCall) sobek.Value {
			return v.request(call.Argument(0).String(), call.Arguments, 1, true)
		},
		"asyncRequest":        v.asyncRequest,
		"batch":               v.batch,
		"url":                 v.urlTag,
		"file":                v.file,
		"expectedStatuses":    v.expectedStatuses,
		"setResponseCallback": v.setResponseCallback,
		"cookieJar":           func() sobek.Value { return v.jarObject(v.cookies()) },
		"CookieJar":           v.newJar,
	}
	for name, method := range map[string]string{"get": "GET", "head": "HEAD"} {
		all[name] = func(call sobek.FunctionCall) sobek.Value { return v.request(method, call.Arguments, 0, false) }
	}
	for name, method := range map[string]string{"post": "POST", "put": "PUT", "patch": "PATCH", "del": "DELETE", "options": "OPTIONS"} {
		all[name] = func(call sobek.FunctionCall) sobek.Value { return v.request(method, call.Arguments, 0, true) }
	}
	ocspConstants(all)
	for name, value := range tlsVersions {
		all[value] = name
	}
	return all
}

// An ask is a request with what is asked of its answer.
type ask struct {
	call
	name      string // of the request in results
	named     bool   // by the script
	first     *call  // before redirects
	redirects int
	expected  func(status int) bool
	words     string
	binary    bool           // the body is wanted as an ArrayBuffer
	bounded   bool           // redirects are those of this request alone
	asked     []string       // URLs that redirected
	encoding  string         // to compress the body with
	jar       http.CookieJar // nil: the iteration's
	given     *string        // the Cookie field among the headers; nil: not looked for yet
	cookies   []*http.Cookie // for this request alone
	carried   []*http.Cookie // by the first request
	replaced  map[string]bool
	sent      string // the body as text
	tags      tagMap
	mistaken  int // the number of a mistake that is found now
}

// request sends what a script asks: method, then from arguments[at] URL, body (if the method
// takes one) and params. Redirects are followed. The answer is that of the last.
func (v *vu) request(method string, arguments []sobek.Value, at int, hasBody bool) sobek.Value {
	a, r := v.asked(method, arguments, at, hasBody)
	if r != nil {
		return v.rt.NewDynamicObject(r)
	}
	r = v.follows(a, v.paced())
	if r.err != nil && v.target.Options.Throw {
		v.throw("%s %s: %v", a.method, r.url(), r.err)
	}
	return v.rt.NewDynamicObject(r)
}

// ready refuses requests in the outermost part of the script, and makes what they need.
func (v *vu) ready() {
	if !v.started {
		v.throw("requests can be sent within an iteration, setup and teardown, not in the outermost part of the script")
	}
	if v.slow == nil {
		v.slow = v.transport()
	}
}

// ask reads the arguments of a request.
func (v *vu) ask(a *ask, method string, arguments []sobek.Value, at int, hasBody bool) {
	argument := func(i int) sobek.Value {
		if i < len(arguments) {
			return arguments[i]
		}
		return sobek.Undefined()
	}
	a.redirects, a.expected, a.words = v.target.Options.Redirects, v.http.expected, v.http.words
	a.method, a.timeout, a.discard = cmp.Or(method, "GET"), defaultTimeout, v.target.Options.DiscardBodies
	v.readURL(a, argument(at))
	if a.mistaken = cannotSend; !wire.IsToken(a.method) {
		v.throw("method %q is not a method of HTTP", method)
	}
	a.mistaken = 0
	params := argument(at + 1)
	if hasBody {
		v.readBody(a, argument(at+1))
		params = argument(at + 2)
	}
	readObject(v, a, params, paramReaders, v.ignoreParam, "compression", "redirects", "responseCallback", "responseType", "timeout")
	v.compress(a)
	if agent := "User-Agent"; len(a.header[agent]) == 0 {
		a.header.Set(agent, orContend(v.target.Options.UserAgent))
	}
	first := a.call
	a.first = &first
	if v.target.Options.NoIterationReuse && len(v.flow.Requests) == 0 && v.slow != nil {
		v.slow.CloseIdleConnections()
	}
}

func orContend(agent string) string {
	if agent == "" {
		return "contend"
	}
	return agent
}

func isObject(value sobek.Value) bool {
	return value != nil && !sobek.IsUndefined(value) && !sobek.IsNull(value)
}

// readURL takes text, or what http.url made.
func (v *vu) readURL(a *ask, value sobek.Value) {
	text := value.String()
	tagged, ok := hiddenIn[*taggedURL](value)
	_, object := value.(*sobek.Object)
	a.mistaken = noURL
	switch {
	case ok:
		text, a.name, a.named = tagged.url, tagged.name, true
	case object:
		v.throw("the URL is an object, as of new String or new URL: write its toString()")
	}
	u, err := wire.Parse(text)
	if err == nil && isObject(value) {
		a.mistaken, a.url = cannotSend, u
	}
	if err != nil || !isObject(value) || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		v.throw("%q is not an HTTP URL (example: http://localhost:8080/); use __ENV.BASE_URL for the target", text)
	}
	a.header = http.Header{}
	if u.User != nil {
		password, _ := u.User.Password()
		a.header.Set("Authorization", basic(u.User.Username(), password))
		bare := *u
		bare.User = nil
		u = &bare
	}
	a.url = v.target.redirected(u)
	if !a.named {
		a.name = nameOf(a.method, a.url)
	}
}

// nameOf is what a request is called that the script gives no name.
func nameOf(method string, u *url.URL) string {
	return method + " " + cmp.Or(u.EscapedPath(), "/")
}

// follows sends a request, and then where its answers lead to.
func (v *vu) follows(a *ask, carry func(*call) *reply) *response {
	for hop := 0; ; hop++ {
		v.addCookies(a)
		var r *reply
		v.hear(func() error {
			r = carry(&a.call)
			return r.err
		})
		answer := &response{v: v, reply: r, ask: a, from: a.url}
		v.http.last = answer
		if r.err == nil {
			v.keepCookies(a, r)
		}
		next := a.next(r, hop)
		v.count(a, r)
		if next == nil || v.ctx.Err() != nil {
			return answer
		}
		a.call = *next
		if !a.named {
			a.name = nameOf(a.method, a.url)
		}
	}
}

// next is the request that an answer asks for, or nil (RFC 9110, section 15.4).
func (a *ask) next(r *reply, hop int) *call {
	if r.err != nil || !wire.IsRedirect(r.status) || a.redirects == 0 {
		return nil
	}
	to := a.leadsTo(r)
	if to == nil {
		return nil
	}
	a.asked = append(a.asked, a.url.String())
	if hop >= a.redirects {
		if !a.bounded || slices.Contains(a.asked, to.String()) {
			r.stuck = fmt.Sprintf("the end of redirects after at most %d", a.redirects)
		}
		return nil
	}
	next := a.call
	next.url = to
	next.header = a.header.Clone()
	next.header.Set("Referer", a.url.String())
	if r.status != 307 && r.status != 308 {
		if a.method != "HEAD" {
			next.method = "GET"
		}
		next.body = nil
		next.header.Del("Content-Type")
		next.header.Del("Content-Encoding")
	}
	if to.Host != a.url.Host {
		next.header.Del("Authorization")
		next.header.Del("Host")
	}
	return &next
}

// leadsTo is the URL that a redirect names; nil: none that can be asked for.
func (a *ask) leadsTo(r *reply) *url.URL {
	location := r.answerHeader().Get("Location")
	to, err := wire.Parse(location)
	if err != nil {
		r.stuck = "a Location that is a URL"
		return nil
	}
	to = a.url.ResolveReference(to)
	if location == "" || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil
	}
	return to
}

// count notes a request and its answer.
func (v *vu) count(a *ask, r *reply) {
	v.resent += r.resent
	v.stray = v.stray || r.stray
	v.parted = max(v.parted, r.parted)
	one := load.Request{Name: a.name, Status: r.status, Service: r.total, BodyIn: r.length}
	if r.err != nil {
		if v.ctx.Err() != nil {
			return // the run ended, which is nobody's fault
		}
		v.meterRequest(a, r)
		v.note(one, r.err, nil, "")
		return
	}
	v.meterRequest(a, r)
	var detail []byte
	if one.Failed = !(&requestTags{a, r}).right(); one.Failed {
		detail = v.http.detail()
	}
	v.note(one, nil, detail, cmp.Or(r.stuck, a.words))
}

func expectedByDefault(status int) bool { return status >= 200 && status < 400 }

// expectedStatuses makes what setResponseCallback and params.responseCallback take, of numbers and
// objects with min and max.
func (v *vu) expectedStatuses(call sobek.FunctionCall) sobek.Value {
	var e expectation
	for _, value := range call.Arguments {
		if n, ok := value.Export().(int64); ok {
			e.ranges = append(e.ranges, [2]int64{n, n})
			e.words = append(e.words, strconv.FormatInt(n, 10))
			continue
		}
		if !isObject(value) || value.ToObject(v.rt).Get("min") == nil || value.ToObject(v.rt).Get("max") == nil {
			v.throw("expectedStatuses takes numbers and objects with min and max")
		}
		o := value.ToObject(v.rt)
		from, to := o.Get("min").ToInteger(), o.Get("max").ToInteger()
		e.ranges = append(e.ranges, [2]int64{from, to})
		e.words = append(e.words, fmt.Sprintf("%d to %d", from, to))
	}
	return v.rt.ToValue(&e)
}

// an expectation are the statuses that are expected.
type expectation struct {
	ranges [][2]int64
	words  []string
}

func (e *expectation) right(status int) bool {
	return slices.ContainsFunc(e.ranges, func(r [2]int64) bool { return r[0] <= int64(status) && int64(status) <= r[1] })
}

func (e *expectation) text() string { return strings.Join(e.words, " or ") }

func (v *vu) setResponseCallback(value sobek.Value) {
	v.http.expected, v.http.words = v.callback(value)
}

// callback reads what expectedStatuses made; null and undefined ask nothing of answers.
func (v *vu) callback(value sobek.Value) (func(int) bool, string) {
	if !isObject(value) {
		return nil, ""
	}
	e, ok := value.Export().(*expectation)
	if !ok {
		v.throw("a response callback is what http.expectedStatuses(…) returns, or null")
	}
	return e.right, e.text()
}

// a taggedURL is a URL with placeholders filled in, and the one name of all such URLs.
type taggedURL struct{ url, name string }

// urlTag is http.url`…`: the template itself is the name.
func (v *vu) urlTag(call sobek.FunctionCall) sobek.Value {
	var parts []string
	if err := v.rt.ExportTo(call.Argument(0), &parts); err != nil || len(parts) == 0 {
		v.throw("http.url is written before a template: http.url`http://host/${id}`")
	}
	text, name := parts[0], parts[0]
	for i, part := range parts[1:] {
		text += call.Argument(1+i).String() + part
		name += "${}" + part
	}
	o := v.object(exports{"clean_url": text, "name": name, "url": text})
	v.hide(o, &taggedURL{text, name})
	return o
}

// timeoutOf reads params.timeout: milliseconds, or "30s".
func timeoutOf(value sobek.Value) (time.Duration, error) {
	raw := value.String()
	if _, ok := value.Export().(string); ok {
		raw = strconv.Quote(raw)
	}
	d, err := readDuration([]byte(raw))
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("timeout is %s; expected milliseconds, or a duration as in \"30s\"", raw)
	}
	return d, nil
}

var tlsVersions = map[string]string{"tls1.0": "TLS_1_0", "tls1.1": "TLS_1_1", "tls1.2": "TLS_1_2", "tls1.3": "TLS_1_3"}
