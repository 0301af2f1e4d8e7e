package http

import (
	"bytes"
	"errors"
	"fmt"
	"net/textproto"
	"strconv"
	"strings"
)

// encode builds the bytes of the request, which are the same in every
// iteration, and reports every mistake at once.
func (c Config) encode(o origin) ([]byte, error) {
	method := c.method()
	errs := []error{checkMethod(method)}
	given := map[string]bool{}
	for _, f := range c.Header {
		name := textproto.CanonicalMIMEHeaderKey(f.Name)
		errs = append(errs, c.checkField(name, f), checkOnce(name, given))
		given[name] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s\r\n", method, o.target, c.version())
	if !given["Host"] {
		fmt.Fprintf(&b, "Host: %s\r\n", o.host)
	}
	if !given["User-Agent"] {
		b.WriteString("User-Agent: contend\r\n")
	}
	for _, f := range c.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	if !given["Content-Length"] && (len(c.Body) > 0 || hasContent(method)) {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(c.Body))
	}
	if option := c.connection(); option != "" && !given["Connection"] {
		fmt.Fprintf(&b, "Connection: %s\r\n", option)
	}
	b.WriteString("\r\n")
	b.Write(c.Body)
	return b.Bytes(), nil
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

func (c Config) checkField(name string, f Field) error {
	switch {
	case !isToken(f.Name):
		return fmt.Errorf("http: Header name %q is not a token of letters, digits and !#$%%&'*+-.^_`|~", f.Name)
	case strings.ContainsFunc(f.Value, isControl):
		return fmt.Errorf("http: Header %s holds a line break or another control character", f.Name)
	case name == "Transfer-Encoding":
		return fmt.Errorf("http: Header %s: %q is not possible: the body is sent whole with its Content-Length", f.Name, f.Value)
	case name == "Content-Length" && f.Value != strconv.Itoa(len(c.Body)):
		return fmt.Errorf("http: Header %s is %q but Body has %d bytes", f.Name, f.Value, len(c.Body))
	}
	return nil
}

// checkOnce refuses a second field of a name that allows no list.
func checkOnce(name string, given map[string]bool) error {
	if given[name] && (name == "Host" || name == "Content-Length") {
		return fmt.Errorf("http: Header %s is given twice", name)
	}
	return nil
}

// isControl excludes the tab, which a value may hold.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
