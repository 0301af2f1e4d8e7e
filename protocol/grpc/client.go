package grpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"contend/errkind"
	"contend/protocol/wire"
)

// Metadata are values by lower-case keys; a key that ends in -bin has binary values.
type Metadata map[string][]string

// Add adds a value. The error says what cannot be sent.
func (m Metadata) Add(key, value string) error {
	key = strings.ToLower(key)
	if problem := wrongMetadata(key, value); problem != "" {
		return errors.New(problem)
	}
	m[key] = append(m[key], value)
	return nil
}

func (m Metadata) in(ctx context.Context) context.Context {
	if len(m) == 0 {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, metadata.MD(m))
}

// Options are how a Client connects. The zero value is plain text.
type Options struct {
	// TLS is nil for plain text.
	TLS *tls.Config
	// At is the host:port that is dialled where it is not the server's own; "": it is.
	At string
	// Traffic counts what comes and goes over connections, below TLS; nil: nobody does.
	Traffic *wire.Traffic
	// MaxReceive and MaxSend bound messages, in bytes; 0 is 4 MiB and no bound.
	MaxReceive, MaxSend int
}

// A Client is a connection, over which any method can be called. When it is lost, the next call connects
// again. Its methods may be called concurrently. Without TLS unary calls have a connection of their own
// (direct), over which one is made at a time; streams and reflection get theirs when they are asked for.
type Client struct {
	dialer  dialer
	direct  *direct // nil: with TLS
	options []grpc.CallOption

	mu     sync.Mutex
	link   *channel // nil: nobody has needed it
	closed bool
}

// Dial connects. An error's chain holds a *errkind.Error, which says why that failed.
func Dial(ctx context.Context, hostPort string, o Options) (c *Client, err error) {
	c = &Client{options: []grpc.CallOption{grpc.ForceCodecV2(bytesCodec{})},
		dialer: dialer{hostPort: hostPort, at: o.At, traffic: o.Traffic, security: insecure.NewCredentials(), maxMessage: cmp.Or(o.MaxReceive, defaultMaxMessage)}}
	c.dialer.tcp.KeepAlive = -1 // it may live for one call
	if o.MaxSend > 0 {
		c.options = append(c.options, grpc.MaxCallSendMsgSize(o.MaxSend))
	}
	if o.TLS == nil {
		c.direct, err = dialDirect(ctx, c.dialer, o.MaxSend)
	} else {
		c.dialer.security = credentials.NewTLS(o.TLS)
		_, err = c.channel(ctx)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// channel is that of grpc-go.
func (c *Client) channel(ctx context.Context) (l *channel, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.link == nil {
		c.link, err = c.dialer.open(ctx)
	}
	return c.link, err
}

// errClosed is what calls have that come too late.
var errClosed = &errkind.Error{Kind: errkind.Cancelled, Err: errors.New("the connection is closed")}

// Close ends the connection and all calls over it. It must be the last call, except those of InvokeBeside.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.direct != nil {
		c.direct.close()
		c.direct = nil
	}
	if c.link != nil {
		c.link.close()
		c.link = nil
	}
	return nil
}

// Schema asks the server by reflection for what it has.
func (c *Client) Schema(ctx context.Context, m Metadata) (s *Schema, err error) {
	link, err := c.channel(ctx)
	if err != nil {
		return nil, err
	}
	err = link.reflect(m.in(ctx), func(r *reflector) error {
		s, err = r.askAll()
		return err
	})
	if status.Code(err) == codes.Unimplemented {
		return nil, errors.New("the server has no reflection service to ask: load its .proto files")
	}
	return s, err
}

// A Reply is the outcome of a call.
type Reply struct {
	// Code is the status, 0 (OK) to 16: the server's, or the one for Err.
	Code int
	// Status is the text of a status that is not OK.
	Status string
	// Err is why there was no answer of the server, a *errkind.Error; nil: there was one.
	Err error
	// Message is the encoded answer, of a status of OK.
	Message         []byte
	Header, Trailer map[string][]string
	// Service is from the call to its answer.
	Service time.Duration
}

// settle fills in how a call ended.
func (r *Reply) settle(ctx context.Context, l *channel, header, trailer metadata.MD, err error) {
	r.Header, r.Trailer = header, trailer
	if err == nil {
		return
	}
	st := status.Convert(err)
	r.Err = lost(ctx, l, header, trailer, false, err)
	r.Code, r.Status = int(st.Code()), st.Message()
	if r.Err != nil && st.Code() == codes.Unknown { // no status at all
		r.Code = int(codeOf(errkind.Of(r.Err)))
	}
}

