package pace

import (
	"context"
	"time"
)

// A Timer is what waits for the due times of an open model. The pause between
// iterations of a closed model always uses Runtime.
type Timer string

const (
	// Precise is a timerfd read through the network poller on Linux (typically tens
	// of microseconds late) and Runtime on other systems.
	Precise Timer = "precise"
	// Runtime is the timer of Go's runtime, typically up to a millisecond late. It is
	// the one that works in a testing/synctest bubble.
	Runtime Timer = "runtime"
)

// A Waiter lets time pass. It is used by one goroutine at a time.
type Waiter interface {
	// Wait returns when d has passed, at once if d is not positive. It returns
	// false if the context of NewWaiter ended before.
	Wait(d time.Duration) bool
	Close()
}

// NewWaiter returns a Waiter, and the Timer that it waits with: Precise, or the
// zero value, may come out as Runtime.
func NewWaiter(ctx context.Context, kind Timer) (Waiter, Timer) {
	if kind == Runtime {
		return newRuntimeWaiter(ctx), Runtime
	}
	return newPreciseWaiter(ctx)
}

type runtimeWaiter struct {
	done  <-chan struct{}
	timer *time.Timer
}

func newRuntimeWaiter(ctx context.Context) *runtimeWaiter {
	return &runtimeWaiter{done: ctx.Done(), timer: time.NewTimer(0)}
}

func (w *runtimeWaiter) Wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	w.timer.Reset(d)
	select {
	case <-w.timer.C:
		return true
	case <-w.done:
		return false
	}
}

func (w *runtimeWaiter) Close() { w.timer.Stop() }
