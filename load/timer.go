package load

import (
	"context"
	"time"
)

// A waiter lets time pass. It is used by one goroutine at a time.
type waiter interface {
	wait(d time.Duration) bool // false: the run was cancelled
	close()
}

func newWaiter(ctx context.Context, kind Timer) (waiter, Timer) {
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

func (w *runtimeWaiter) wait(d time.Duration) bool {
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

func (w *runtimeWaiter) close() { w.timer.Stop() }
