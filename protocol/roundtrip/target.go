// Package roundtrip puts a server under load over HTTP/2 and HTTP/3, through the
// clients of the standard library and of quic-go. It is the portable way: h2c with
// prior knowledge, HTTP/2 over TLS, and HTTP over QUIC.
//
// # Connections
//
// NewVU connects before the clock starts, unless connections are per iteration.
// If that fails, the run goes on: the virtual user tries again in its first
// iteration and reports the failure there. After an error on a connection of
// its own, and after the server has closed it, the next iteration opens a new
// one and says so in Phases.Connect. Virtual users that share a connection
// share the attempt to open it, and lose it only when it is broken. A request
// that was sent is sent again as package http does.
//
// # What is counted
//
// Outcome.BytesIn and BytesOut are those of the frames of requests and responses; over
// HTTP/3 those of bodies, as its library reports no others. Those of a shared connection
// are counted with the response that comes next. Phases.FirstByte is the time to the end
// of the response's header.
//
// # Errors
//
// A response that breaks HTTP is an error of kind Protocol; a stream that the server
// resets is Reset; a connection that ends before the response does is Closed or Reset.
// Over QUIC, a missing server is Refused if the network reports it, else Timeout.
package roundtrip

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/quic-go/quic-go/http3"

	"contend/load"
	ours "contend/protocol/http"
	"contend/protocol/wire"
)

// A Target sends one request per iteration. Its methods may be called
// concurrently, except Close.
type Target struct {
	config  Config
	origin  wire.Origin
	request *http.Request
	epoch   time.Time
	slots   *wire.Slots[clientConn]
	// expected is Config.ExpectStatus in words.
	expected string

	tls *tls.Config
	tcp *http.Transport
	udp *http3.Transport
	// dial replaces the operating system's connections of HTTP/2, as through a proxy.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

var _ interface {
	load.Reacher
	io.Closer
} = (*Target)(nil)

// maxHeader is how many bytes of an answer's header are read.
const maxHeader = 64 << 10

// New checks the whole of c. The error joins a *setting.Mistake for everything that is
// wrong with it. It does not connect.
func New(c Config) (*Target, error) {
	o, originErr := readURL(c)
	errs := []error{originErr, check(c)}
	t := &Target{config: c, origin: o, epoch: time.Now(), dial: (&net.Dialer{KeepAlive: -1}).DialContext}
	if c.Dial != nil {
		t.dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Dial(ctx) }
	}
	if originErr == nil {
		var tlsErr error
		t.request = build(c, o)
		t.tls, tlsErr = secured(c, o)
		errs = append(errs, tlsErr)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	t.config.Body, t.config.ExpectStatus = slices.Clone(c.Body), slices.Clone(c.ExpectStatus)
	t.expected = ours.Statuses(c.ExpectStatus)
	t.prepare()
	t.slots = wire.NewSlots(c.Sharing, t.open)
	return t, nil
}

// prepare makes the library's side of the version.
func (t *Target) prepare() {
	if t.config.Version == "3" {
		t.udp = &http3.Transport{DisableCompression: true, MaxResponseHeaderBytes: maxHeader}
		return
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	t.tcp = &http.Transport{Protocols: protocols, DisableCompression: true, MaxResponseHeaderBytes: maxHeader, DialContext: t.dialTCP}
}

// NewVU makes a virtual user and connects it, unless connections are per
// iteration. With shared connections VU id uses connection id modulo their
// number. It returns no error: see the package comment.
func (t *Target) NewVU(ctx context.Context, id int) (load.VU, error) {
	v := &vu{target: t}
	v.slot, v.owns = t.slots.For(ctx, id)
	return v, nil
}

// Reach opens a connection and closes it.
func (t *Target) Reach(ctx context.Context) error {
	conn, err := t.open(ctx)
	if err != nil {
		return err
	}
	conn.Close() // it has shown what it was for
	return nil
}

// Close closes the shared connections. Virtual users with connections of their
// own close those themselves.
func (t *Target) Close() error {
	t.slots.Close()
	return nil
}

// right reports whether status was expected.
func (t *Target) right(status int) bool {
	if len(t.config.ExpectStatus) == 0 {
		return status >= 200 && status < 400
	}
	return slices.Contains(t.config.ExpectStatus, status)
}

func (t *Target) now() time.Duration { return time.Since(t.epoch) }
