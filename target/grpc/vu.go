package grpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"contend/load"
)

// A call is what every iteration of a Target does.
type call struct {
	method  string
	request *request
	expect  codes.Code
}

// A vu is what the VUs of all modes have.
type vu struct {
	caller
	metadata metadata.MD
	timeout  time.Duration
}

// SetTimeout makes every iteration carry a gRPC deadline, which the server is
// told too.
func (v *vu) SetTimeout(d time.Duration) { v.timeout = d }

func (v *vu) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if v.metadata != nil {
		ctx = metadata.NewOutgoingContext(ctx, v.metadata)
	}
	if v.timeout > 0 {
		return context.WithTimeout(ctx, v.timeout)
	}
	return ctx, func() {}
}

// A sharedVU calls over a connection that it shares with others.
type sharedVU struct {
	vu
	link *link
}

var _ load.TimeoutSetter = (*sharedVU)(nil)

// Do calls once.
func (v *sharedVU) Do(ctx context.Context) (load.Outcome, error) {
	ctx, cancel := v.context(ctx)
	defer cancel()
	return v.do(ctx, v.link)
}

// An owningVU has a connection of its own.
type owningVU struct{ sharedVU }

// Close closes the connection.
func (v *owningVU) Close() error {
	v.link.close()
	return nil
}

// A connectingVU connects, calls once and closes in every iteration.
type connectingVU struct {
	vu
	dialer dialer
}

var _ load.TimeoutSetter = (*connectingVU)(nil)

// Do connects, calls once and closes. Phases.Exchange is the call alone.
func (v *connectingVU) Do(ctx context.Context) (load.Outcome, error) {
	ctx, cancel := v.context(ctx)
	defer cancel()
	start := time.Now()
	l, err := v.dialer.open(ctx)
	if err != nil {
		return load.Outcome{}, err
	}
	defer l.close()
	connected := time.Now()
	outcome, err := v.do(ctx, l)
	outcome.Phases = load.Phases{Connect: connected.Sub(start), Exchange: time.Since(connected)}
	return outcome, err
}

// A caller makes the calls of one VU and holds what they reuse.
type caller struct {
	call
	reply   reply
	trailer metadata.MD
	options []grpc.CallOption
	patient []grpc.CallOption
}

func newCaller(c call) caller { return caller{call: c} }

// do calls once over l.
func (c *caller) do(ctx context.Context, l *link) (load.Outcome, error) {
	if c.options == nil {
		c.options = []grpc.CallOption{grpc.ForceCodecV2(rawCodec{}), grpc.Trailer(&c.trailer)}
		c.patient = append(c.options[:2:2], grpc.WaitForReady(true))
	}
	c.trailer = nil
	wait := l.down.Load()
	var err error
	if !wait {
		err = l.conn.Invoke(ctx, c.method, c.request, &c.reply, c.options...)
		// grpc-go repeats the last refusal until it has taken note that the
		// connection is back. Nothing was sent then.
		wait = isRefusal(err) && !l.down.Load()
	}
	if wait {
		err = c.awaitConnection(ctx, l)
	}
	if err != nil {
		return c.judge(ctx, l, err)
	}
	return c.answer(codes.OK, c.reply.size), nil
}

// awaitConnection calls as soon as l is connected and gives up when the next
// attempt to connect fails.
func (c *caller) awaitConnection(ctx context.Context, l *link) error {
	next := l.nextFailure()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(next.ctx, cancel)()
	err := l.conn.Invoke(waiting, c.method, c.request, &c.reply, c.patient...)
	if err != nil && ctx.Err() == nil && next.ctx.Err() != nil {
		return l.refused(err)
	}
	return err
}

func (c *caller) answer(code codes.Code, bytesIn int64) load.Outcome {
	return load.Outcome{
		Status:   int(code),
		Failed:   code != c.expect,
		BytesIn:  bytesIn,
		BytesOut: c.request.size,
	}
}
