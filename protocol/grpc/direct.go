package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"contend/errkind"
	"contend/h2"
	"contend/protocol/wire"
)

// A direct is one connection without TLS for unary calls, one at a time, on package h2: connecting and
// calling over it cost a fraction of what they cost grpc-go. If it is lost the next call connects again.
type direct struct {
	dialer  dialer
	maxSend int // 0: any

	mu      sync.Mutex // held while it is used
	raw     net.Conn   // nil: not connected
	watch   wire.Watch
	conn    *h2.Conn
	out, in []byte
	request h2.Request
	used    time.Time // when it was last read
	reading reading   // what has arrived of the call
}

// idleLong is how long a connection is idle before a call asks it first what the server has said since.
const idleLong = time.Second

// directs are free ones: a script may connect for each call.
var directs = sync.Pool{New: func() any {
	d := &direct{in: make([]byte, 16<<10)}
	d.conn = h2.NewConn(1, &d.reading)
	d.watch.Interrupt = func() { d.raw.SetDeadline(time.Unix(1, 0)) }
	return d
}}

// dialDirect connects.
func dialDirect(ctx context.Context, by dialer, maxSend int) (*direct, error) {
	d := directs.Get().(*direct)
	d.dialer, d.maxSend = by, maxSend
	if err := d.connect(ctx); err != nil {
		directs.Put(d)
		return nil, err
	}
	return d, nil
}

// close must be the last call.
func (d *direct) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop()
	directs.Put(d)
}

func (d *direct) drop() {
	if d.raw != nil {
		d.raw.Close()
		d.raw = nil
	}
}

