package http

import (
	"cmp"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"contend/protocol/check"
	"contend/protocol/data"
	"contend/protocol/wire"
	"contend/setting"
)

// A request is what an iteration sends and what it takes for right.
type request struct {
	name    string
	http1   []piece // in the form of HTTP/1.1
	fixed   []byte  // that form, if it is the same in every iteration
	streams *streamRequest
	body    piece
	head    bool // its answers have no body
	last    bool // it asks for the connection's end
	safe    bool // it may be sent twice
	expect  statuses
	checks  *check.Set
	checked bool // they look at more than the status
	keep    int  // bytes of each answer's body that the checks need
}

// A message is what a request says, before a version of HTTP gives it its form.
type message struct {
	method string
	target piece
	fields []field // in the order of HTTP/1.1, Host among them
	body   piece
}

type field struct {
	name  string
	value piece
}

// A piece is text, or a template, or else the length of the body.
type piece struct {
	text       string
	template   *data.Template
	bodyLength bool
}

func text(s string) piece { return piece{text: s} }

// isFixed reports whether a piece is the same in every iteration.
func (p piece) isFixed() bool { return p.template == nil && !p.bodyLength }

// appendTo appends the piece for the cursor's iteration, which has this body.
func (p piece) appendTo(out, body []byte, c *data.Cursor) []byte {
	switch {
	case p.template != nil:
		return p.template.AppendTo(out, c)
	case p.bodyLength:
		return strconv.AppendInt(out, int64(len(body)), 10)
	}
	return append(out, p.text...)
}

// appendTo appends the request in the form of HTTP/1.1 for the cursor's
// iteration. The body is made first, in scratch, since its length comes before it.
func (r *request) appendTo(out, scratch []byte, c *data.Cursor) (all, body []byte) {
	scratch = r.body.appendTo(scratch[:0], nil, c)
	for _, p := range r.http1 {
		out = p.appendTo(out, scratch, c)
	}
	return append(out, scratch...), scratch
}

// compile builds the request of a Config without Requests and reports every
// mistake at once.
func (c Config) compile(target string, o origin) (*request, error) {
	c.Version = cmp.Or(c.Version, "1.1")
	errs := []error{setting.Check(c), c.CheckRequest(), c.checkAuth(), check.Each(setting.At(&c, &c.Checks), c.Checks)}
	given := map[string]string{}
	for _, f := range c.Header {
		given[textproto.CanonicalMIMEHeaderKey(f.Name)] = f.Value
	}
	checks, _ := check.Parse(c.Checks...) // check.Each has told of mistakes
	m, err := c.message(target, given, o)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	r := &request{head: c.method() == "HEAD", safe: wire.IsSafe(c.method()), last: slices.ContainsFunc(c.Header, endsConnection), body: m.body}
	if c.HTTP2 {
		r.streams = newStreamRequest(m, o.scheme())
	} else {
		r.http1 = m.http1(c.version())
		if len(r.http1) == 1 && r.body.isFixed() {
			r.fixed = []byte(r.http1[0].text + r.body.text)
		}
	}
	r.judgeBy(c, checks)
	return r, nil
}

// message puts the request together; given are the values of Header by their
// canonical names.
func (c Config) message(target string, given map[string]string, o origin) (*message, error) {
	t := templates{source: c.Data}
	m := &message{method: c.method(), target: t.parse(wire.URL, data.URL, target)}
	add := func(name string, value piece) {
		if _, ok := given[name]; !ok {
			m.fields = append(m.fields, field{name, value})
		}
	}
	add("Host", text(o.host))
	add("User-Agent", text("contend"))
	if credentials := c.Auth.Value(); credentials != "" {
		add("Authorization", text(credentials))
	}
	for _, f := range c.Header {
		m.fields = append(m.fields, field{f.Name, t.parse(setting.At(&c, &c.Header), data.Header, f.Value)})
	}
	if option := c.connection(); option != "" && !c.streams() {
		add("Connection", text(option))
	}
	body := string(c.Body)
	m.body = t.parse(setting.At(&c, &c.Body), data.BodyPlace(given["Content-Type"], body), body)
	switch {
	case !m.body.isFixed():
		add("Content-Length", piece{bodyLength: true})
	case m.body.text != "" || hasContent(c.method()):
		add("Content-Length", text(strconv.Itoa(len(m.body.text))))
	}
	return m, errors.Join(t.errs...)
}

// templates reads what may be a template.
type templates struct {
	source *data.Source // nil: everything is text
	errs   []error
}

func (t *templates) parse(in setting.Setting, place data.Place, s string) piece {
	if t.source == nil && place == data.URL {
		s = wire.EscapeTarget(s, false)
	}
	if t.source == nil {
		return text(s)
	}
	template, err := data.ParseTemplate(place, s, t.source.Rows)
	if err != nil {
		t.errs = append(t.errs, in.About(err))
		return piece{}
	}
	if literal, ok := template.Literal(); ok {
		return text(literal)
	}
	return piece{template: template}
}

