package counter

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"contend/guard"
)

func TestGuardedCounterIsConsistentUnderEveryDesign(t *testing.T) {
	const callers, each = 16, 500
	for _, design := range guard.Names(true) {
		t.Run(design, func(t *testing.T) {
			counter, err := newGuarded(design)
			if err != nil {
				t.Fatal(err)
			}
			all := make([][]change, callers)
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() { all[i] = incrementMany(t, counter, each) })
			}
			wg.Wait()
			checkDense(t, slices.Concat(all...))
			if n, err := counter.load(); n != callers*each || err != nil {
				t.Errorf("load = %d, %v; want %d", n, err, callers*each)
			}
			if err := counter.Close(); err != nil {
				t.Error(err)
			}
			if _, err := counter.increment(1); !errors.Is(err, guard.ErrClosed) {
				t.Errorf("increment after Close: %v, want ErrClosed", err)
			}
		})
	}
}

// incrementMany checks that every time is between the call and its answer.
func incrementMany(t *testing.T, counter guarded, n int) []change {
	got := make([]change, n)
	for i := range got {
		before := time.Now().Unix()
		c, err := counter.increment(1)
		if after := time.Now().Unix(); err != nil || c.at < before || c.at > after {
			t.Errorf("increment at %d, err %v; want a time in [%d, %d]", c.at, err, before, after)
		}
		got[i] = c
	}
	return got
}

// checkDense checks that the values are 1, 2, …, n.
func checkDense(t *testing.T, got []change) {
	t.Helper()
	slices.SortFunc(got, func(a, b change) int { return int(a.value - b.value) })
	for i, c := range got {
		if c.value != int64(i+1) {
			t.Fatalf("value %d in place %d: the values are not distinct and dense", c.value, i+1)
		}
	}
}

func TestTallyAddsN(t *testing.T) {
	for _, design := range guard.Names(true) {
		counter, err := newGuarded(design)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, n := range []int64{2, 0, 5} { // 2, 2+0, 2+0+5
			c, err := counter.increment(n)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, c.value)
		}
		if want := []int64{2, 2, 7}; !slices.Equal(got, want) {
			t.Errorf("%s: values %v, want %v", design, got, want)
		}
		_ = counter.Close()
	}
}
