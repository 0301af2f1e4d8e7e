package wire

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// earlyDialTimeout bounds connecting before the clock starts, and so what a
// server that never shakes hands adds to a run.
const earlyDialTimeout = 250 * time.Millisecond

// EarlyDial connects virtual users before the clock starts, until the first attempt
// that fails, so that not each of them waits for a missing server. The zero value is
// ready; it may be used concurrently.
type EarlyDial struct{ failed atomic.Bool }

// Try calls connect, unless an attempt has failed before.
func (e *EarlyDial) Try(ctx context.Context, connect func(context.Context) error) {
	if e.failed.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, earlyDialTimeout)
	defer cancel()
	if connect(ctx) != nil {
		e.failed.Store(true)
	}
}

// A Deadline is that of a connection for the iteration in flight. It is at least one
// timeout away and at most a sixteenth more: moving it in every iteration would cost
// more than parsing an answer does. The zero value is that of a connection that has
// none yet.
type Deadline struct {
	set bool
	at  time.Duration // after the epoch
}

// Next returns whether the connection's deadline has to move, and where to: for an
// iteration that began at now after the epoch; a timeout of 0 means no timeout.
func (d *Deadline) Next(epoch time.Time, now, timeout time.Duration) (at time.Time, moves bool) {
	if d.set && d.at-now >= timeout {
		return time.Time{}, false
	}
	d.set, d.at = true, math.MaxInt64
	if timeout == 0 {
		return time.Time{}, true
	}
	d.at = now + timeout + timeout/16
	return epoch.Add(d.at), true
}

// OrCancelled returns the end of ctx, if it has ended, instead of err, to which that
// has led.
func OrCancelled(ctx context.Context, protocol string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%s: %w", protocol, ended)
	}
	return err
}
