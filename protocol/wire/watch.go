package wire

import (
	"context"
	"sync"
)

// A Watch has the end of a context interrupt what a virtual user waits for. It
// registers once per context, not once per iteration. Its methods must not be
// called concurrently.
type Watch struct {
	// Interrupt is called in a goroutine of its own when the context ends.
	Interrupt func()

	done  <-chan struct{} // of the context that is being watched
	stop  func() bool
	calls sync.WaitGroup // 1 while Interrupt may still be called
}

// On watches ctx instead of the context before, and reports whether it is
// another one.
func (w *Watch) On(ctx context.Context) bool {
	done := ctx.Done()
	if done == w.done {
		return false
	}
	w.Off()
	w.done = done
	if done != nil {
		w.calls.Add(1)
		w.stop = context.AfterFunc(ctx, func() {
			defer w.calls.Done()
			w.Interrupt()
		})
	}
	return true
}

// Off ends the watch, and waits for Interrupt if it is on its way.
func (w *Watch) Off() {
	if w.done == nil {
		return
	}
	if w.stop() {
		w.calls.Done()
	}
	w.calls.Wait()
	w.done = nil
}
