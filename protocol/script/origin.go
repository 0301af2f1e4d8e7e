package script

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// originOf returns what the origin of a URL is compared by: scheme://host of HTTP, host:port of gRPC,
// which may come without a scheme.
func originOf(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "grpc://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	u = ofPage(u)
	switch {
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return u.Scheme + "://" + u.Host, nil
	case isGRPC(u.Scheme) && u.Hostname() != "" && u.Port() != "":
		return u.Host, nil
	}
	return "", fmt.Errorf("%q is no origin", text)
}

func isGRPC(scheme string) bool { return scheme == "grpc" || scheme == "grpcs" }

// ofHTTP says of an origin whether it is one of HTTP.
func ofHTTP(origin string) bool { return strings.Contains(origin, "://") }

// isServer reports whether a URL of gRPC is an address and nothing else.
func isServer(u *url.URL) bool {
	return u.Hostname() != "" && u.Port() != "" && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

// baseURL is __ENV.BASE_URL: of gRPC host:port, which is what scripts connect to.
func baseURL(text string) string {
	if u, err := url.Parse(text); err == nil && isGRPC(u.Scheme) {
		return u.Host
	}
	return strings.TrimSuffix(text, "/")
}

// ofPage turns the URL of a WebSocket into that of a page on the same origin that would open it.
func ofPage(u *url.URL) *url.URL {
	page := *u
	if u.Scheme == "ws" || u.Scheme == "wss" {
		page.Scheme = "http" + strings.TrimPrefix(u.Scheme, "ws")
	}
	return &page
}

// redirected moves a URL from the script's origin to the one that is asked in its place. WebSockets
// move with the pages of their origin.
func (t *Target) redirected(u *url.URL) *url.URL {
	page := ofPage(u)
	if t.from == "" || page.Scheme+"://"+page.Host != t.from {
		return u
	}
	page.Scheme, page.Host, _ = strings.Cut(t.to, "://")
	if u.Scheme == "ws" || u.Scheme == "wss" {
		page.Scheme = "ws" + strings.TrimPrefix(page.Scheme, "http")
	}
	return page
}

// hostPort is what is dialled for a URL of a WebSocket.
func hostPort(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Host
	case u.Scheme == "wss":
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// server is what is connected to by gRPC where a script says hostPort, and whether in plain text.
func (t *Target) server(hostPort string, plain bool) (string, bool) {
	if t.from == "" || hostPort != t.from {
		return hostPort, plain
	}
	return t.to, strings.HasPrefix(t.config.URL, "grpc:")
}
