package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// A Config says which request every iteration sends, how, and which answers
// are right. Only URL must be set.
type Config struct {
	// URL is http://host/path, https://host/path, or, for a Unix socket,
	// http+unix:///path/of/socket:/path. It must not hold user information,
	// because URLs are printed in reports: send an Authorization header.
	URL string
	// UnixSocket is the path of a socket to connect to instead of URL's host.
	UnixSocket string
	// Method is the request's method; empty means GET.
	Method string
	// Header is sent in this order. It overrides the fields that are sent
	// unasked: Host, User-Agent and, without keep-alive, Connection.
	// Content-Length is set from Body and Transfer-Encoding is not possible.
	Header []Field
	// Body is sent with its Content-Length in every request.
	Body []byte
	// ExpectStatus lists the right answers' statuses (100 to 999). Empty means
	// 200 to 399. Redirects are reported and not followed.
	ExpectStatus []int
	// DisableKeepAlive opens a connection for every iteration.
	DisableKeepAlive bool
	// TLS applies to https only.
	TLS TLS
	// Dial opens a connection instead of the operating system; TLS, if any,
	// is spoken over what it returns. It must return promptly once ctx is
	// done. It may be called concurrently.
	Dial func(ctx context.Context) (net.Conn, error)
}

// A Field is one line of a request's header.
type Field struct {
	Name, Value string
}

// TLS says whom to trust. The zero value trusts the system's authorities and
// checks the certificate against the URL's host. Sessions are not resumed: a
// new connection means a full handshake.
type TLS struct {
	// CA holds the trusted authorities in PEM form; empty means the system's.
	CA []byte
	// Insecure accepts any certificate of any host.
	Insecure bool
	// ServerName is the expected name instead of the URL's host.
	ServerName string
}

func (t TLS) isZero() bool { return len(t.CA) == 0 && !t.Insecure && t.ServerName == "" }

// config builds the TLS configuration for a URL's host.
func (t TLS) config(host string) (*tls.Config, error) {
	c := &tls.Config{
		ServerName:         host,
		InsecureSkipVerify: t.Insecure,
		NextProtos:         []string{"http/1.1"},
	}
	if t.ServerName != "" {
		c.ServerName = t.ServerName
	}
	if len(t.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, errors.New("http: TLS.CA holds no certificate in PEM form")
		}
	}
	return c, nil
}

// An origin is what a URL says: whom to dial, what to ask, and how.
type origin struct {
	network, address string
	secure           bool
	hostname         string // to be found in the certificate
	host             string // of the Host field
	target           string // path and query
}

const unixScheme = "http+unix://"

func (c Config) origin() (origin, error) {
	raw, socket := c.URL, c.UnixSocket
	if rest, ok := strings.CutPrefix(raw, unixScheme); ok {
		if socket != "" {
			return origin{}, fmt.Errorf("http: UnixSocket %q beside URL %q: give the socket once", socket, raw)
		}
		path := ""
		socket, path, _ = strings.Cut(rest, ":/")
		if socket == "" {
			return origin{}, fmt.Errorf("http: URL %q has no socket: write %s/path/of/socket:/path", raw, unixScheme)
		}
		raw = "http://localhost/" + path
	}
	u, err := url.Parse(raw)
	if err != nil {
		return origin{}, fmt.Errorf("http: URL %s", strings.TrimPrefix(err.Error(), "parse "))
	}
	if err := checkURL(u); err != nil {
		return origin{}, err
	}
	o := origin{
		network:  "tcp",
		secure:   u.Scheme == "https",
		hostname: u.Hostname(),
		host:     withoutZone(u.Host),
		target:   u.RequestURI(),
	}
	switch port := u.Port(); {
	case socket != "":
		o.network, o.address = "unix", socket
	case port != "":
		o.address = net.JoinHostPort(o.hostname, port)
	case o.secure:
		o.address = net.JoinHostPort(o.hostname, "443")
	default:
		o.address = net.JoinHostPort(o.hostname, "80")
	}
	return o, nil
}

func checkURL(u *url.URL) error {
	switch {
	case u.User != nil:
		return fmt.Errorf("http: URL %q holds user information, which reports would print: send an Authorization header", u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("http: URL %q: scheme %q is not http, https or http+unix", u, u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("http: URL %q has no host", u)
	case !isVisible(u.Host):
		return fmt.Errorf("http: URL %q: host %q is not ASCII: write it in Punycode", u, u.Host)
	case !isVisible(u.RequestURI()):
		return fmt.Errorf("http: URL %q: query %q holds a space or is not ASCII: percent-encode it", u, u.RawQuery)
	}
	return nil
}

// isVisible reports whether s holds printable ASCII without spaces only.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// withoutZone cuts the zone off an IPv6 address, since it means something on
// this machine only (RFC 6874, section 4).
func withoutZone(host string) string {
	zone := strings.IndexByte(host, '%')
	end := strings.IndexByte(host, ']')
	if zone < 0 || end < zone {
		return host
	}
	return host[:zone] + host[end:]
}
