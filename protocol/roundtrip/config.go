package roundtrip

import (
	"cmp"
	"crypto/tls"
	"errors"
	"maps"
	"net/http"

	"github.com/quic-go/quic-go/http3"

	ours "contend/protocol/http"
	"contend/protocol/wire"
	"contend/setting"
)

// A Config is that of package http, whose Version must be 2 or 3. It excludes
// what needs more of a request or an answer than NeedsRequests allows.
type Config = ours.Config

// check finds what is wrong with the fields on their own.
func check(c Config) error {
	errs := []error{c.CheckRequest()}
	if c.Version != "2" && c.Version != "3" {
		errs = append(errs, setting.At(&c, &c.Version).OutOf(c.Version, "2, 3"))
	} else {
		errs = append(errs, setting.Check(c))
	}
	return errors.Join(errs...)
}

// readURL returns what the URL says.
func readURL(c Config) (wire.Origin, error) {
	o, err := wire.ParseURL(c.URL, "http", "https")
	if err == nil && !o.Secure && c.Version == "3" {
		return wire.Origin{}, wire.URL.Wrong("is %q, but HTTP/3 needs https", o.URL)
	}
	return o, err
}

// secured returns nil for an origin that is not secure.
func secured(c Config, o wire.Origin) (*tls.Config, error) {
	if err := c.TLS.CheckSNI(); err != nil {
		return nil, err
	}
	if c.Version == "3" {
		return o.TLS(c.TLS, http3.NextProtoH3)
	}
	return o.TLS(c.TLS, "h2")
}

// build builds the request without its body.
func build(c Config, o wire.Origin) *http.Request {
	request := &http.Request{
		Method: cmp.Or(c.Method, http.MethodGet), URL: o.URL, Host: o.URL.Host, ContentLength: int64(len(c.Body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"User-Agent": {"contend"}},
	}
	fields := http.Header{}
	for _, f := range c.Header {
		name := http.CanonicalHeaderKey(f.Name)
		switch name {
		case "Host":
			request.Host = f.Value
		case "Content-Length": // that of the body
		default:
			fields.Add(name, f.Value)
		}
	}
	maps.Copy(request.Header, fields)
	return request
}