// codeOf is the status that replaces a missing one.
func codeOf(k errkind.Kind) codes.Code {
	switch k {
	case errkind.Timeout:
		return codes.DeadlineExceeded
	case errkind.Cancelled:
		return codes.Canceled
	}
	return codes.Unavailable
}

// Invoke calls a unary method with an encoded message, until ctx is done.
func (c *Client) Invoke(ctx context.Context, m *Method, message []byte, with Metadata) *Reply {
	if c.direct != nil {
		return c.direct.invoke(ctx, m.Path(), message, with)
	}
	return c.InvokeBeside(ctx, m, message, with)
}

// InvokeBeside is Invoke for calls that are made side by side over one connection.
func (c *Client) InvokeBeside(ctx context.Context, m *Method, message []byte, with Metadata) *Reply {
	began := time.Now()
	link, err := c.channel(ctx)
	if err != nil {
		return unconnected(began, err)
	}
	i := invocation{client: c, path: m.Path(), message: message}
	r := &Reply{}
	began = time.Now()
	ctx = with.in(ctx)
	_, err = link.open(ctx, &i)
	r.Service = time.Since(began)
	r.settle(ctx, link, i.header, i.trailer, err)
	if err == nil {
		r.Message = i.answer
	}
	return r
}

// unconnected is the outcome of a call without a connection.
func unconnected(began time.Time, err error) *Reply {
	return &Reply{Code: int(codeOf(errkind.Of(err))), Status: err.Error(), Err: err, Service: time.Since(began)}
}

// An invocation is a unary call.
type invocation struct {
	client          *Client
	path            string
	message, answer []byte
	header, trailer metadata.MD
}

func (i *invocation) attempt(ctx context.Context, l *channel, patient bool) (grpc.ClientStream, error) {
	options := append(i.client.options[:len(i.client.options):len(i.client.options)],
		grpc.Header(&i.header), grpc.Trailer(&i.trailer), grpc.WaitForReady(patient))
	return nil, l.conn.Invoke(ctx, i.path, i.message, &i.answer, options...)
}

// An OpenStream is a call in which at least one side sends a stream. One goroutine may send while
// another receives.
type OpenStream struct {
	link   *channel
	ctx    context.Context
	stream grpc.ClientStream
	began  time.Time
}

// Stream opens a call, which lives until it has ended or ctx is done: ctx must be ended.
// If that fails, the reply says why.
func (c *Client) Stream(ctx context.Context, m *Method, with Metadata) (*OpenStream, *Reply) {
	began := time.Now()
	link, err := c.channel(ctx)
	if err != nil {
		return nil, unconnected(began, err)
	}
	s := &OpenStream{link: link, ctx: with.in(ctx), began: time.Now()}
	s.stream, err = s.link.open(s.ctx, &streaming{c, m})
	if err != nil {
		return nil, s.ended(err)
	}
	return s, nil
}

// A streaming opens streams.
type streaming struct {
	client *Client
	method *Method
}

func (s *streaming) attempt(ctx context.Context, l *channel, patient bool) (grpc.ClientStream, error) {
	options := append(s.client.options[:len(s.client.options):len(s.client.options)], grpc.WaitForReady(patient))
	return l.conn.NewStream(ctx, s.method.of.kind().desc(), s.method.Path(), options...)
}

// Send sends an encoded message; it waits while the server takes none. After an error Receive says what ended the call.
func (s *OpenStream) Send(message []byte) error { return s.stream.SendMsg(message) }

// CloseSend tells the server that there are no more messages.
func (s *OpenStream) CloseSend() error { return s.stream.CloseSend() }

// Header waits for what the server sends before messages; nil: nothing.
func (s *OpenStream) Header() map[string][]string {
	header, _ := s.stream.Header() // Receive returns the same error
	return header
}

// Receive returns the next encoded message, or the reply that ended the call.
func (s *OpenStream) Receive() ([]byte, *Reply) {
	var message []byte
	if err := s.stream.RecvMsg(&message); err != nil {
		return nil, s.ended(err)
	}
	return message, nil
}

func (s *OpenStream) ended(err error) *Reply {
	r := &Reply{Service: time.Since(s.began)}
	var header, trailer metadata.MD
	if s.stream != nil {
		header, trailer = s.Header(), s.stream.Trailer()
	}
	if err == io.EOF {
		err = nil
	}
	r.settle(s.ctx, s.link, header, trailer, err)
	return r
}

// Codes returns the names of the statuses, by their numbers: OK, Canceled, ….
func Codes() []string {
	names := make([]string, codes.Unauthenticated+1)
	for i := range names {
		names[i] = codes.Code(i).String()
	}
	return names
}

// bytesCodec sends a []byte as it is and receives into a *[]byte.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is not encoded", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(message)}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (bytesCodec) Name() string { return "" }
