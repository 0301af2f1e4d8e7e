// Package grpc is a load.Target for gRPC calls, on google.golang.org/grpc.
//
// The method is found by .proto files or by server reflection; its descriptor
// shows which side streams. The messages are encoded once from JSON, and every
// iteration sends the same bytes. Responses are counted and not decoded. What a
// status means:
//
//   - a status that the server sent is a response: Outcome.Status is its code. If it
//     is not the expected one, Outcome.Failed is set and Outcome.Detail is its message;
//   - everything else (no connection, timeout, connection lost, a response that is
//     not gRPC) is an error of an errkind.Kind.
//
// An iteration is one call, whatever it streams, and one operation. Bytes are
// those of the encoded messages. Phases.FirstByte is the time from sending the
// first message to having received the first response, or a status without one:
// grpc-go shows nothing earlier without much work for every call. The kinds of
// methods:
//
//   - unary: one message, one response;
//   - a client stream: Config.Messages are sent, then the one response is read.
//     Outcome.Messages is empty: no message has a response of its own;
//   - a server stream: one message is sent and all are read, or the first
//     Config.Messages. Outcome.Messages are the time from sending to the first
//     and then the gaps from one to the next, as the reader sees them;
//   - a bidirectional stream: each message is sent when the previous one has been
//     answered. Outcome.Messages are the times from sending one to the next message
//     received, which assumes that the server answers each message with one. Further
//     messages of the server are read when all are answered.
//
// A stream that ends with OK before it had all its messages is a failed response with
// Outcome.Check "messages". At most 16384 messages of an iteration are timed; later
// ones are only counted.
//
// While a connection is down each iteration waits for the next attempt to
// connect (at most about 0.1 s apart) and fails with the attempt's error, so
// that errors count attempts and not turns of an idle loop.
package grpc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"

	"contend/load"
	"contend/protocol/wire"
)

// A Target calls one method. It is safe for concurrent use.
type Target struct {
	dialer   dialer
	call     call
	sharing  wire.Connections
	engine   wire.Engines
	ownCores bool
	metadata metadata.MD
	held     bool // each VU holds one stream for all of its iterations

	mu   sync.Mutex
	pool []*channel // opened for the first VU: event loops have connections of their own
	// haste is set once a stream took too long to end in good order: the others are then ended at once.
	haste atomic.Bool
	// away is when a connection was last waited for in vain, in Unix nanoseconds.
	away atomic.Int64
}

var _ load.Reacher = (*Target)(nil)

// Multiplexes reports whether callers share connections.
func (t *Target) Multiplexes() bool { return t.sharing.Pool() > 0 }

// connectWait bounds how long NewVU waits for connections. One that comes later
// is waited for by the iterations.
const connectWait = 2 * time.Second

// New finds the method and encodes the messages. With ProtoFiles it needs no
// server: a missing one is counted by the iterations. Without them the server
// is asked, for at most 5 s; an error whose chain holds a *errkind.Error says
// why it could not be reached. Any other error joins a *setting.Mistake for
// everything that is wrong with cfg.
func New(ctx context.Context, cfg Config) (*Target, error) {
	address, err := parseAddress(cfg.URL)
	dialer, tlsErr := newDialer(address, cfg)
	if err := errors.Join(err, tlsErr, cfg.check()); err != nil {
		return nil, err
	}
	method, err := findMethod(ctx, dialer, address, cfg)
	if err != nil {
		return nil, err
	}
	call, err := cfg.call(method)
	if err != nil {
		return nil, err
	}
	return &Target{
		dialer: dialer, call: call, sharing: cfg.Connections, engine: cfg.Engines, ownCores: cfg.OwnCores,
		metadata: copyMetadata(cfg.Metadata), held: cfg.Stream == PerVU,
	}, nil
}

// shared returns the shared link of a VU.
func (t *Target) shared(ctx context.Context, id int) (*channel, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.pool) < t.sharing.Pool() {
		l, err := t.connect(ctx)
		if err != nil {
			return nil, err
		}
		t.pool = append(t.pool, l)
	}
	return t.pool[id%len(t.pool)], nil
}

// connect returns a channel after it is connected, or after connectWait. While the last such wait was
// in vain, further calls do not wait, so that the waits of many VUs do not add up.
func (t *Target) connect(ctx context.Context) (*channel, error) {
	l, err := t.dialer.new()
	if err != nil {
		return nil, err
	}
	if time.Since(time.Unix(0, t.away.Load())) < connectWait {
		l.conn.Connect()
		return l, nil
	}
	waiting, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	if err := l.connect(waiting); err != nil {
		t.away.Store(time.Now().UnixNano())
	}
	if ctx.Err() != nil {
		l.close()
		return nil, ended(ctx, ctx.Err())
	}
	return l, nil
}

// Method returns the full name of the method called, "/package.Service/Method".
func (t *Target) Method() string { return t.call.method }

// NewVU makes virtual user id and its connection, or all shared ones. With
// shared connections VU id uses connection id modulo their number. If the server
// cannot be reached within 2 s the iterations go on trying.
func (t *Target) NewVU(ctx context.Context, id int) (load.VU, error) {
	base := vu{caller: newCaller(t.call), metadata: t.metadata}
	var (
		l    *channel
		err  error
		owns = t.sharing.Sharing == wire.PerVU
	)
	switch {
	case t.sharing.Sharing == wire.PerIteration:
		return &connectingVU{vu: base, dialer: t.dialer}, nil
	case owns:
		l, err = t.connect(ctx)
	default:
		l, err = t.shared(ctx, id)
	}
	switch {
	case err != nil:
		return nil, err
	case t.held:
		return newHeldVU(base, l, owns, &t.haste), nil
	case owns:
		return &owningVU{sharedVU{vu: base, link: l}}, nil
	}
	return &sharedVU{vu: base, link: l}, nil
}

// Reach opens a connection and closes it.
func (t *Target) Reach(ctx context.Context) error {
	l, err := t.dialer.open(ctx)
	if err != nil {
		return err
	}
	l.close()
	return nil
}

// Close closes the shared connections. VUs with connections of their own close
// those themselves.
func (t *Target) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.pool {
		l.close()
	}
	t.pool = nil
	return nil
}
