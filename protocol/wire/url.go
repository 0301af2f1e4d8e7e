package wire

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// An Origin is what a URL says of the server.
type Origin struct {
	URL      *url.URL
	Secure   bool   // https or wss
	Hostname string // to be found in the certificate
	Address  string // to dial, with the scheme's port if the URL has none
}

// ParseURL reads a URL that has one of the schemes, http or ws with or without
// TLS. It refuses user information, because URLs are printed in reports; no
// error shows a password.
func ParseURL(text string, schemes ...string) (Origin, error) {
	u, err := url.Parse(text)
	if shown := HideUser(text); err != nil && shown != text {
		return Origin{}, fmt.Errorf("URL %q: not a URL", shown)
	}
	if err != nil {
		return Origin{}, fmt.Errorf("URL %s", strings.TrimPrefix(err.Error(), "parse "))
	}
	last := len(schemes) - 1
	switch {
	case u.User != nil:
		return Origin{}, fmt.Errorf("URL %q holds user information, which reports would print: send an Authorization header", u.Redacted())
	case !slices.Contains(schemes, u.Scheme):
		return Origin{}, fmt.Errorf("URL %q: scheme %q is not %s or %s", u, u.Scheme, strings.Join(schemes[:last], ", "), schemes[last])
	case u.Hostname() == "":
		return Origin{}, fmt.Errorf("URL %q has no host", u)
	}
	o := Origin{URL: u, Secure: u.Scheme == "https" || u.Scheme == "wss", Hostname: u.Hostname()}
	port := u.Port()
	switch {
	case port != "":
	case o.Secure:
		port = "443"
	default:
		port = "80"
	}
	o.Address = net.JoinHostPort(o.Hostname, port)
	return o, nil
}

// CheckVisible says where the URL has characters that a request line cannot hold.
func (o Origin) CheckVisible() error {
	switch {
	case !IsVisible(o.URL.Host):
		return fmt.Errorf("URL %q: host %q is not ASCII: write it in Punycode", o.URL, o.URL.Host)
	case !IsVisible(o.URL.RequestURI()):
		return fmt.Errorf("URL %q: query %q holds a space or is not ASCII: percent-encode it", o.URL, o.URL.RawQuery)
	}
	return nil
}

// IsVisible reports whether s holds printable ASCII without spaces only.
func IsVisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// TLS is t.Config for the origin, or nil if that is not secure; then t must be
// zero.
func (o Origin) TLS(t TLS, protocols ...string) (*tls.Config, error) {
	switch {
	case o.Secure:
		return t.Config(o.Hostname, protocols...)
	case o.URL != nil && !t.IsZero():
		return nil, fmt.Errorf("TLS is set but URL is not %ss", o.URL.Scheme)
	}
	return nil, nil
}

// HideUser hides what stands before an @ in a URL: it may be a password.
func HideUser(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	scheme, _, found := strings.Cut(text[:at], "://")
	if !found {
		return "…" + text[at:]
	}
	return scheme + "://…" + text[at:]
}
