package grpc

import (
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc/codes"

	"contend/protocol/wire"
)

// A Config says what is called and how. Only URL is required.
type Config struct {
	// URL is grpc://host:port/package.Service/Method, or grpcs:// for TLS. A dot
	// before Method is accepted too.
	URL string
	// Data is the request message as protobuf JSON; empty means {}. For a method
	// whose client streams it may be several messages, as a JSON array or one
	// after another, which are sent in turn.
	Data []byte
	// Messages is how many messages an iteration sends when the client streams;
	// 0 means each of Data's once, or one if StreamPerVU. Of a server stream it is
	// how many an iteration reads before it ends the call; 0 means all. It does
	// not apply to unary methods.
	Messages int
	// StreamPerVU keeps one bidirectional stream per VU open: an iteration is
	// Messages messages with their answers, not a call. Nothing but the failure of
	// an iteration ends the stream; the next iteration opens another.
	StreamPerVU bool
	// Deadline is what the server is told (grpc-timeout) instead of the
	// iteration's timeout; zero means the same. Only if there is no timeout it
	// bounds the iteration too. It does not apply to a StreamPerVU.
	Deadline time.Duration
	// Metadata is sent with every call. Keys are lower-case; a key that ends
	// in -bin has binary values. No error repeats a value: it may be a secret.
	Metadata map[string][]string
	// ProtoFiles describe the method; without any the server is asked by
	// reflection (v1, then v1alpha).
	ProtoFiles []string
	// ImportPaths are the folders in which ProtoFiles and their imports are
	// looked up. Empty means the folders of ProtoFiles.
	ImportPaths []string
	// Connections says which VUs share a connection; the zero value is per-vu.
	Connections wire.Connections
	// TLS is used with grpcs:// only.
	TLS wire.TLS
	// ExpectCode is the gRPC status code of a right answer, 0 (OK) to 16.
	ExpectCode int
	// OwnCores says that a server on this machine does not need the cores that
	// this process may use, so that event loops can have them all.
	OwnCores bool
	// MaxMessage is the largest message of the server that is taken, in bytes; a
	// larger one is an error of kind protocol. 0 means 4 MiB, as in every gRPC
	// library.
	MaxMessage int
}

const defaultMaxMessage = 4 << 20

// check returns every mistake that can be seen before the method is known.
func (c Config) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.ExpectCode < int(codes.OK) || c.ExpectCode > int(codes.Unauthenticated) {
		wrong("expected code %d: want 0 (OK) to 16 (Unauthenticated)", c.ExpectCode)
	}
	if c.Messages < 0 {
		wrong("messages %d: want 0 or more", c.Messages)
	}
	if c.Deadline < 0 {
		wrong("deadline %v: want 0 or more", c.Deadline)
	}
	if c.MaxMessage < 0 || c.MaxMessage > math.MaxInt32 {
		wrong("largest message %d: want 0 to %d bytes", c.MaxMessage, math.MaxInt32)
	}
	if c.StreamPerVU && c.Deadline > 0 {
		wrong("deadline %v: a stream that outlives the iteration has none", c.Deadline)
	}
	if c.StreamPerVU && c.Connections.Sharing == wire.PerIteration {
		wrong("connections %v: a stream per VU outlives the iteration", c.Connections)
	}
	return errors.Join(append(errs, c.Connections.Check(), checkMetadata(c.Metadata))...)
}

// call turns the method and the configuration into what an iteration does.
func (c Config) call(m method) (call, error) {
	kind := m.kind()
	requests, err := m.encode(c.Data)
	errs := []error{err}
	if c.StreamPerVU && kind != bidirectional {
		errs = append(errs, fmt.Errorf("a stream per VU: the method is %v: want a bidirectional stream", kind))
	}
	if c.Messages > 0 && kind == unary {
		errs = append(errs, fmt.Errorf("messages %d: the method is unary", c.Messages))
	}
	if err := errors.Join(errs...); err != nil {
		return call{}, err
	}
	messages := c.Messages
	if messages == 0 && kind.clientStreams() {
		messages = len(requests)
		if c.StreamPerVU {
			messages = 1
		}
	}
	return call{
		method: m.path(), kind: kind, desc: kind.desc(),
		request: requests[0], requests: requests, messages: messages,
		expect: codes.Code(c.ExpectCode), deadline: c.Deadline,
	}, nil
}
