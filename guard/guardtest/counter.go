package guardtest

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"contend/guard"
)

// Options adapt a suite to an implementation. The zero value is for a fast one
// in this process.
type Options struct {
	Callers int // concurrent callers; 0 means 32
	Calls   int // calls by each; 0 means 300
	// Timeout is how long a call may last before it counts as hanging; 0 means 20 s.
	Timeout time.Duration
	// Indeterminate: a call whose error is not ErrClosed may have happened.
	Indeterminate bool
	// LockWaits: a waiting call notices the end of its context only when its
	// turn comes.
	LockWaits bool
}

func (o Options) withDefaults() Options {
	o.Callers, o.Calls, o.Timeout = cmp.Or(o.Callers, 32), cmp.Or(o.Calls, 300), cmp.Or(o.Timeout, 20*time.Second)
	return o
}

// Run checks a Counter. Every call of open gives a counter at 0 that nobody else
// uses; the suite closes it.
func Run(t *testing.T, o Options, open func(t *testing.T) guard.Counter) {
	call := func(c guard.Counter) error {
		_, err := c.Add(context.Background(), 1)
		return err
	}
	runSuite(t, o, open, call, []test[guard.Counter]{
		{"sequential", testSequential},
		{"total", testTotal},
		{"values", testValues},
		{"linearizable", testLinearizable},
		{"done context", testDoneContext},
		{"cancellation", testCancellation},
		{"close while called", testCloseWhileCalled},
		{"closed", testClosed},
	})
}

func testSequential(t *testing.T, _ Options, c guard.Counter) {
	for _, step := range []struct{ n, want int64 }{
		{0, 0}, {5, 5}, {-7, -2}, {3, 1}, {1 << 40, 1<<40 + 1}, {-1 << 40, 1},
	} {
		if got, err := c.Add(t.Context(), step.n); err != nil || got != step.want {
			t.Errorf("Add(%d) = %d, %v: want %d", step.n, got, err, step.want)
		}
		mustLoad(t, c, step.want)
	}
}

func testTotal(t *testing.T, o Options, c guard.Counter) {
	h := Record(t.Context(), c, Workload{Callers: o.Callers, Calls: o.Calls, N: func(caller, call int) int64 {
		return int64(caller*call%7 - 3)
	}})
	noErrors(t, h)
	check(t, CheckTotal(h, 0, load(t, c)))
}

func testValues(t *testing.T, o Options, c guard.Counter) {
	h := Record(context.Background(), c, Workload{Callers: o.Callers, Calls: o.Calls})
	noErrors(t, h)
	check(t, CheckDense(h, 0))
	check(t, CheckMonotonic(h))
	check(t, CheckRealTime(h))
	mustLoad(t, c, int64(o.Callers*o.Calls))
}

func testLinearizable(t *testing.T, o Options, c guard.Counter) {
	const windows, callers, calls = 12, 6, 15
	for window := range windows {
		before := load(t, c)
		h := Record(t.Context(), c, Workload{Callers: callers, Calls: calls, N: func(caller, call int) int64 {
			return int64((window+caller+call)%4 - 1) // a load in every four
		}})
		noErrors(t, h)
		check(t, CheckLinearizable(h, before, o.Timeout))
		check(t, CheckTotal(h, before, load(t, c)))
	}
}

func testDoneContext(t *testing.T, o Options, c guard.Counter) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Add(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Add with a cancelled context: error %v, want %v", err, context.Canceled)
	}
	if _, err := c.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Load with a cancelled context: error %v, want %v", err, context.Canceled)
	}
	if !o.Indeterminate {
		mustLoad(t, c, 0)
	}
}

// testCancellation ends contexts while calls wait. Every caller has its own
// series of contexts, each good for a few calls.
func testCancellation(t *testing.T, o Options, c guard.Counter) {
	var (
		wg sync.WaitGroup
		mu sync.Mutex
		h  History
	)
	for caller := range o.Callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(caller)))
			for range o.Calls / 10 {
				lifetime := time.Duration(random.IntN(200)) * time.Microsecond
				ctx, cancel := context.WithTimeout(context.Background(), lifetime)
				part := Record(ctx, c, Workload{Callers: 1, Calls: 10})
				cancel()
				mu.Lock()
				h = append(h, part...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, call := range h {
		if call.Err != nil && !errors.Is(call.Err, context.DeadlineExceeded) {
			t.Fatalf("a call whose context ended gave %v: want %v", call.Err, context.DeadlineExceeded)
		}
	}
	if !o.Indeterminate {
		h = h.Succeeded()
	}
	check(t, CheckDense(h, 0))
	check(t, CheckTotal(h, 0, load(t, c)))
}

// testCloseWhileCalled closes the counter, twice at once, under callers who would
// go on for long.
func testCloseWhileCalled(t *testing.T, o Options, c guard.Counter) {
	var wg sync.WaitGroup
	begun := make(chan struct{})
	histories := make([]History, 2)
	contexts := []context.Context{context.Background(), t.Context()} // with and without an end
	for i, ctx := range contexts {
		wg.Go(func() {
			once := sync.OnceFunc(func() { begun <- struct{}{} })
			histories[i] = Record(ctx, c, Workload{Callers: o.Callers / 2, Calls: 20_000, N: func(_, call int) int64 {
				if call == 5 {
					once()
				}
				return 1
			}})
		})
	}
	<-begun
	<-begun
	for range 2 {
		wg.Go(func() { closeGuard(t, c) })
	}
	wg.Wait()
	h := append(histories[0], histories[1]...)
	noErrors(t, h)
	check(t, CheckDense(h, 0))
}

func testClosed(t *testing.T, _ Options, c guard.Counter) {
	if _, err := c.Add(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		closeGuard(t, c)
		if _, err := c.Add(context.Background(), 1); !errors.Is(err, guard.ErrClosed) {
			t.Errorf("Add after Close: error %v, want %v", err, guard.ErrClosed)
		}
		if _, err := c.Load(context.Background()); !errors.Is(err, guard.ErrClosed) {
			t.Errorf("Load after Close: error %v, want %v", err, guard.ErrClosed)
		}
	}
}
