package guardtest

import (
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"contend/guard"
)

// A test is one property of a guard.
type test[G io.Closer] struct {
	name string
	run  func(*testing.T, Options, G)
}

// runSuite runs each test on a guard of its own, closes that, and checks that it
// refuses a call then.
func runSuite[G io.Closer](t *testing.T, o Options, open func(t *testing.T) G, call func(G) error, tests []test[G]) {
	o = o.withDefaults()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			t.Run("use", func(t *testing.T) { // its cleanups run before the check for leaks
				g := open(t)
				within(t, o.Timeout, func() { test.run(t, o, g) })
				closeGuard(t, g)
				if err := call(g); !errors.Is(err, guard.ErrClosed) {
					t.Errorf("a call after Close: error %v, want %v", err, guard.ErrClosed)
				}
			})
			goleak.VerifyNone(t, before)
		})
	}
}

// within fails the test when f hangs, with the stacks of all goroutines.
func within(t *testing.T, timeout time.Duration, f func()) {
	t.Helper()
	watchdog := time.AfterFunc(timeout, func() {
		stacks := make([]byte, 1<<20)
		panic("guardtest: a call hangs for " + timeout.String() + "\n" + string(stacks[:runtime.Stack(stacks, true)]))
	})
	defer watchdog.Stop()
	f()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func noErrors(t *testing.T, h History) {
	t.Helper()
	for _, c := range h {
		if c.Err != nil {
			t.Fatalf("caller %d, adding %d: %v", c.Caller, c.N, c.Err)
		}
	}
}

func load(t *testing.T, c guard.Counter) int64 {
	t.Helper()
	value, err := c.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func mustLoad(t *testing.T, c guard.Counter, want int64) {
	t.Helper()
	if got := load(t, c); got != want {
		t.Errorf("Load = %d: want %d", got, want)
	}
}

func closeGuard(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
