// Package grpc is a load.Target for unary gRPC calls, on google.golang.org/grpc.
//
// The method is found by .proto files or by server reflection, the request is
// encoded once from JSON, and every iteration sends the same bytes. The answer
// is counted and not decoded. What a status means:
//
//   - a status that the server sent is an answer: Outcome.Status is its code and
//     Outcome.Failed says that it is not the expected one;
//   - everything else (no connection, timeout, connection lost, an answer that
//     is not gRPC) is an error of a load.ErrorKind.
//
// While a connection is down each iteration waits for the next attempt to
// connect (at most about 0.1 s apart) and fails with the attempt's error, so
// that errors count attempts and not turns of an idle loop.
package grpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"contend/load"
)

// A Config says what is called and how. Only URL is required.
type Config struct {
	// URL is grpc://host:port/package.Service/Method, or grpcs:// for TLS. A dot
	// before Method is accepted too.
	URL string
	// Data is the request message as protobuf JSON; empty means {}.
	Data []byte
	// Metadata is sent with every call. Keys are lower-case; a key that ends
	// in -bin has binary values.
	Metadata map[string][]string
	// ProtoFiles describe the method; without any the server is asked by
	// reflection (v1, then v1alpha).
	ProtoFiles []string
	// ImportPaths are the folders in which ProtoFiles and their imports are
	// looked up. Empty means the folders of ProtoFiles.
	ImportPaths []string
	// Connections says which VUs share a connection; zero means shared:1.
	Connections Connections
	// TLS is used with grpcs:// only.
	TLS TLS
	// ExpectCode is the gRPC status code of a right answer, 0 (OK) to 16.
	ExpectCode int
}

// A Target calls one unary method. It is safe for concurrent use.
type Target struct {
	dialer   dialer
	call     call
	sharing  Connections
	pool     []*link
	metadata metadata.MD
}

var _ load.Target = (*Target)(nil)

// New finds the method, encodes the request and opens the shared connections.
// Whatever the kind of connections, New connects at least once: an error whose
// chain holds a *load.Error says why the server could not be reached; any other
// error is a mistake in cfg.
func New(ctx context.Context, cfg Config) (*Target, error) {
	t, err := newTarget(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("grpc: %w", err)
	}
	return t, nil
}

func newTarget(ctx context.Context, cfg Config) (_ *Target, err error) {
	address, err := parseAddress(cfg.URL)
	if err != nil {
		return nil, err
	}
	dialer, err := newDialer(address, cfg)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(cfg.Connections.validate(), checkCode(cfg.ExpectCode), checkMetadata(cfg.Metadata)); err != nil {
		return nil, err
	}
	t := &Target{dialer: dialer, sharing: cfg.Connections, metadata: copyMetadata(cfg.Metadata)}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	if err := t.connect(ctx, cfg.Connections.poolSize()); err != nil {
		return nil, err
	}
	method, err := findMethod(ctx, t.pool[0], address, cfg)
	if err != nil {
		return nil, err
	}
	request, err := method.encode(cfg.Data)
	if err != nil {
		return nil, err
	}
	t.call = call{method: method.path(), request: request, expect: codes.Code(cfg.ExpectCode)}
	if cfg.Connections.Mode != Shared {
		t.Close()
	}
	return t, nil
}

func (t *Target) connect(ctx context.Context, n int) error {
	for range n {
		l, err := t.dialer.open(ctx)
		if err != nil {
			return err
		}
		t.pool = append(t.pool, l)
	}
	return nil
}

// Method returns the full name of the method called, "/package.Service/Method".
func (t *Target) Method() string { return t.call.method }

// NewVU makes virtual user id. With shared connections VU id uses connection
// id modulo their number; with a connection per VU it is opened here.
func (t *Target) NewVU(ctx context.Context, id int) (load.VU, error) {
	base := vu{caller: newCaller(t.call), metadata: t.metadata}
	switch t.sharing.Mode {
	case PerIteration:
		return &connectingVU{vu: base, dialer: t.dialer}, nil
	case PerVU:
		l, err := t.dialer.open(ctx)
		if err != nil {
			return nil, fmt.Errorf("grpc: %w", err)
		}
		return &owningVU{sharedVU{vu: base, link: l}}, nil
	default:
		return &sharedVU{vu: base, link: t.pool[id%len(t.pool)]}, nil
	}
}

// Close closes the shared connections. VUs with connections of their own close
// those themselves.
func (t *Target) Close() error {
	for _, l := range t.pool {
		l.close()
	}
	t.pool = nil
	return nil
}

func checkCode(code int) error {
	if code < int(codes.OK) || code > int(codes.Unauthenticated) {
		return fmt.Errorf("expected code %d: want 0 (OK) to 16 (Unauthenticated)", code)
	}
	return nil
}
