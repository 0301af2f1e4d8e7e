package http

import (
	"errors"
	"fmt"
	"net/textproto"
	"strconv"

	"contend/protocol/check"
	"contend/protocol/data"
	"contend/protocol/wire"
)

// A request is what an iteration sends and what it takes for right.
type request struct {
	name   string
	fixed  []byte         // the whole, if it is the same in every iteration
	pieces []piece        // otherwise
	body   *data.Template // likewise
	head   bool           // its answers have no body
	expect statuses
	checks *check.Set
	keep   int // bytes of each answer's body that the checks need
}

// A piece is text, or a template, or else the length of the body.
type piece struct {
	text     []byte
	template *data.Template
}

// appendTo appends the request for the cursor's iteration. The body is made
// first, in scratch, since its length comes before it.
func (r *request) appendTo(out, scratch []byte, c *data.Cursor) (all, body []byte) {
	if r.body != nil {
		scratch = r.body.AppendTo(scratch[:0], c)
	}
	for _, p := range r.pieces {
		switch {
		case p.template != nil:
			out = p.template.AppendTo(out, c)
		case p.text != nil:
			out = append(out, p.text...)
		default:
			out = strconv.AppendInt(out, int64(len(scratch)), 10)
		}
	}
	if r.body != nil {
		out = append(out, scratch...)
	}
	return out, scratch
}

// A composer puts a request together.
type composer struct {
	source *data.Source // nil: values are text
	pieces []piece
	errs   []error
}

func (b *composer) printf(format string, args ...any) {
	if n := len(b.pieces); n > 0 && b.pieces[n-1].text != nil {
		b.pieces[n-1].text = fmt.Appendf(b.pieces[n-1].text, format, args...)
		return
	}
	b.pieces = append(b.pieces, piece{text: fmt.Appendf(nil, format, args...)})
}

// value adds text that may be a template.
func (b *composer) value(place data.Place, text string) {
	template := b.parse(place, text)
	if template == nil {
		b.printf("%s", text)
		return
	}
	if literal, ok := template.Literal(); ok {
		b.printf("%s", literal)
		return
	}
	b.pieces = append(b.pieces, piece{template: template})
}

// parse returns nil where there are no templates.
func (b *composer) parse(place data.Place, text string) *data.Template {
	if b.source == nil {
		return nil
	}
	template, err := data.ParseTemplate(place, text, b.source.Rows)
	if err != nil {
		b.errs = append(b.errs, err)
	}
	return template
}

// compile builds the request of a Config without Requests and reports every
// mistake at once.
func (c Config) compile(target string, o origin) (*request, error) {
	method := c.method()
	b := &composer{source: c.Data, errs: []error{checkMethod(method), c.checkStatuses(), c.Auth.check(c.Header)}}
	given := map[string]string{}
	for _, f := range c.Header {
		name := textproto.CanonicalMIMEHeaderKey(f.Name)
		_, twice := given[name]
		b.errs = append(b.errs, c.checkField(name, f), checkOnce(name, twice))
		given[name] = f.Value
	}
	checks, err := check.Parse(c.Checks...)
	b.errs = append(b.errs, err)
	b.printf("%s ", method)
	b.value(data.URL, target)
	b.printf(" %s\r\n", c.version())
	c.composeHeader(b, given, o)
	r := &request{head: method == "HEAD"}
	r.body = c.composeBody(b, given)
	if err := errors.Join(b.errs...); err != nil {
		return nil, err
	}
	r.pieces = b.pieces
	if len(r.pieces) == 1 && r.body == nil {
		r.fixed = r.pieces[0].text
	}
	r.judgeBy(c, checks)
	return r, nil
}

func (c Config) composeHeader(b *composer, given map[string]string, o origin) {
	has := func(name string) bool { _, ok := given[name]; return ok }
	if !has("Host") {
		b.printf("Host: %s\r\n", o.host)
	}
	if !has("User-Agent") {
		b.printf("User-Agent: contend\r\n")
	}
	if credentials := c.Auth.value(); credentials != "" {
		b.printf("Authorization: %s\r\n", credentials)
	}
	for _, f := range c.Header {
		b.printf("%s: ", f.Name)
		b.value(data.Header, f.Value)
		b.printf("\r\n")
	}
	if option := c.connection(); option != "" && !has("Connection") {
		b.printf("Connection: %s\r\n", option)
	}
}

// composeBody adds the body and its length, or returns the body's template.
func (c Config) composeBody(b *composer, given map[string]string) *data.Template {
	body := string(c.Body)
	template := b.parse(data.BodyPlace(given["Content-Type"], body), body)
	if template != nil {
		literal, ok := template.Literal()
		if !ok {
			b.printf("Content-Length: ")
			b.pieces = append(b.pieces, piece{})
			b.printf("\r\n\r\n")
			return template
		}
		body = literal
	}
	if _, ok := given["Content-Length"]; !ok && (len(body) > 0 || hasContent(c.method())) {
		b.printf("Content-Length: %d\r\n", len(body))
	}
	b.printf("\r\n%s", body)
	return nil
}

// judgeBy sets what is right. A check of the status replaces the usual range.
func (r *request) judgeBy(c Config, checks *check.Set) {
	r.expect = statuses{list: c.ExpectStatus}
	need := checks.Needs()
	if need.Status && len(c.ExpectStatus) == 0 {
		r.expect.any = true
	}
	if checks.Len() > 0 {
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
	if c.Method == "" {
		return "GET"
	}
	return c.Method
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

// hasContent reports whether a server expects a length even of an empty body
// (RFC 9110, section 8.6).
func hasContent(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

func checkMethod(method string) error {
	if !isToken(method) {
		return fmt.Errorf("http: Method %q is not a token of letters, digits and !#$%%&'*+-.^_`|~", method)
	}
	if method == "CONNECT" {
		return errors.New("http: Method CONNECT opens a tunnel, which is not supported")
	}
	return nil
}

func (c Config) checkField(name string, f wire.Field) error {
	switch err := f.Check(); {
	case err != nil:
		return wire.Named("http", err)
	case name == "Transfer-Encoding":
		return fmt.Errorf("http: Header %s: %q is not possible: the body is sent whole with its Content-Length", f.Name, f.Value)
	case name == "Content-Length" && c.Data != nil:
		return fmt.Errorf("http: Header %s is counted where Data may change the body", f.Name)
	case name == "Content-Length" && f.Value != strconv.Itoa(len(c.Body)):
		return fmt.Errorf("http: Header %s is %q but Body has %d bytes", f.Name, f.Value, len(c.Body))
	}
	return nil
}

// checkOnce refuses a second field of a name that allows no list.
func checkOnce(name string, twice bool) error {
	if twice && (name == "Host" || name == "Content-Length") {
		return fmt.Errorf("http: Header %s is given twice", name)
	}
	return nil
}
