package pace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestRuntimeWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w, kind := NewWaiter(ctx, Runtime)
		defer w.Close()
		if kind != Runtime {
			t.Errorf("waits with %s, want %s", kind, Runtime)
		}
		for _, d := range []time.Duration{time.Nanosecond, time.Hour, 0, -time.Hour, time.Millisecond} {
			start := time.Now()
			if ok := w.Wait(d); !ok || time.Since(start) != max(0, d) {
				t.Errorf("waited %v for %v: %v", time.Since(start), d, ok)
			}
		}
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if w.Wait(time.Hour) || time.Since(start) != time.Second {
			t.Errorf("waited %v beyond the end of the context", time.Since(start)-time.Second)
		}
	})
}

// In real time: never too short, at once for what is not positive, and not beyond the
// end of the context. How late it is is not asserted.
func TestPreciseWaiter(t *testing.T) {
	for _, kind := range []Timer{Precise, ""} {
		ctx, cancel := context.WithCancel(t.Context())
		w, _ := NewWaiter(ctx, kind)
		for _, d := range []time.Duration{time.Nanosecond, 3 * time.Millisecond, 0, -time.Hour, 100 * time.Microsecond} {
			start := time.Now()
			if ok := w.Wait(d); !ok || time.Since(start) < d {
				t.Errorf("waited %v for %v: %v", time.Since(start), d, ok)
			}
		}
		time.AfterFunc(time.Millisecond, cancel)
		if w.Wait(time.Hour) {
			t.Error("waited beyond the end of the context")
		}
		w.Close()
	}
}
