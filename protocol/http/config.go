package http

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"contend/loop"
	"contend/protocol/data"
	"contend/protocol/wire"
	"contend/setting"
)

// A Config says which request every iteration sends, how, and which answers
// are right. Only URL must be set. What Open alone reads is marked.
type Config struct {
	// URL is http://host/path, https://host/path, or, for a Unix socket,
	// http+unix:///path/of/socket:/path. It must not hold user information,
	// because URLs are printed in reports: send an Authorization header.
	URL string `json:"target" file:"url" flag:"-"`
	// UnixSocket is the path of a socket to connect to instead of URL's host.
	UnixSocket string `file:"unix_socket" words:"connect to this *socket* instead of the URL's host"`
	// Method is the request's method; empty means POST with a body, else GET.
	Method string `file:"method" flag:"method,X" words:"HTTP *method* (GET; with a body POST)"`
	// HTTP2 speaks HTTP/2 on event loops only (loop.Supported): with prior knowledge
	// to an http URL, and to an https URL if the server chooses it by ALPN, else
	// each iteration ends in an error of kind Protocol.
	HTTP2 bool
	// Connections is how many connections of HTTP/2 the virtual users share, each
	// by a stream; zero means that each has its own.
	Connections int
	// Header is sent in this order. It overrides the fields that are sent
	// unasked: Host, User-Agent and, where it is sent, Connection.
	// Content-Length is set from Body and Transfer-Encoding is not possible.
	Header []wire.Field `file:"header" flag:"header,H" list:"repeat" words:"header field or metadata, \"*Name: value*\"; repeatable"`
	// Body is sent with its Content-Length in every request.
	Body wire.Bytes `file:"data" words:"*body* or message to send; protobuf messages as JSON, one or more"`
	// ExpectStatus lists the right answers' statuses (100 to 999). Empty means
	// 200 to 399. Redirects are reported and not followed.
	ExpectStatus []int `file:"expect_status" min:"100" max:"999" words:"*status* codes that count as success (default: any non-error status)"`
	// Checks are what a right answer must pass in addition, in the language of
	// package protocol/check. A check of the status replaces the usual range. If a
	// body is checked, up to check.BodyLimit of it is kept for each virtual user.
	Checks []string `file:"checks" flag:"check" list:"repeat" words:"*check* that every response must pass, such as 'body contains \"ok\"'; repeatable"`
	// Requests are sent in turn, by weight, instead of one request.
	Requests Requests `file:"requests" words:"JSON *file* with a list of HTTP requests and their weights"`
	// Data makes templates (package protocol/data) of the URL's path and query,
	// of the values in Header and of Body, and fills them for every iteration.
	// Without it braces are just text.
	Data *data.Source
	// Auth identifies us to the server.
	Auth wire.Auth
	// DisableKeepAlive opens a connection for every iteration.
	DisableKeepAlive bool `file:"no_keepalive" words:"open a new connection for every iteration"`
	// Proxy is the host:port of a proxy that is sent the requests for an http
	// URL instead of the URL's host.
	Proxy string
	// OwnCores says that a server on this machine does not need the cores that
	// this process may use, so that event loops can have them all.
	OwnCores bool
	// TLS applies to https only.
	TLS wire.TLS
	// Dial opens a connection instead of the operating system; TLS, if any, runs
	// over what it returns. It must return promptly once ctx is done. It may be
	// called concurrently.
	Dial func(ctx context.Context) (net.Conn, error)
	// DialWords say what Dial is; "": a function of one's own.
	DialWords string
	AB

	// The rest is for Open, which sets the fields above by it.

	// Version chooses HTTP2, or another package.
	Version string `file:"http" oneof:"1.1,2,3" default:"1.1" words:"HTTP *version*: 1.1, 2 or 3"`
	// Sharing is about HTTP/2 and HTTP/3.
	Sharing wire.Connections `file:"connections" words:"how callers share connections: *shared:N*, per-vu or per-iteration"`
	wire.Engines
	data.Settings
	wire.Common
}

// AB is what Apache Bench alone has flags for.
type AB struct {
	// HTTP10 sends requests of HTTP/1.0. They ask for "Connection: Keep-Alive"
	// unless keep-alive is off, and the connection is kept only if the answer
	// says the same.
	HTTP10 bool
	// SameLength calls an answer wrong, by the check "length", if its body is
	// not as long as that of the target's first answer.
	SameLength bool
	// LocalAddress is the IP address that connections come from.
	LocalAddress string
	// SocketBuffer is the size in bytes of each connection's two buffers in the
	// kernel; zero leaves it to the kernel.
	SocketBuffer int
}

