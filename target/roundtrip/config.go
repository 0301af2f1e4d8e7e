package roundtrip

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A Config says which request every iteration sends, how, and which answers
// are right. URL and Version must be set.
type Config struct {
	// URL is https://host/path or, for Version 2 only, http://host/path, whose
	// server must know that it is spoken to in HTTP/2 (h2c with prior
	// knowledge). It must not hold user information, because URLs are printed in
	// reports: send an Authorization header.
	URL string
	// Version of HTTP: 2, or 3 for HTTP over QUIC.
	Version int
	// Method is the request's method; empty means GET.
	Method string
	// Header is sent with every request. It overrides User-Agent, and a field
	// Host the URL's. Names are sent in lower case.
	Header []Field
	// Body is sent with its Content-Length in every request.
	Body []byte
	// ExpectStatus lists the right answers' statuses (100 to 999). Empty means
	// 200 to 399. Redirects are reported and not followed.
	ExpectStatus []int
	// Connections says which VUs share a connection; the zero value is per-vu.
	Connections Connections
	// TLS applies to https only.
	TLS TLS
}

// A Field is one line of a request's header.
type Field struct {
	Name, Value string
}

// check finds what is wrong with the fields that stand for themselves.
func (c Config) check() error {
	errs := []error{c.Connections.validate()}
	if c.Version != 2 && c.Version != 3 {
		errs = append(errs, fmt.Errorf("roundtrip: Version %d is not 2 or 3", c.Version))
	}
	for _, status := range c.ExpectStatus {
		if status < 100 || status > 999 {
			errs = append(errs, fmt.Errorf("roundtrip: ExpectStatus %d is not in 100 to 999", status))
		}
	}
	return errors.Join(errs...)
}

// An origin is what a URL says.
type origin struct {
	url      *url.URL
	secure   bool
	hostname string // to be found in the certificate
	address  string // to dial
}

func (c Config) origin() (origin, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return origin{}, fmt.Errorf("roundtrip: URL %s", strings.TrimPrefix(err.Error(), "parse "))
	}
	switch {
	case u.User != nil:
		return origin{}, fmt.Errorf("roundtrip: URL %q holds user information, which reports would print: send an Authorization header", u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https":
		return origin{}, fmt.Errorf("roundtrip: URL %q: scheme %q is not http or https", u, u.Scheme)
	case u.Scheme == "http" && c.Version == 3:
		return origin{}, fmt.Errorf("roundtrip: URL %q: HTTP/3 needs https", u)
	case u.Hostname() == "":
		return origin{}, fmt.Errorf("roundtrip: URL %q has no host", u)
	}
	o := origin{url: u, secure: u.Scheme == "https", hostname: u.Hostname()}
	port := u.Port()
	switch {
	case port != "":
	case o.secure:
		port = "443"
	default:
		port = "80"
	}
	o.address = net.JoinHostPort(o.hostname, port)
	return o, nil
}

// ownedFields are those that HTTP/2 and HTTP/3 do not have (RFC 9113, section
// 8.2.2), and the one that is made from the body.
var ownedFields = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Content-Length"}

// request builds the request without its body.
func (c Config) request(o origin) (*http.Request, error) {
	request := &http.Request{
		Method: c.Method, URL: o.url, Host: o.url.Host, ContentLength: int64(len(c.Body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"User-Agent": {"contend"}},
	}
	if request.Method == "" {
		request.Method = http.MethodGet
	}
	var errs []error
	if !isToken(request.Method) {
		errs = append(errs, fmt.Errorf("roundtrip: Method %q is not a token", c.Method))
	}
	fields := http.Header{}
	for _, f := range c.Header {
		name := http.CanonicalHeaderKey(f.Name)
		switch {
		case !isToken(f.Name):
			errs = append(errs, fmt.Errorf("roundtrip: Header name %q is not a token", f.Name))
		case slices.Contains(ownedFields, name):
			errs = append(errs, fmt.Errorf("roundtrip: Header %q is not possible in HTTP/%d", f.Name, c.Version))
		case strings.ContainsFunc(f.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			errs = append(errs, fmt.Errorf("roundtrip: Header %q: value %q holds a control character", f.Name, f.Value))
		case name == "Host":
			request.Host = f.Value
		default:
			fields.Add(name, f.Value)
		}
	}
	for name, values := range fields {
		request.Header[name] = values
	}
	return request, errors.Join(errs...)
}

// isToken reports whether s consists of the characters of a method or a field
// name (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
