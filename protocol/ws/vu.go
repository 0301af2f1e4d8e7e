package ws

import (
	"context"
	"errors"
	"io"
	"time"

	"contend/errkind"
	"contend/load"
	"contend/protocol/wire"
)

// A vu is one virtual user.
type vu struct {
	target  *Target
	slot    *wire.Slot[*conn]
	owns    bool // the slot
	timeout time.Duration
	timer   *time.Timer
	call    call

	watch wire.Watch
}

var _ interface {
	load.VU
	load.TimeoutSetter
	io.Closer
} = (*vu)(nil)

func newVU(t *Target) *vu {
	v := &vu{target: t, timer: time.NewTimer(time.Hour), call: call{done: make(chan struct{}, 1)}}
	v.timer.Stop()
	v.watch.Interrupt = v.interrupt
	return v
}

func (v *vu) SetTimeout(d time.Duration) {
	v.timeout = d
	if c := v.slot.Get(); c != nil {
		c.disarm()
	}
}

var errTimeout = &errkind.Error{Kind: errkind.Timeout, Err: errors.New("no complete answer in time")}

// Do does one exchange.
func (v *vu) Do(ctx context.Context) (load.Outcome, error) {
	v.watch.On(ctx)
	start := v.target.now()
	if c := v.slot.Get(); c != nil {
		v.call.start = start
		v.arm(start, start)
		// If the connection has failed by now, nothing was sent.
		if c.begin(ctx, &v.call, v.timeout) == nil {
			return v.await(ctx, c)
		}
	}
	return v.connectAndDo(ctx, start)
}

// arm starts the timer of an iteration that began at start.
func (v *vu) arm(start, now time.Duration) {
	if v.timeout > 0 {
		v.timer.Reset(v.timeout - (now - start))
	}
}

// await waits until the call is settled.
func (v *vu) await(ctx context.Context, c *conn) (load.Outcome, error) {
	var expired <-chan time.Time
	if v.timeout > 0 {
		expired = v.timer.C
		defer v.timer.Stop()
	}
	select {
	case <-v.call.done:
	case <-expired:
		c.giveUp(&v.call, errTimeout)
		<-v.call.done
	case <-ctx.Done():
		c.giveUp(&v.call, ctx.Err())
		<-v.call.done
	}
	if v.call.err != nil {
		return load.Outcome{}, wire.OrCancelled(ctx, "ws", v.call.err)
	}
	return v.call.out, nil
}

// connectAndDo is an iteration that has to connect, and measures it.
func (v *vu) connectAndDo(ctx context.Context, start time.Duration) (load.Outcome, error) {
	c, err := v.connect(ctx)
	connected := v.target.now()
	if refused, ok := errors.AsType[*refusal](err); ok {
		return load.Outcome{
			Status: refused.status, Failed: true, Detail: refused.answer,
			Phases: load.Phases{Connect: connected - start},
		}, nil
	}
	if err != nil {
		return load.Outcome{}, wire.OrCancelled(ctx, "ws", err)
	}
	v.call.start = connected
	v.arm(start, connected)
	if err := c.begin(ctx, &v.call, v.timeout); err != nil {
		return load.Outcome{}, wire.OrCancelled(ctx, "ws", err)
	}
	out, err := v.await(ctx, c)
	answered := v.target.now()
	if v.target.config.Connections.Sharing == wire.PerIteration {
		v.leave(v.patience(ctx, answered-start))
	}
	if err != nil {
		return out, err
	}
	out.Phases.Connect, out.Phases.Exchange = connected-start, answered-connected
	return out, nil
}

// closePatience is how long a server gets for its part of an orderly close,
// which spares our side the port that it would hold on to (RFC 6455, section
// 7.1.1).
const closePatience = 250 * time.Millisecond

// patience is what is left of the iteration for the server's close.
func (v *vu) patience(ctx context.Context, spent time.Duration) time.Duration {
	switch {
	case ctx.Err() != nil:
		return 0
	case v.timeout > 0:
		return min(closePatience, v.timeout-spent)
	}
	return closePatience
}

// leave closes the connection and gives the server as long as patience for its
// part.
func (v *vu) leave(patience time.Duration) {
	if c := v.slot.Take(); c != nil {
		c.close(patience)
	}
}

func (v *vu) connect(ctx context.Context) (*conn, error) {
	if v.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, v.timeout)
		defer cancel()
	}
	return v.slot.Connect(ctx)
}

// interrupt ends a write that is blocked.
func (v *vu) interrupt() {
	if c := v.slot.Get(); c != nil {
		c.interrupt()
	}
}

// Close closes the virtual user's own connection. It must not be called during
// Do.
func (v *vu) Close() error {
	v.watch.Off()
	if v.owns {
		v.slot.Close()
	}
	return nil
}
