package script

import (
	"context"
	"time"

	"github.com/grafana/sobek"

	"contend/protocol/grpc"
)

// A grpcStream is what new grpc.Stream(client, method, params) makes: a call whose messages are events.
// It is counted as one request when it has ended.
type grpcStream struct {
	listeners
	v      *vu
	method *grpc.Method
	params *grpcCall
	stream *grpc.OpenStream
	in     int64 // bytes of messages that came
	closed bool  // for sending
}

func (v *vu) newStream(call sobek.ConstructorCall) *sobek.Object {
	c, ok := hiddenIn[*grpcClient](call.Argument(0))
	if !ok {
		v.throw("grpc.Stream needs a grpc.Client first")
	}
	conn := c.open("grpc.Stream")
	m := c.method(call.Argument(1).String())
	if !m.ClientStreams() && !m.ServerStreams() {
		v.throw("method is %q, which is unary: client.invoke calls it", m.Path())
	}
	s := &grpcStream{v: v, method: m, params: v.callParams(m, call.Argument(2)), listeners: v.listeners("data", "end", "error", "metadata")}
	_ = call.This.Set("on", s.on)
	_ = call.This.Set("write", s.write)
	_ = call.This.Set("end", s.end)
	s.start(conn)
	return nil
}

func (s *grpcStream) tags() *callTags { return &callTags{s.params, s.method, nil} }

// start opens the stream and has its messages become events.
func (s *grpcStream) start(conn *grpc.Client) {
	v := s.v
	ctx, cancel := v.within(s.params.timeout)
	failed := unanswered
	v.measure(mGRPCStreams, 1, s.tags())
	v.away(func(context.Context) { s.stream, failed = conn.Stream(ctx, s.method, s.params.metadata) })
	v.timers.from(v.ctx, func(live context.Context, post func(func() error) bool) {
		stop := context.AfterFunc(live, cancel)
		defer func() { stop(); cancel() }()
		if failed != nil {
			post(func() error { return s.ended(failed) })
			return
		}
		if header := s.stream.Header(); len(header) > 0 && !post(func() error { return s.emit("metadata", v.metadataObject(header)) }) {
			return
		}
		for {
			message, end := s.stream.Receive()
			if end != nil {
				post(func() error { return s.ended(end) })
				return
			}
			if !post(func() error {
				s.in += int64(len(message))
				v.measure(mGRPCReceived, 1, s.tags())
				return s.emitMessage(message)
			}) {
				return
			}
		}
	})
}

// within returns a context of this iteration that is done after d; 0: when it is cancelled.
func (v *vu) within(d time.Duration) (context.Context, context.CancelFunc) {
	if d > 0 {
		return context.WithTimeout(v.ctx, d)
	}
	return context.WithCancel(v.ctx)
}

func (s *grpcStream) emitMessage(encoded []byte) error {
	var value sobek.Value
	if thrown := s.v.rt.Try(func() { value = s.v.decode(s.method, encoded) }); thrown != nil {
		return thrown
	}
	return s.emit("data", value)
}

// ended counts the call, and tells the script.
func (s *grpcStream) ended(r *grpc.Reply) error {
	v := s.v
	v.timers.ended()
	s.closed = true
	v.countCall(s.params.name, r, s.in)
	if r.Code != 0 {
		if err := s.emit("error", v.statusObject(r)); err != nil {
			return err
		}
	}
	return s.emit("end")
}

// write is stream.write(message). A message after the end is not sent, and not missed.
func (s *grpcStream) write(message sobek.Value) {
	encoded := s.v.encode(s.method, message)
	if s.closed || s.stream == nil {
		return
	}
	s.v.measure(mGRPCSent, 1, s.tags())
	s.v.away(func(context.Context) { _ = s.stream.Send(encoded) }) // Receive returns its error
}

// end is stream.end(): no more messages will be sent.
func (s *grpcStream) end() {
	if s.closed || s.stream == nil {
		return
	}
	s.closed = true
	s.v.away(func(context.Context) { _ = s.stream.CloseSend() })
}
