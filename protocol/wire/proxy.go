package wire

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"contend/failure"
)

// Proxies returns which proxy what is asked of a URL goes through, nil for none: by the variables
// HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in capitals or not, as net/http reads them. Hosts of the
// loopback are asked directly.
func (s Surroundings) Proxies() func(u *url.URL) (*url.URL, error) {
	get := func(names ...string) string {
		for _, name := range names {
			if s.Env == nil {
				break
			}
			if value, found := s.Env(name); found && value != "" {
				return value
			}
		}
		return ""
	}
	c := httpproxy.Config{HTTPProxy: get("HTTP_PROXY", "http_proxy"), HTTPSProxy: get("HTTPS_PROXY", "https_proxy"),
		NoProxy: get("NO_PROXY", "no_proxy"), CGI: get("REQUEST_METHOD") != ""}
	find := c.ProxyFunc()
	return func(u *url.URL) (*url.URL, error) {
		page := *u
		page.Scheme = cmp.Or(asPage[u.Scheme], u.Scheme)
		proxy, err := find(&page)
		if proxy != nil && strings.HasSuffix(proxy.Host, ":") {
			return nil, errors.New("not a URL") // "http:" of a value that httpproxy put "http://" before
		}
		return proxy, err
	}
}

// asPage is whose proxy other schemes have: gRPC that of https, as grpc-go has it.
var asPage = map[string]string{"ws": "http", "wss": "https", "grpc": "https", "grpcs": "https"}

// A Proxy is one that the environment names.
type Proxy struct{ url *url.URL }

// Proxy returns that of a URL; nil: it is asked directly. The error is a *setting.Mistake, which
// shows no password.
func (s Surroundings) Proxy(u *url.URL) (*Proxy, error) {
	found, err := s.Proxies()(u)
	switch {
	case err != nil:
		return nil, s.wrongProxy(u, "the environment names a proxy that is no URL")
	case found == nil:
		return nil, nil
	case found.Scheme != "http":
		return nil, s.wrongProxy(u, fmt.Sprintf("the environment has a proxy of %s for it, and contend speaks to those of http alone", found.Scheme))
	}
	if password, set := found.User.Password(); set {
		s.Secrets.Add("proxy_password", password)
	}
	return &Proxy{found}, nil
}

func (s Surroundings) wrongProxy(u *url.URL, why string) error {
	return URL.Wrong("is %q: %s; NO_PROXY=%s has it asked directly", u.Redacted(), why, u.Hostname())
}

// Refuse is the mistake of asking a URL in a way that no proxy passes on.
func (p *Proxy) Refuse(u *url.URL, what string) error {
	return URL.Wrong("is %q: %s does not go through %v, which the environment names; NO_PROXY=%s has it asked directly", u.Redacted(), what, p, u.Hostname())
}

// String is its URL without the user.
func (p *Proxy) String() string { return "the proxy " + p.url.Scheme + "://" + p.url.Host }

// Address is its host:port.
func (p *Proxy) Address() string {
	return net.JoinHostPort(p.url.Hostname(), cmp.Or(p.url.Port(), "80"))
}

// Fields identify us to it.
func (p *Proxy) Fields() []Field {
	if p.url.User == nil {
		return nil
	}
	password, _ := p.url.User.Password()
	return []Field{{Name: "Proxy-Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(p.url.User.Username()+":"+password))}}
}

// tunnelTimeout bounds how long a proxy may take to open a tunnel.
const tunnelTimeout = 30 * time.Second

// Tunnel returns what dials host:port through the proxy (CONNECT: RFC 9110, section 9.3.6).
func (p *Proxy) Tunnel(address string) func(ctx context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, tunnelTimeout)
		defer cancel()
		d := net.Dialer{KeepAlive: -1}
		conn, err := d.DialContext(ctx, "tcp", p.Address())
		if err != nil {
			return nil, failed(fmt.Errorf("%v: %w", p, err))
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		err = p.connect(conn, address)
		if !stop() {
			err = fmt.Errorf("%v: %w", p, context.Cause(ctx))
		}
		if err != nil {
			conn.Close()
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: failed(err)}
		}
		return conn, nil
	}
}

// failed says that no connection was made because of the proxy, which the error names.
func failed(err error) error {
	return failure.With(err, failure.Failure{Kind: failure.Proxy, Cause: err.Error()})
}

// connect asks for the tunnel.
func (p *Proxy) connect(conn net.Conn, address string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {"contend"}}}
	for _, f := range p.Fields() {
		request.Header.Set(f.Name, f.Value)
	}
	if err := request.Write(conn); err != nil {
		return fmt.Errorf("%v: %w", p, err)
	}
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, request)
	switch {
	case err != nil:
		return fmt.Errorf("%v: %w", p, err)
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%v opens no tunnel to %s: status %s", p, address, answer.Status)
	case r.Buffered() > 0:
		return errors.New("data before the client has said anything, from " + p.String())
	}
	return nil
}