// connect returns when the server has shown that it speaks HTTP/2.
func (d *direct) connect(ctx context.Context) (err error) {
	bounded, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	raw, err := d.dialer.dial(bounded)
	if err == nil {
		d.raw = raw
		d.out = d.conn.Open(d.out[:0])
		err = d.exchangeUntil(bounded, d.conn.Greeted)
		if err != nil {
			d.drop()
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = ended(ctx, err)
	case bounded.Err() != nil && raw != nil:
		err = errSilent
	case errkind.Of(err) == errkind.Protocol:
		err = errForeign
	}
	return fmt.Errorf("connect to %s: %w", d.dialer.hostPort, &errkind.Error{Kind: errkind.Of(err), Err: err})
}

// exchange sends what is to be sent, and reads once.
func (d *direct) exchange() error {
	if len(d.out) > 0 {
		_, err := d.raw.Write(d.out)
		d.out = d.out[:0]
		if err != nil {
			return err
		}
	}
	n, err := d.raw.Read(d.in)
	if err != nil && err != io.EOF {
		return err
	}
	d.used = time.Now()
	var wrong error
	if d.out, wrong = d.conn.Receive(d.out, d.in[:n]); wrong != nil {
		return wrong
	}
	return err
}

// exchangeUntil exchanges until something is so, or ctx is done.
func (d *direct) exchangeUntil(ctx context.Context, so func() bool) (err error) {
	d.watch.On(ctx)
	for err == nil && !so() {
		err = d.exchange()
	}
	d.watch.Off()
	if ctx.Err() != nil {
		d.raw.SetDeadline(time.Time{}) // the end of ctx has set one
	}
	return err
}

// look reads what the server has said since the last call, and drops a connection that cannot be used.
func (d *direct) look() {
	if d.raw != nil && time.Since(d.used) > idleLong {
		d.raw.SetReadDeadline(time.Now().Add(time.Millisecond))
		d.raw.SetWriteDeadline(time.Now().Add(reconnectPause))
		var err error
		for err == nil {
			err = d.exchange()
		}
		if !waited(err) {
			d.drop()
			return
		}
		d.raw.SetDeadline(time.Time{})
	}
	if d.raw != nil && d.conn.Draining() {
		d.drop()
	}
}

// waited reports that nothing came in time, which leaves a connection as it was.
func waited(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "read" && errors.Is(err, os.ErrDeadlineExceeded)
}

// invoke is Client.Invoke.
func (d *direct) invoke(ctx context.Context, path string, message []byte, with Metadata) *Reply {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.look()
	began := time.Now()
	if d.maxSend > 0 && len(message) > d.maxSend {
		return &Reply{Code: int(codes.ResourceExhausted), Status: fmt.Sprintf("a message of %d bytes, more than the %d allowed", len(message), d.maxSend)}
	}
	err := d.attempt(ctx, path, message, with)
	if errors.Is(err, h2.ErrUnprocessed) && ctx.Err() == nil {
		d.look()
		err = d.attempt(ctx, path, message, with)
	}
	r := d.reading.reply(err)
	r.Service = time.Since(began)
	return r
}

// attempt makes a call once. Its error is why the server's status is missing.
func (d *direct) attempt(ctx context.Context, path string, message []byte, with Metadata) error {
	a := &d.reading
	a.begin(d.dialer.maxMessage)
	if d.raw == nil {
		if err := d.connect(ctx); err != nil {
			return err
		}
	}
	timeout := time.Duration(0)
	deadline, timed := ctx.Deadline()
	if timed {
		timeout = max(1, time.Until(deadline))
	}
	d.request.Rewrite(fields(path, d.dialer.hostPort, timeout, with), body(message))
	d.out = d.conn.Start(d.out, 0, &d.request)
	err := d.exchangeUntil(ctx, func() bool { return a.done })
	if err != nil && !waited(err) {
		d.drop()
	}
	switch {
	case a.done:
		if a.err == h2.ErrCancelled && timed && !time.Now().Before(deadline) {
			a.err = errExceeded // the server knew of the end first
		}
		err = a.judge(timed)
	case ctx.Err() != nil:
		err = ended(ctx, ctx.Err())
		d.cancel()
	default:
		a.code = int(codes.Unavailable)
		err = fmt.Errorf("the connection was lost: %w", &errkind.Error{Kind: errkind.Of(err), Err: err})
	}
	return err
}

// cancel gives a call up, and tells the server where there is a connection.
func (d *direct) cancel() {
	if d.raw == nil {
		return
	}
	d.out = d.conn.Cancel(d.out, 0)
	d.raw.SetDeadline(time.Now().Add(reconnectPause))
	_, err := d.raw.Write(d.out)
	d.out = d.out[:0]
	if err != nil {
		d.drop()
		return
	}
	d.raw.SetDeadline(time.Time{})
}

// A reading is the part of the answer to a call that has arrived. It is the h2.Streams of the connection.
type reading struct {
	answer
	maxMessage      int
	message         []byte
	header, trailer map[string][]string
	status          string
	done            bool
	err             error // of the stream
}

var _ h2.Streams = (*reading)(nil)

func (r *reading) begin(maxMessage int) { *r = reading{maxMessage: maxMessage} }

// Header keeps the metadata.
func (r *reading) Header(_ int, h *h2.Header, ends bool) error {
	if kind := h.Get("content-type"); h.Status != 0 && !isGRPC(kind) {
		r.code = int(codeOfHTTP(h.Status))
		return foreign("HTTP status %d with the content type %.40q: not gRPC", h.Status, kind)
	}
	values, err := received(h)
	if err != nil {
		return err
	}
	if !ends {
		r.header = values
		return nil
	}
	r.trailer = values
	r.status = string(appendMessage(nil, h.Get("grpc-message"), maxHeaders))
	return r.answer.end(h, 0)
}

// Data keeps the message.
func (r *reading) Data(_ int, p []byte) error {
	return r.take(p, r.maxMessage, func(part []byte) { r.message = append(r.message, part...) })
}

// End is the end of the stream.
func (r *reading) End(_ int, err error) { r.done, r.err = true, err }

// judge returns why the server's status is missing; nil: it is not.
func (r *reading) judge(timed bool) error {
	err := r.err
	if err == nil {
		err = r.answer.judge(timed)
	}
	switch {
	case err == nil:
	case errors.Is(err, h2.ErrUnprocessed):
		r.code = int(codes.Unavailable)
	case err == h2.ErrCancelled:
		r.code = int(codes.Canceled)
	case err == errExceeded:
		r.code = int(codes.DeadlineExceeded)
	case errors.Is(err, errLarge):
		r.code = int(codes.ResourceExhausted)
	case r.code == 0 || r.ended:
		r.code = int(codes.Internal)
	}
	return err
}

// reply is the outcome of the call.
func (r *reading) reply(err error) *Reply {
	reply := &Reply{Code: r.code, Status: r.status, Err: err, Header: r.header, Trailer: r.trailer}
	switch {
	case err != nil:
		reply.Status = err.Error()
		if r.code == 0 {
			reply.Code = int(codeOf(errkind.Of(err)))
		}
	case r.code == 0:
		reply.Message = r.message
	}
	return reply
}

// received are the fields of a header that are metadata, as in grpc-go: without what gRPC itself sets, except the
// content type.
func received(h *h2.Header) (map[string][]string, error) {
	all := map[string][]string{}
	for i := range h.Len() {
		name, value := h.Field(i)
		key := string(name)
		if key[0] == ':' || slices.Contains(ofGRPC, key) {
			continue
		}
		text, err := decodeValue(key, string(value))
		if err != nil {
			return nil, foreign("%s has a value that is not base64", key)
		}
		all[key] = append(all[key], text)
	}
	return all, nil
}

// ofGRPC are fields that gRPC itself sets (PROTOCOL-HTTP2.md, Call-Definition and Response-Headers).
var ofGRPC = []string{"grpc-encoding", "grpc-message", "grpc-message-type", "grpc-status", "grpc-timeout", "te", "user-agent"}

// codeOfHTTP is the status for a response with only an HTTP status, by
// https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md.
func codeOfHTTP(status int) codes.Code {
	switch status {
	case 400:
		return codes.Internal
	case 401:
		return codes.Unauthenticated
	case 403:
		return codes.PermissionDenied
	case 404:
		return codes.Unimplemented
	case 429, 502, 503, 504:
		return codes.Unavailable
	}
	return codes.Unknown
}
