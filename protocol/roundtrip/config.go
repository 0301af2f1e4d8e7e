package roundtrip

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/quic-go/quic-go/http3"

	"contend/protocol/wire"
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
	Header []wire.Field
	// Body is sent with its Content-Length in every request.
	Body []byte
	// ExpectStatus lists the right answers' statuses (100 to 999). Empty means
	// 200 to 399. Redirects are reported and not followed.
	ExpectStatus []int
	// Connections says which VUs share a connection; the zero value is per-vu.
	Connections wire.Connections
	// TLS applies to https only.
	TLS wire.TLS
}

// check finds what is wrong with the fields that stand for themselves.
func (c Config) check() error {
	errs := []error{wire.Named("roundtrip", c.Connections.Check())}
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

// origin reads the URL.
func (c Config) origin() (wire.Origin, error) {
	o, err := wire.ParseURL(c.URL, "http", "https")
	if err == nil && !o.Secure && c.Version == 3 {
		return wire.Origin{}, fmt.Errorf("URL %q: HTTP/3 needs https", o.URL)
	}
	return o, err
}

// tls returns nil for an origin that is not secure.
func (c Config) tls(o wire.Origin) (*tls.Config, error) {
	if c.TLS.NoSNI {
		return nil, errors.New("TLS.NoSNI is not possible: the library names the host")
	}
	if c.Version == 3 {
		return o.TLS(c.TLS, http3.NextProtoH3)
	}
	return o.TLS(c.TLS, "h2")
}

// ownedFields are those that HTTP/2 and HTTP/3 do not have (RFC 9113, section
// 8.2.2), and the one that is made from the body.
var ownedFields = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Content-Length"}

// request builds the request without its body.
func (c Config) request(o wire.Origin) (*http.Request, error) {
	request := &http.Request{
		Method: c.Method, URL: o.URL, Host: o.URL.Host, ContentLength: int64(len(c.Body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"User-Agent": {"contend"}},
	}
	if request.Method == "" {
		request.Method = http.MethodGet
	}
	var errs []error
	if !wire.IsToken(request.Method) {
		errs = append(errs, fmt.Errorf("roundtrip: Method %q is not a token", c.Method))
	}
	fields := http.Header{}
	for _, f := range c.Header {
		name := http.CanonicalHeaderKey(f.Name)
		err := f.Check()
		switch {
		case err != nil:
			errs = append(errs, wire.Named("roundtrip", err))
		case slices.Contains(ownedFields, name):
			errs = append(errs, fmt.Errorf("roundtrip: Header %q is not possible in HTTP/%d", f.Name, c.Version))
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
