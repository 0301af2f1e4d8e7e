package grpc

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"

	"contend/load"
)

// A vu is what the VUs of all modes have.
type vu struct {
	caller
	metadata metadata.MD
	timeout  time.Duration
}

// SetTimeout bounds every iteration. It is the call's gRPC deadline too, unless
// Config.Deadline says otherwise or the stream outlives the iteration.
func (v *vu) SetTimeout(d time.Duration) { v.timeout = d }

// context returns the context of one iteration that is one call.
func (v *vu) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if v.metadata != nil {
		ctx = metadata.NewOutgoingContext(ctx, v.metadata)
	}
	timeout := v.timeout
	if timeout == 0 {
		timeout = v.deadline
	}
	switch {
	case timeout == 0 && v.kind == unary:
		return ctx, func() {}
	case timeout == 0:
		return context.WithCancel(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	v.apart = v.deadline > 0 && v.deadline != timeout
	if v.apart {
		return toldContext{limited, time.Now().Add(v.deadline)}, cancel
	}
	return limited, cancel
}

// A toldContext has a deadline that grpc-go tells the server; it is done when
// the context inside is.
type toldContext struct {
	context.Context
	deadline time.Time
}

// Deadline returns what the server is to hear.
func (c toldContext) Deadline() (time.Time, bool) { return c.deadline, true }

// A sharedVU calls over a connection that it shares with others.
type sharedVU struct {
	vu
	link *channel
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
	outcome.Phases.Connect, outcome.Phases.Exchange = connected.Sub(start), time.Since(connected)
	return outcome, err
}
