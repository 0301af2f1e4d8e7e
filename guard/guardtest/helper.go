package guardtest

import (
	"io"
	"runtime"
	"testing"
	"time"

	"contend/guard"
)

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
