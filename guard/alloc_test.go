//go:build !race

package guard_test

import (
	"context"
	"testing"

	"contend/guard"
	"contend/internal/testenv"
)

// With the race detector sync.Pool drops what it is given at random.
func TestAllocations(t *testing.T) {
	const calls = 1000
	cancellable, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, d := range guard.Designs() {
		want := 0.0
		if d.Name == "inputq" {
			want = 1 // the reply channel
		}
		if d.NewAdder != nil {
			a := d.NewAdder()
			mustAllocate(t, d.Name+" Add", want, testing.AllocsPerRun(calls, func() { a.Add(1) }))
			continue
		}
		c := d.NewCounter()
		defer c.Close()
		for _, ctx := range []context.Context{context.Background(), cancellable} {
			mustAllocate(t, d.Name+" Add", want, testing.AllocsPerRun(calls, func() { _, _ = c.Add(ctx, 1) }))
			mustAllocate(t, d.Name+" Load", want, testing.AllocsPerRun(calls, func() { _, _ = c.Load(ctx) }))
		}
		if !d.Exclusive {
			continue
		}
		e, err := guard.NewExclusive(d.Name, 0)
		testenv.Must(t, err)
		defer e.Close()
		f := func(n *int) { *n++ }
		mustAllocate(t, d.Name+" Do", want, testing.AllocsPerRun(calls, func() { _ = e.Do(cancellable, f) }))
	}
}

func mustAllocate(t *testing.T, what string, want, got float64) {
	t.Helper()
	if got != want {
		t.Errorf("%s allocates %v times: want %v", what, got, want)
	}
}