// http1 returns everything but the body in the form of HTTP/1.1, adjacent text
// as one piece.
func (m *message) http1(version string) []piece {
	all := []piece{text(m.method + " "), m.target, text(" " + version + "\r\n")}
	for _, f := range m.fields {
		all = append(all, text(f.name+": "), f.value, text("\r\n"))
	}
	var joined []piece
	for _, p := range append(all, text("\r\n")) {
		if n := len(joined); n > 0 && p.isFixed() && joined[n-1].isFixed() {
			joined[n-1].text += p.text
		} else {
			joined = append(joined, p)
		}
	}
	return joined
}

// judgeBy sets what is right. A check of the status replaces the usual range.
func (r *request) judgeBy(c Config, checks *check.Set) {
	r.expect = statuses{list: c.ExpectStatus, words: Statuses(c.ExpectStatus)}
	need := checks.Needs()
	if need.Status && len(c.ExpectStatus) == 0 {
		r.expect.any = true
	}
	if r.checked = need.Content(); checks.Len() > 0 {
		r.checks, r.keep = checks, maxDetail
	}
	if c.SameLength {
		r.keep = maxDetail
	}
	if need.Body {
		r.keep = check.BodyLimit
	}
}

func (c Config) method() string {
	switch {
	case c.Method != "":
		return c.Method
	case len(c.Body) > 0: // as curl does
		return "POST"
	}
	return "GET"
}

func (c Config) version() string {
	if c.HTTP10 {
		return "HTTP/1.0"
	}
	return "HTTP/1.1"
}

// connection says what is not understood: HTTP/1.1 keeps connections and
// HTTP/1.0 closes them.
func (c Config) connection() string {
	switch {
	case c.HTTP10 && !c.DisableKeepAlive:
		return "Keep-Alive"
	case !c.HTTP10 && c.DisableKeepAlive:
		return "close"
	}
	return ""
}

func endsConnection(f wire.Field) bool {
	return strings.EqualFold(f.Name, "Connection") && httpguts.HeaderValuesContainsToken([]string{f.Value}, "close")
}

// hasContent reports whether a server expects a length even of an empty body
// (RFC 9110, section 8.6).
func hasContent(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

// CheckRequest returns the mistakes in the method and the header that their own
// checks do not find, whichever package sends the request.
func (c Config) CheckRequest() error {
	var errs []error
	switch method := setting.At(&c, &c.Method); {
	case !wire.IsToken(c.method()):
		errs = append(errs, method.OutOf(c.Method, "letters, digits and !#$%&'*+-.^_`|~"))
	case standard[strings.ToUpper(c.method())] && !standard[c.method()]:
		m := method.Wrong("is %q, which servers refuse: case matters", c.Method)
		m.Meant = strings.ToUpper(c.Method)
		errs = append(errs, m)
	case c.method() == "CONNECT":
		errs = append(errs, method.Wrong("is CONNECT, which opens a tunnel: that is not supported"))
	}
	seen := map[string]bool{}
	for i, f := range c.Header {
		name := textproto.CanonicalMIMEHeaderKey(f.Name)
		if why := c.wrongField(name, f); why != "" {
			errs = append(errs, c.inHeader(i, "%s %s", f.Name, why))
		}
		if seen[name] && slices.Contains(singletons, name) {
			errs = append(errs, c.inHeader(i, "%s is given twice", f.Name))
		}
		seen[name] = true
	}
	return errors.Join(errs...)
}

// inHeader is a mistake in a field of the header.
func (c *Config) inHeader(i int, format string, args ...any) error {
	m := setting.At(c, &c.Header).Wrong(format, args...)
	m.Index = i
	return m
}

// wrongField says why a field of this canonical name cannot be sent, or "". It
// does not show the value, which may be a secret.
func (c Config) wrongField(name string, f wire.Field) string {
	switch {
	case c.streams() && (wire.IsOfConnection(name) || name == "Te" && f.Value != "trailers"):
		return "is not possible in HTTP/2 and HTTP/3, where connections have no fields"
	case name == "Transfer-Encoding":
		return "is not possible: the body is sent whole with its Content-Length"
	case name == "Content-Length" && c.Data != nil:
		return "is counted where Data may change the body"
	case name == "Content-Length" && c.DataFile == "" && f.Value != strconv.Itoa(len(c.Body)):
		return fmt.Sprintf("is %q but the body has %d bytes", f.Value, len(c.Body))
	}
	return ""
}

// standard are the methods of RFC 9110, section 9.3, and RFC 5789.
var standard = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "DELETE": true, "CONNECT": true, "OPTIONS": true, "TRACE": true, "PATCH": true}

// singletons are fields that servers refuse, or read one of, if there are several.
var singletons = []string{"Authorization", "Content-Length", "Content-Type", "Host", "User-Agent"}
