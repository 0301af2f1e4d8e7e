package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"contend/setting"
)

// An Origin is what a URL says of the server.
type Origin struct {
	URL      *url.URL
	Secure   bool   // https or wss
	Hostname string // to be found in the certificate
	Address  string // to dial, with the scheme's port if the URL has none
}

// URL is the setting that a target's URL is.
var URL = setting.Setting{Name: "target", Path: "url"}

// ParseURL reads a URL that has one of the schemes, http or ws with or without
// TLS. It refuses user information, because URLs are printed in reports. The error
// is a *setting.Mistake, which shows no password.
func ParseURL(text string, schemes ...string) (Origin, error) {
	u, err := Parse(text)
	var wrong *url.Error
	switch shown := HideUser(text); {
	case err != nil && shown != text:
		return Origin{}, URL.Wrong("is %q, which is not a URL", shown)
	case errors.As(err, &wrong):
		return Origin{}, URL.Wrong("is %q: %v", text, wrong.Err)
	case u.User != nil:
		return Origin{}, URL.Wrong("is %q, whose user information reports would print: send an Authorization header", u.Redacted())
	case !slices.Contains(schemes, u.Scheme):
		m := URL.Wrong("is %q, whose scheme is %q", text, u.Scheme)
		m.Allowed = strings.Join(schemes, ", ")
		return Origin{}, m
	case u.Hostname() == "":
		m := URL.Wrong("is %q, which has no host", text)
		if rest := strings.TrimLeft(u.Path, "/"); rest != "" { // a slash is missing
			m.Meant = u.Scheme + "://" + rest
		}
		return Origin{}, m
	}
	o := Origin{URL: u, Secure: u.Scheme == "https" || u.Scheme == "wss", Hostname: u.Hostname()}
	port := u.Port()
	switch n, err := strconv.ParseUint(port, 10, 16); {
	case port != "" && (err != nil || n == 0):
		m := URL.Wrong("is %q, whose port is %s", text, port)
		m.Allowed = "1 to 65535"
		return Origin{}, m
	case port != "":
	case o.Secure:
		port = "443"
	default:
		port = "80"
	}
	o.Address = net.JoinHostPort(o.Hostname, port)
	return o, nil
}

// CheckHost refuses a host that no Host field can hold.
func (o Origin) CheckHost() error {
	if !IsVisible(o.URL.Host) {
		return URL.Wrong("is %q, whose host %q is not ASCII: write it in Punycode", o.URL, o.URL.Host)
	}
	return nil
}

// IsVisible reports whether s holds printable ASCII without spaces only.
func IsVisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// Parse is url.Parse of a URL, or of a reference as a Location has it, whose path and query are
// sent as they are written: EscapeTarget escapes the rest first, because a url.URL whose path has
// a character to escape takes %2F for a slash.
func Parse(text string) (*url.URL, error) {
	start := 0
	scheme, rest, found := strings.Cut(text, "//")
	if found && (scheme == "" || strings.IndexAny(scheme, ":/?#") == len(scheme)-1 && strings.HasSuffix(scheme, ":")) {
		start = len(text) - len(rest) + strings.IndexAny(rest+"/", "/?#")
	}
	end := start + strings.IndexByte(text[start:]+"#", '#')
	return url.Parse(text[:start] + EscapeTarget(text[start:end], false) + text[end:])
}

// EscapeTarget percent-encodes what a path and query cannot hold (RFC 3986, section 3.3) and leaves
// everything else as it is, escapes in upper or lower case included. A query keeps all printable
// ASCII, as browsers and servers do; inQuery says that the text continues one. Control characters
// stay, for the caller to refuse.
func EscapeTarget(text string, inQuery bool) string {
	const digits = "0123456789ABCDEF"
	var b []byte // nil: nothing is escaped yet
	for i := range len(text) {
		c := text[i]
		inQuery = inQuery || c == '?'
		switch {
		case c == ' ' || c >= 0x80 || !inQuery && strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			if b == nil {
				b = []byte(text[:i])
			}
			b = append(b, '%', digits[c>>4], digits[c&15])
		case b != nil:
			b = append(b, c)
		}
	}
	if b == nil {
		return text
	}
	return string(b)
}

// TLS is t.Config for the origin, or nil if that is not secure; then t must be
// zero.
func (o Origin) TLS(t TLS, protocols ...string) (*tls.Config, error) {
	switch {
	case o.Secure:
		return t.Config(o.Hostname, protocols...)
	case o.URL != nil && o.URL.Scheme == "http":
		return nil, t.Refuse("requires an https URL")
	case o.URL != nil:
		return nil, t.Refuse("requires a %ss URL", o.URL.Scheme)
	}
	return nil, nil
}

// HideUser hides what precedes an @ in a URL: it may be a password.
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
