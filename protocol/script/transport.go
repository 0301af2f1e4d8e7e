package script

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"contend/errkind"
	"contend/protocol/coding"
	own "contend/protocol/http"
)

// A call is one request of a script, without redirects.
type call struct {
	method  string
	url     *url.URL
	header  http.Header
	body    []byte
	timeout time.Duration
	discard bool // the answer's body is not looked at
}

// A reply is the outcome of a call: an answer, or an error. Times are lengths.
type reply struct {
	err     error
	status  int
	proto   string
	fields  []byte      // lines of the header,
	header  http.Header // or what they say: see answerHeader
	body    []byte
	length  int64  // of the body as received
	encoded error  // why the body is as the server encoded it; nil: it is not
	stuck   string // what was expected of a redirect that leads to no answer; "": all went well
	remote  net.Addr
	tls     *tls.ConnectionState
	resent  int  // how often the call was sent again
	stray   bool // bytes came that belong to no answer
	parted  int  // how many requests the connection carried that the server ended; 0: it did not

	blocked, lookup, connect, handshake, send, wait, receive, total time.Duration
}

// maxBody bounds the bodies that a script gets.
const maxBody = 64 << 20

var errLong = &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("a body of more than %d bytes", maxBody)}

// defaultTimeout is that of a request.
const defaultTimeout = time.Minute

func errLate(limit time.Duration) error {
	return &errkind.Error{Kind: errkind.Timeout, Err: fmt.Errorf("no complete answer within %v", limit)}
}

// roundTrip sends a call by net/http, and waits.
func (v *vu) roundTrip(c *call) *reply {
	r := &reply{}
	v.away(func(ctx context.Context) { v.exchange(ctx, c, r) })
	return r
}

// exchange sends a call by net/http. It touches nothing of the script.
func (v *vu) exchange(ctx context.Context, c *call, r *reply) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errLate(c.timeout))
	defer cancel()
	clock := stopwatch{marks: marks{began: time.Now()}}
	request := &http.Request{Method: c.method, URL: c.url, Header: c.header, ContentLength: int64(len(c.body)), Host: c.header.Get("Host"), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if len(c.body) > 0 {
		request.Body = io.NopCloser(bytes.NewReader(c.body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
	}
	answer, err := v.slow.RoundTrip(request.WithContext(httptrace.WithClientTrace(ctx, clock.trace())))
	if err == nil {
		err = r.read(answer, c.discard)
	}
	clock.tell(r)
	if err != nil && clock.stale(err) {
		err = errkind.StaleError(err)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	r.err = err
}

// read reads the answer to its end.
func (r *reply) read(answer *http.Response, discard bool) (err error) {
	defer answer.Body.Close()
	r.status, r.proto, r.header, r.tls = answer.StatusCode, answer.Proto, answer.Header, answer.TLS
	if discard {
		r.length, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	r.length = int64(len(body))
	switch {
	case err != nil:
		return err
	case len(body) > maxBody:
		return errLong
	}
	r.body, err = r.decode(body)
	return err
}

// answerHeader is the header of the answer. Most scripts do not look at it.
func (r *reply) answerHeader() http.Header {
	if r.header == nil {
		r.header = own.ParseFields(r.fields)
	}
	return r.header
}

// has reports whether the answer may have a field, whose name is given in lower case.
func (r *reply) has(name string) bool {
	return r.header != nil || own.HasField(r.fields, name)
}

// decode undoes the codings of a body. One that is not known is left as it is.
func (r *reply) decode(body []byte) ([]byte, error) {
	if len(body) == 0 || !r.has("content-encoding") {
		return body, nil
	}
	content, whole, err := coding.Decode(strings.Join(r.answerHeader().Values("Content-Encoding"), ","), body, maxBody)
	if _, unknown := errors.AsType[*coding.Unknown](err); unknown {
		r.encoded = err
		return body, nil
	}
	if err == nil && !whole {
		err = fmt.Errorf("a decoded body of more than %d bytes", maxBody)
	}
	if err != nil {
		return nil, &errkind.Error{Kind: errkind.Protocol, Err: err}
	}
	return content, nil
}

// transport makes the connections of a virtual user.
func (v *vu) transport() *http.Transport {
	o := &v.target.Options
	dialer := &net.Dialer{KeepAlive: -1}
	t := &http.Transport{
		Proxy: v.target.proxyOf,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return v.dialTo(ctx, dialer, network, address)
		},
		TLSClientConfig:        v.target.tls.Clone(), // which it changes
		DisableCompression:     true,
		DisableKeepAlives:      o.NoReuse,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    o.BatchPerHost,
		MaxConnsPerHost:        0,
		MaxResponseHeaderBytes: 256 << 10,
	}
	if len(o.certificates) > 0 {
		t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return v.dialTLS(ctx, dialer, network, address)
		}
	}
	return t
}

// dialTo connects to where options say that an address is.
func (v *vu) dialTo(ctx context.Context, dialer *net.Dialer, network, address string) (net.Conn, error) {
	to, err := v.target.where(ctx, address)
	if err != nil {
		return nil, err
	}
	return v.dialled(dialer.DialContext(ctx, network, to))
}

// dialled counts what comes and goes over a connection that was dialled.
func (v *vu) dialled(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return v.traffic.Over(conn), nil
}

// proxyOf is the proxy that a request goes through; nil: none.
func (t *Target) proxyOf(r *http.Request) (*url.URL, error) {
	found, err := t.proxies(r.URL)
	if found != nil && r.URL.Scheme == "https" && len(t.Options.certificates) > 0 {
		return nil, fmt.Errorf("options.tlsAuth does not go through a proxy, and the environment names one for %s: NO_PROXY=%s has it asked directly", r.URL.Host, r.URL.Hostname())
	}
	return found, err
}

// errorCode is 0, 1000 and more without an answer, or 1000 plus the status if that is 400 or more.
func (r *reply) errorCode() int {
	switch {
	case r.err != nil:
		return numberOf(r.err)
	case r.status >= 400:
		return 1000 + r.status
	}
	return 0
}

// errorCodes are the numbers that k6's documentation gives to kinds of failures (its page of error codes).
var errorCodes = map[errkind.Kind]int{errkind.DNS: 1100, errkind.Timeout: 1050, errkind.Refused: 1212, errkind.Reset: 1220,
	errkind.Dial: 1210, errkind.PortsExhausted: 1210, errkind.TLS: 1300}

// errorCode is the number of an error.
func errorCode(err error) int {
	if refused, ok := errors.AsType[refusedAddress](err); ok {
		return int(refused)
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok && unknown.IsNotFound {
		return 1101
	}
	if _, unknown := errors.AsType[*tls.CertificateVerificationError](err); unknown && errkind.Of(err) == errkind.TLS {
		return 1310
	}
	return cmp.Or(errorCodes[errkind.Of(err)], 1000)
}
