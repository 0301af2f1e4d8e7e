// Package http puts a server under load over HTTP/1.1.
//
// Each virtual user has one connection and sends one request per iteration:
// the same one, built once, or one of several in turn, or one filled from data.
// The client is our own, since net/http costs 2.8 times as much per request. It has
// no pipelining, redirects or cookies, and decodes bodies for checks only: the bytes
// that the server sent are counted.
//
// There are two engines with the same parser and the same results: event loops
// (package loop), and goroutines on net.Conn where event loops do not work.
//
// # Requests
//
// Several requests are sent in the order of smooth weighted round-robin, which
// is one for all virtual users: any number of iterations has the shares that
// the weights say, to within one turn. Which virtual user sends which is left
// to chance, unless there is one alone. Data is filled in for each iteration:
// all templates of a request see the same row.
//
// # Connections
//
// NewVU connects before the clock starts, unless keep-alive is off. If that
// fails, the run goes on: the virtual user tries again in its first iteration
// and reports the failure there. After an error, and after an answer that ends
// the connection, the next iteration opens a new one and says so in
// Phases.Connect.
//
// A server may close a kept connection while nobody uses it. A connection that was idle
// for a while is therefore checked before the next request, and replaced if the server
// has closed it or has sent something unrequested. Nothing was sent by then, so this is
// safe for every method.
//
// A server may also close while the request is on its way: the connection has carried a
// response, and ends or is reset before anything of the next one comes. A request that
// only reads (GET, HEAD, OPTIONS, TRACE) is then sent again, once, on a new connection,
// and counted in Outcome.Resent; any other one is an error of kind Stale. In HTTP/2 a
// server may report that it did not process a request (GOAWAY, REFUSED_STREAM): it is
// sent again, whatever its method, up to twice (RFC 9113, section 8.7). All of that
// counts in its service time.
//
// # Errors
//
// A response that breaks HTTP, promises two lengths or is followed by more bytes than
// it announced is an error of kind Protocol. Line breaks are skipped, and a body where
// there can be none (204, 304, HEAD) only ends the connection: see Outcome.Stray. A
// response that is cut off, or missing at the connection's end, is Closed or Reset. An
// unexpected status is not an error but a failed Outcome.
package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"

	"contend/load"
	"contend/loop"
	"contend/protocol/data"
	"contend/protocol/wire"
)

// A Target sends one HTTP request per iteration. Its methods may be called
// concurrently.
type Target struct {
	origin    origin
	requests  []*request
	order     []uint8 // of the requests; nil: there is but one
	turns     atomic.Uint64
	data      *data.Source // nil: there are no templates
	wanted    []string     // names of the fields that checks need
	keepAlive bool
	http10    bool
	http2     bool
	shared    int  // connections of HTTP/2; 0: one for each virtual user
	same      bool // SameLength
	first     atomic.Pointer[Answer]
	tls       *tls.Config
	dial      func(ctx context.Context) (net.Conn, error)
	ownDial   string // what dial is, if it was given
	engine    wire.Engines
	ownCores  bool
	local     netip.Addr // to dial from; invalid: any
	buffer    int        // SocketBuffer
	early     wire.EarlyDial
}

var _ load.Reacher = (*Target)(nil)

// Multiplexes reports whether callers share connections of HTTP/2.
func (t *Target) Multiplexes() bool { return t.shared > 0 }

// New checks the whole of c. The error joins a *setting.Mistake for everything that is
// wrong with it. It does not connect.
func New(c Config) (*Target, error) {
	o, originErr := c.origin()
	requests, order, requestErr := c.compileAll(o)
	errs := []error{originErr, requestErr, c.checkWays(o)}
	if c.Data != nil {
		errs = append(errs, c.Data.Validate())
	}
	t := &Target{
		origin:    o,
		requests:  requests,
		order:     order,
		data:      c.Data,
		keepAlive: !c.DisableKeepAlive,
		http10:    c.HTTP10,
		http2:     c.HTTP2,
		shared:    c.Connections,
		same:      c.SameLength,
		dial:      c.Dial,
		engine:    c.Engines,
		ownCores:  c.OwnCores,
		buffer:    c.SocketBuffer,
	}
	if c.LocalAddress != "" {
		t.local, _ = netip.ParseAddr(c.LocalAddress) // checkWays has told of a mistake
	}
	protocol := "http/1.1"
	if c.HTTP2 {
		protocol = alpn
	}
	var tlsErr error
	t.tls, tlsErr = o.TLS(c.TLS, protocol)
	errs = append(errs, tlsErr)
	if t.ownDial = cmp.Or(c.DialWords, "a dial function of one's own"); t.dial == nil {
		t.dial, t.ownDial = t.dialNetwork, ""
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, r := range requests {
		need := r.checks.Needs()
		if t.wanted = append(t.wanted, need.Headers...); need.Body {
			t.wanted = append(t.wanted, encodingField)
		}
	}
	return t, nil
}

// NewVU makes a virtual user and, with keep-alive, connects it. A connection
// that fails is not an error: see the package comment.
func (t *Target) NewVU(ctx context.Context, id int) (load.VU, error) {
	if t.http2 {
		return nil, errors.New("HTTP/2 is spoken on event loops only")
	}
	s, err := t.newSender(id)
	if err != nil {
		return nil, err
	}
	v := newVU(t, s)
	if t.keepAlive {
		t.early.Try(ctx, func(ctx context.Context) (err error) {
			v.link, err = t.connect(ctx)
			return err
		})
	}
	return v, nil
}

// Reach opens a connection and closes it.
func (t *Target) Reach(ctx context.Context) error {
	conn, err := t.connect(ctx)
	if err != nil {
		return err
	}
	conn.Close() // it has shown what it was for
	return nil
}

// dialNetwork opens a plain connection. Probes for a dead peer are off: the
// iteration's timeout finds it, and they cost system calls.
func (t *Target) dialNetwork(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1}
	if t.local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(t.local, 0))
	}
	conn, err := d.DialContext(ctx, t.origin.network, t.origin.address)
	if err != nil || t.buffer == 0 {
		return conn, err
	}
	sized := conn.(interface {
		SetReadBuffer(bytes int) error
		SetWriteBuffer(bytes int) error
	})
	if err := errors.Join(sized.SetReadBuffer(t.buffer), sized.SetWriteBuffer(t.buffer)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// connect opens a connection and shakes hands over it if it is secure.
func (t *Target) connect(ctx context.Context) (*keptConn, error) {
	conn, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	if t.tls == nil {
		return newLink(conn), nil
	}
	secure := tls.Client(conn, t.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, loop.HandshakeError(err)
	}
	return newLink(secure), nil
}