// checkWays finds what is wrong with how connections are to be made.
func (c Config) checkWays(o origin) error {
	var errs []error
	wrong := func(field, format string, args ...any) {
		errs = append(errs, setting.Setting{Name: field}.Wrong(format, args...))
	}
	for _, way := range []struct {
		name string
		set  bool
	}{
		{"Proxy", c.Proxy != ""},
		{"LocalAddress", c.LocalAddress != ""},
		{"SocketBuffer", c.SocketBuffer != 0},
	} {
		switch {
		case way.set && c.Dial != nil:
			wrong(way.name, "does not apply to a Dial of one's own")
		case way.set && o.network == "unix" && way.name != "SocketBuffer":
			wrong(way.name, "does not apply to a Unix socket")
		}
	}
	if c.Proxy != "" && !isHostPort(c.Proxy) {
		wrong("Proxy", "is %q; expected host:port", c.Proxy)
	}
	if c.Proxy != "" && o.Secure {
		wrong("Proxy", "is %q, but a tunnel to an https URL is not supported", c.Proxy)
	}
	if c.HTTP2 {
		c.checkHTTP2(wrong)
	} else if c.Connections != 0 {
		wrong("Connections", "is %d, but in HTTP/1.1 every caller has its own", c.Connections)
	}
	if _, err := netip.ParseAddr(c.LocalAddress); err != nil && c.LocalAddress != "" {
		wrong("LocalAddress", "is %q; expected an IP address", c.LocalAddress)
	}
	if c.SocketBuffer < 0 || c.SocketBuffer > maxSocketBuffer {
		wrong("SocketBuffer", "is %d; expected 0 to %d", c.SocketBuffer, maxSocketBuffer)
	}
	return errors.Join(errs...)
}

func (c Config) checkHTTP2(wrong func(field, format string, args ...any)) {
	if ok, why := loop.Supported(); !ok {
		wrong("HTTP2", "needs event loops: %s", why)
	}
	for _, other := range []struct {
		name string
		set  bool
	}{
		{"HTTP10", c.HTTP10}, {"Proxy", c.Proxy != ""},
		{"Dial", c.Dial != nil}, {"DisableKeepAlive with Connections", c.DisableKeepAlive && c.Connections > 0},
	} {
		if other.set {
			wrong("HTTP2", "is not possible with %s", other.name)
		}
	}
	if c.Connections < 0 {
		wrong("Connections", "is %d; expected 0 or more", c.Connections)
	}
}

// maxSocketBuffer is more than any kernel grants and fits its int of 32 bits
// after it has doubled it.
const maxSocketBuffer = 1 << 29

func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, portErr := strconv.ParseUint(port, 10, 16)
	return err == nil && portErr == nil && n > 0 && host != ""
}

// An origin is what a URL says: which address to dial, what to ask, and how.
type origin struct {
	wire.Origin
	network, address string // to dial: the URL's, the socket or the proxy
	host             string // of the Host field
	target           string // path and query, or all of the URL for a proxy
}

func (o origin) scheme() string {
	if o.Secure {
		return "https"
	}
	return "http"
}

const unixScheme = "http+unix://"

func (c Config) origin() (origin, error) {
	raw, socket := c.URL, c.UnixSocket
	if rest, ok := strings.CutPrefix(raw, unixScheme); ok {
		if socket != "" {
			return origin{}, setting.At(&c, &c.UnixSocket).Wrong("is %q, but the URL %q names a socket: give it once", socket, raw)
		}
		inside := ""
		socket, inside, _ = strings.Cut(rest, ":/")
		if socket == "" {
			return origin{}, wire.URL.Wrong("is %q, which has no socket: write %s/path/of/socket:/path", raw, unixScheme)
		}
		raw = "http://localhost/" + inside
	}
	path := ""
	if c.Data != nil {
		raw, path = cutPath(raw)
	}
	server, err := wire.ParseURL(raw, "http", "https", "http+unix")
	if err == nil {
		err = server.CheckHost()
	}
	if err != nil {
		return origin{}, err
	}
	o := origin{
		Origin:  server,
		network: "tcp",
		address: server.Address,
		host:    withoutZone(server.URL.Host),
		target:  server.URL.RequestURI(),
	}
	if path != "" {
		o.target = path
	}
	if c.Proxy != "" && socket == "" {
		o.address, o.target = c.Proxy, c.target(o, o.target)
		return o, nil
	}
	if socket != "" {
		o.network, o.address = "unix", socket
	}
	return o, nil
}

// cutPath cuts off a path and query that are a template, which url.Parse would
// take for a mistake.
func cutPath(raw string) (rest, path string) {
	scheme := strings.Index(raw, "://")
	if scheme < 0 {
		return raw, ""
	}
	start := strings.IndexAny(raw[scheme+3:], "/?")
	if start < 0 {
		return raw, ""
	}
	rest, path = raw[:scheme+3+start], raw[scheme+3+start:]
	if path[0] == '?' {
		path = "/" + path
	}
	return rest, path
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
