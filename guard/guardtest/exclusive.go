package guardtest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/guard"
)

// State is what RunExclusive protects. Its fields are plain, so the race detector
// sees every access that is not exclusive.
type State struct {
	Calls       int64 // functions that ran
	Left, Right int64 // always 0 together
	Busy        bool  // a function is running
	Violations  int64 // functions that found the state out of order
}

// RunExclusive checks an Exclusive. Every call of open gives one that holds the
// zero State; the suite closes it.
func RunExclusive(t *testing.T, o Options, open func(t *testing.T) guard.Exclusive[State]) {
	call := func(e guard.Exclusive[State]) error { return e.Do(context.Background(), transfer) }
	runSuite(t, o, open, call, []test[guard.Exclusive[State]]{
		{"invariants", testInvariants},
		{"long sections", testLongSections},
		{"everybody gets on", testProgress},
		{"cancelled while waiting", testCancelledWaiting},
		{"close while held", testCloseWhileHeld},
		{"close waits", testCloseWaits},
	})
}

// transfer breaks the invariants, gives others the chance to see it, and repairs
// them.
func transfer(s *State) {
	if s.Busy || s.Left+s.Right != 0 {
		s.Violations++
	}
	s.Busy = true
	s.Left++
	if s.Calls%16 == 0 {
		runtime.Gosched()
	}
	s.Right--
	s.Calls++
	s.Busy = false
}

func testInvariants(t *testing.T, o Options, e guard.Exclusive[State]) {
	var wg sync.WaitGroup
	for range o.Callers {
		wg.Go(func() {
			for range o.Calls {
				if err := e.Do(t.Context(), transfer); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustBe(t, e, int64(o.Callers*o.Calls))
}

// testLongSections makes callers wait so long that they park.
func testLongSections(t *testing.T, _ Options, e guard.Exclusive[State]) {
	const callers, calls = 8, 10
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range calls {
				if err := e.Do(context.Background(), func(s *State) {
					time.Sleep(100 * time.Microsecond)
					transfer(s)
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustBe(t, e, callers*calls)
}

// testProgress lets callers go on until each has done some calls: a caller that
// has to work for the others, or never gets a turn, would keep them going for
// ever.
func testProgress(t *testing.T, _ Options, e guard.Exclusive[State]) {
	const callers, calls = 4, 3
	var (
		wg      sync.WaitGroup
		waiting atomic.Int64 // callers that have not done enough
	)
	waiting.Store(callers)
	for range callers {
		wg.Go(func() {
			for done := 1; waiting.Load() > 0; done++ {
				if err := e.Do(context.Background(), func(*State) { time.Sleep(100 * time.Microsecond) }); err != nil {
					t.Error(err)
					return
				}
				if done == calls {
					waiting.Add(-1)
				}
			}
		})
	}
	wg.Wait()
}

// testCancelledWaiting ends the contexts of callers who wait for one that holds
// the state.
func testCancelledWaiting(t *testing.T, o Options, e guard.Exclusive[State]) {
	release := hold(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, o.Callers)
	for range o.Callers {
		go func() { errs <- e.Do(ctx, transfer) }()
	}
	time.Sleep(5 * time.Millisecond) // let them wait, as far as that can be arranged
	cancel()
	if o.LockWaits {
		release()
	}
	for range o.Callers {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("Do whose context ended: error %v, want %v", err, context.Canceled)
		}
	}
	release()
	mustBe(t, e, 1)
}

// testCloseWhileHeld closes while callers wait for one that holds the state:
// each gets its turn or ErrClosed.
func testCloseWhileHeld(t *testing.T, o Options, e guard.Exclusive[State]) {
	release := hold(t, e)
	errs := make(chan error, o.Callers)
	var ran int64 // protected by e
	for i := range o.Callers {
		ctx := context.Background()
		if i%2 == 0 {
			ctx = t.Context()
		}
		go func() {
			errs <- e.Do(ctx, func(s *State) { transfer(s); ran++ })
		}()
	}
	time.Sleep(5 * time.Millisecond)
	closed := make(chan struct{})
	go func() { closeGuard(t, e); close(closed) }()
	time.Sleep(time.Millisecond)
	release()
	var succeeded int64
	for range o.Callers {
		switch err := <-errs; {
		case err == nil:
			succeeded++
		case !errors.Is(err, guard.ErrClosed):
			t.Errorf("Do during Close: error %v, want none or %v", err, guard.ErrClosed)
		}
	}
	<-closed
	if ran != succeeded {
		t.Errorf("%d functions ran, %d calls returned without error", ran, succeeded)
	}
}

// testCloseWaits: no function runs once Close has returned.
func testCloseWaits(t *testing.T, _ Options, e guard.Exclusive[State]) {
	release := hold(t, e)
	closed := make(chan struct{})
	go func() { closeGuard(t, e); close(closed) }()
	select {
	case <-closed:
		t.Error("Close returned while a function was running")
	case <-time.After(5 * time.Millisecond):
	}
	release()
	<-closed
}

// hold occupies the state until release is called, which waits and can be
// repeated.
func hold(t *testing.T, e guard.Exclusive[State]) (release func()) {
	t.Helper()
	held, free, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		if err := e.Do(context.Background(), func(s *State) {
			close(held)
			<-free
			transfer(s)
		}); err != nil {
			t.Errorf("Do: %v", err)
		}
	}()
	<-held
	return sync.OnceFunc(func() { close(free); <-gone })
}

func mustBe(t *testing.T, e guard.Exclusive[State], calls int64) {
	t.Helper()
	if err := e.Do(t.Context(), func(s *State) {
		if want := (State{Calls: calls, Left: calls, Right: -calls}); *s != want {
			t.Errorf("state is %+v: want %+v", *s, want)
		}
	}); err != nil {
		t.Error(err)
	}
}
