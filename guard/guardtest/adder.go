package guardtest

import (
	"sync"
	"sync/atomic"
	"testing"

	"contend/guard"
)

// RunAdder checks an Adder: exact while nobody adds, and otherwise at least
// what had been added when Load was called and at most what had been added when
// it returned. Every call of open gives one at 0.
func RunAdder(t *testing.T, o Options, open func(t *testing.T) guard.Adder) {
	o = o.withDefaults()
	t.Run("total", func(t *testing.T) { testAdderTotal(t, o, open(t)) })
	t.Run("bounds", func(t *testing.T) { testAdderBounds(t, o, open(t)) })
}

func testAdderTotal(t *testing.T, o Options, a guard.Adder) {
	var (
		wg   sync.WaitGroup
		want atomic.Int64
	)
	for caller := range o.Callers {
		wg.Go(func() {
			var sum int64
			for call := range o.Calls {
				n := int64(caller*call%7 - 3)
				a.Add(n)
				sum += n
			}
			want.Add(sum)
		})
	}
	wg.Wait()
	if got := a.Load(); got != want.Load() {
		t.Errorf("Load = %d after all additions: want %d", got, want.Load())
	}
}

func testAdderBounds(t *testing.T, o Options, a guard.Adder) {
	var (
		wg           sync.WaitGroup
		begun, ended atomic.Int64
	)
	for range o.Callers {
		wg.Go(func() {
			for range o.Calls {
				begun.Add(1)
				a.Add(1)
				ended.Add(1)
			}
		})
	}
	all := int64(o.Callers * o.Calls)
	for last := int64(0); last < all; {
		least := max(last, ended.Load())
		got := a.Load()
		if most := begun.Load(); got < least || got > most {
			t.Fatalf("Load = %d: want %d to %d", got, least, most)
		}
		last = got
	}
	wg.Wait()
}
