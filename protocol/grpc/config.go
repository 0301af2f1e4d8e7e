package grpc

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"contend/load"
	"contend/protocol/wire"
	"contend/setting"
)

// A Config says what is called and how. Only URL is required. The last fields are
// for Open.
type Config struct {
	// URL is grpc://host:port/package.Service/Method, or grpcs:// for TLS. A dot
	// before Method is also accepted.
	URL string `json:"target" file:"url" flag:"-"`
	// Data is the request message as protobuf JSON; empty means {}. For a method
	// whose client streams it may be several messages, as a JSON array or one
	// after another, which are sent in turn.
	Data wire.Bytes `file:"data"`
	// Messages is how many messages an iteration sends when the client streams; 0
	// means each of Data's once, or one if Stream is PerVU. For a server stream it is
	// how many an iteration reads before it ends the call; 0 means all. It does not
	// apply to unary methods.
	Messages int `file:"messages" min:"0" words:"gRPC streams: *number* of messages to send per iteration, or to read from a server stream"`
	// Stream PerVU keeps one bidirectional stream per VU open: an iteration is
	// Messages messages with their answers, not a call. Nothing but the failure of
	// an iteration ends the stream; the next iteration opens another.
	Stream Stream `file:"stream" oneof:"per-iteration,per-vu" default:"per-iteration" words:"gRPC: *per-vu* keeps a bidirectional stream open across iterations"`
	// Deadline is announced to the server (grpc-timeout) instead of the iteration's
	// timeout; zero means the same. It bounds the iteration only if there is no
	// timeout. It does not apply to a stream PerVU.
	Deadline time.Duration `file:"deadline" min:"0s" words:"gRPC: deadline to announce to the server instead of the timeout"`
	// Metadata is sent with every call. Keys are lower-case; a key that ends
	// in -bin has binary values. No error repeats a value: it may be a secret.
	Metadata map[string][]string
	// ProtoFiles describe the method; without any the server is asked by
	// reflection (v1, then v1alpha).
	ProtoFiles []string `file:"proto" list:"repeat" words:".proto *file* that describes the gRPC method (default: ask the server by reflection)"`
	// ImportPaths are the folders in which ProtoFiles and their imports are
	// looked up. Empty means the folders of ProtoFiles.
	ImportPaths []string `file:"import_path" list:"repeat" words:"*folder* to search for .proto files"`
	// Connections says which VUs share a connection; the zero value is per-vu.
	Connections wire.Connections `file:"connections" default:"shared:1"`
	// TLS is used with grpcs:// only.
	TLS wire.TLS
	// Dial opens a connection instead of the operating system, as through a proxy; TLS, if
	// any, runs over what it returns.
	Dial func(ctx context.Context) (net.Conn, error)
	// ExpectCode is the gRPC status code of a right answer, 0 (OK) to 16.
	ExpectCode int `file:"expect_status" min:"0" max:"16"`
	// OwnCores says that a server on this machine does not need the cores that
	// this process may use, so that event loops can have them all.
	OwnCores bool
	// Slower multiplies the time that the server has to describe its method; 0 means 1.
	Slower int
	// MaxMessage is the largest message of the server that is taken, in bytes; a
	// larger one is an error of kind protocol. 0 means 4 MiB, as in every gRPC
	// library.
	MaxMessage int `file:"max_message" unit:"bytes" min:"0" max:"2147483647" words:"largest message to accept, in *bytes*"`

	// Header becomes Metadata; the value of a name that ends in -bin is in base64
	// (standard alphabet, padded or not).
	Header []wire.Field `file:"header" list:"repeat"`
	wire.Engines
	wire.Common
}

// A Stream says how long a stream lasts; empty means PerIteration.
type Stream string

// The lengths of streams.
const (
	PerIteration Stream = "per-iteration"
	PerVU        Stream = "per-vu"
)

const defaultMaxMessage = 4 << 20

// check returns every mistake that can be seen before the method is known.
func (c Config) check() error {
	c.Stream = cmp.Or(c.Stream, PerIteration)
	errs := []error{setting.Check(c), c.checkMetadata()}
	if c.Stream == PerVU && c.Deadline > 0 {
		errs = append(errs, setting.At(&c, &c.Deadline).Wrong("is %v, but a stream that outlives the iteration has none", c.Deadline))
	}
	if c.Stream == PerVU && c.Connections.Sharing == wire.PerIteration {
		errs = append(errs, setting.At(&c, &c.Connections).Wrong("is %v, but a stream for each caller outlives the iteration", c.Connections))
	}
	return errors.Join(errs...)
}

// call turns the method and the configuration into what an iteration does.
func (c Config) call(m method) (call, error) {
	kind := m.kind()
	requests, err := m.encode(c.Data)
	errs := []error{c.Body.In(setting.At(&c, &c.Data)).About(err)}
	if c.Stream == PerVU && kind != bidirectional {
		errs = append(errs, setting.At(&c, &c.Stream).Wrong("is %s, but the method is %v; expected a bidirectional stream", c.Stream, kind))
	}
	if c.Messages > 0 && kind == unary {
		errs = append(errs, setting.At(&c, &c.Messages).Wrong("is %d, but the method is unary", c.Messages))
	}
	if err := errors.Join(errs...); err != nil {
		return call{}, err
	}
	messages := c.Messages
	if messages == 0 && kind.clientStreams() {
		messages = len(requests)
		if c.Stream == PerVU {
			messages = 1
		}
	}
	expect, expected := codes.Code(c.ExpectCode), ""
	if expect != codes.OK {
		expected = strconv.Itoa(c.ExpectCode)
	}
	return call{
		method: m.path(), kind: kind, desc: kind.desc(),
		request: requests[0], requests: requests, messages: messages,
		expect: expect, said: load.Content{StatusName: expect.String()}, expected: expected, deadline: c.Deadline,
	}, nil
}
