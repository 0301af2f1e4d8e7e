package gen

import (
	"context"
	"time"

	"contend/load"
)

// A waiter lets time pass.
type waiter struct{ kind load.Timer }

func newWaiter(kind load.Timer) waiter {
	if kind == "" {
		kind = load.PreciseTimer
	}
	return waiter{kind}
}

// early is how long before a time the precise sleep begins: the runtime's timers
// are up to a millisecond late.
const early = 2 * time.Millisecond

// until waits for a time. It returns false when ctx has ended.
func (w waiter) until(ctx context.Context, at time.Time) bool {
	margin := time.Duration(0)
	if w.kind == load.PreciseTimer {
		margin = early
	}
	if d := time.Until(at) - margin; d > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(d):
		}
	}
	for d := time.Until(at); d > 0; d = time.Until(at) {
		sleep(d)
	}
	return ctx.Err() == nil
}
