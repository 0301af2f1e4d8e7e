package load

import (
	"context"
	"time"
)

// A Waiter lets time pass. It is used by one goroutine at a time.
type Waiter interface {
	// Wait returns when d has passed, at once if d is not positive. It returns
	// false if the context of NewWaiter ended meanwhile.
	Wait(d time.Duration) bool
	Close()
}

// NewWaiter returns a Waiter, and the Timer that it waits with: PreciseTimer is
// for Linux, and the zero value asks for it.
func NewWaiter(ctx context.Context, kind Timer) (Waiter, Timer) {
	if kind == RuntimeTimer {
		return newRuntimeWaiter(ctx), RuntimeTimer
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
