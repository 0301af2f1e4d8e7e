package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

// A stalled combiner has a call under way that waits in a proxy, so that increments
// which follow are the next batch.
type stalled struct {
	*combiner
	p  *redistest.Proxy
	wg sync.WaitGroup
}

func stall(t *testing.T) *stalled {
	t.Helper()
	p := newProxy(t, redistest.Start(t))
	c := open(t, Config{Server: through(t, p), Design: "redis-script"})
	s := &stalled{combiner: &combiner{c: c}, p: p}
	if _, err := s.increment(t.Context(), 0); err != nil { // Redis learns the script
		t.Fatal(err)
	}
	p.Become(redistest.Weather{Held: true})
	sent := c.Stats().Commands
	s.wg.Go(func() {
		if change, err := s.increment(context.Background(), 1); err != nil || change.Value != 1 {
			t.Errorf("the first: %+v, %v", change, err)
		}
	})
	testenv.Eventually(t, "the first is sent", func() bool { return c.Stats().Commands > sent })
	return s
}

// callers is how many wait in the next batch.
func (b *combiner) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		return 0
	}
	return b.open.callers
}

func TestCallersOfABatchShareACall(t *testing.T) {
	const callers = 50
	s := stall(t)
	before := s.c.Stats()
	changes := make([]Change, callers)
	for i := range changes {
		s.wg.Go(func() {
			var err error
			if changes[i], err = s.increment(t.Context(), int64(i%3+1)); err != nil {
				t.Error(err)
			}
		})
	}
	testenv.Eventually(t, "all wait", func() bool { return s.waiting() == callers })
	s.p.Become(redistest.Weather{})
	s.wg.Wait()
	after := s.c.Stats()
	if after.Commands != before.Commands+1 || after.RoundTrips > before.RoundTrips+2 { // the first may not have been counted
		t.Errorf("%+v, before %+v: want one command more", after, before)
	}
	type reached struct{ value, n int64 }
	var all []reached
	for i, change := range changes {
		all = append(all, reached{change.Value, int64(i%3 + 1)})
		if change.At != changes[0].At {
			t.Errorf("times %d and %d in one batch", change.At, changes[0].At)
		}
	}
	slices.SortFunc(all, func(a, b reached) int { return int(a.value - b.value) })
	value := int64(1)
	for _, r := range all {
		if value += r.n; r.value != value {
			t.Fatalf("somebody added %d and got %d, want %d", r.n, r.value, value)
		}
	}
	if got, err := s.c.Load(t.Context()); err != nil || got != value {
		t.Errorf("Load = %d, %v, want %d", got, err, value)
	}
}

func TestCallersWhoLeave(t *testing.T) {
	s := stall(t)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	leave := func() {
		_, err := s.increment(ctx, 100)
		errs <- err
	}
	s.wg.Go(leave)
	s.wg.Go(leave)
	testenv.Eventually(t, "two wait", func() bool { return s.waiting() == 2 })
	s.wg.Go(func() {
		if change, err := s.increment(t.Context(), 10); err != nil || change.Value != 11 {
			t.Errorf("who stays: %+v, %v, want 11", change, err)
		}
	})
	testenv.Eventually(t, "three wait", func() bool { return s.waiting() == 3 })
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("left before it was sent: %v, want %v", err, ErrUnavailable)
		}
	}
	s.p.Become(redistest.Weather{})
	s.wg.Wait()
	if got, err := s.c.Load(t.Context()); err != nil || got != 11 {
		t.Errorf("Load = %d, %v, want 11", got, err)
	}
}

func TestCallerWhoLeavesTooLate(t *testing.T) {
	s := stall(t)
	s.p.Become(redistest.Weather{})
	s.wg.Wait()
	s.crowd = 2 // so it is not alone
	s.p.Become(redistest.Weather{Held: true})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	sent := s.c.Stats().Commands
	go func() {
		_, err := s.increment(ctx, 1)
		errs <- err
	}()
	testenv.Eventually(t, "it is sent", func() bool { return s.c.Stats().Commands > sent })
	cancel()
	if err := <-errs; !errors.Is(err, ErrIndeterminate) || !errors.Is(err, context.Canceled) {
		t.Errorf("left after it was sent: %v, want %v", err, ErrIndeterminate)
	}
	s.p.Become(redistest.Weather{})
	testenv.Eventually(t, "it happens", func() bool {
		got, err := s.c.Load(t.Context())
		return err == nil && got == 2
	})
}

// TestBatchThatNobodyWaitsFor is never sent.
func TestBatchThatNobodyWaitsFor(t *testing.T) {
	s := stall(t)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	go func() {
		_, err := s.increment(ctx, 1)
		errs <- err
	}()
	testenv.Eventually(t, "it waits", func() bool { return s.waiting() == 1 })
	cancel()
	<-errs
	before := s.c.Stats().Commands
	s.p.Become(redistest.Weather{})
	s.wg.Wait()
	if err := s.c.Close(); err != nil {
		t.Fatal(err)
	}
	if after := s.c.Stats().Commands; after != before {
		t.Errorf("%d commands for nobody", after-before)
	}
}

// TestBatchOfWhichOneIsRefused: whose sum would overflow the counter, everybody gets
// a verdict of their own.
func TestBatchOfWhichOneIsRefused(t *testing.T) {
	s := stall(t)
	var mu sync.Mutex
	refused := 0
	for _, n := range []int64{5, math.MaxInt64 - 5} {
		s.wg.Go(func() {
			if _, err := s.increment(t.Context(), n); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if refused++; !isRefusal(err) {
					t.Error(err)
				}
			}
		})
	}
	testenv.Eventually(t, "both wait", func() bool { return s.waiting() == 2 })
	s.p.Become(redistest.Weather{})
	s.wg.Wait()
	if refused != 1 {
		t.Errorf("%d were refused, want 1", refused)
	}
}

func TestHugeNumbersGoAlone(t *testing.T) {
	c := open(t, Config{Server: at(t, redisserver.Config{}), Design: "redis-script"})
	b := &combiner{c: c}
	for _, test := range []struct {
		name   string
		joined []int64
		n      int64
		alone  bool
	}{
		{"first", nil, math.MaxInt64, false},
		{"first without absolute value", nil, math.MinInt64, true},
		{"full", []int64{math.MaxInt64 - 1}, 1, false},
		{"one too much", []int64{math.MaxInt64 - 1}, 2, true},
		{"of different signs, as one may leave", []int64{math.MaxInt64 - 1}, -2, true},
		{"below", []int64{-math.MaxInt64}, -1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.flight.Lock()
			defer b.flight.Unlock()
			b.mu.Lock()
			b.open = nil
			b.mu.Unlock()
			for _, n := range test.joined {
				b.join(n)
			}
			if q, _ := b.join(test.n); (q == nil) != test.alone {
				t.Errorf("alone: %t, want %t", q == nil, test.alone)
			}
		})
	}
}

// TestRanges: whoever stays gets the sum of those who stay up to them.
func TestRanges(t *testing.T) {
	c := open(t, Config{Server: at(t, redisserver.Config{}), Design: "redis-script"})
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Int64Range(-1000, 1000), 1, 60).Draw(t, "numbers")
		leaves := rapid.SliceOfN(rapid.Bool(), len(numbers), len(numbers)).Draw(t, "leaves")
		b := &combiner{c: c}
		b.flight.Lock() // its own goroutine waits
		defer b.flight.Unlock()
		var q *batch
		for i, n := range numbers {
			joined, place := b.join(n)
			if q = joined; place != i {
				t.Fatalf("place %d, want %d", place, i)
			}
			if leaves[i] {
				if err := b.leave(q, place, context.Canceled); !errors.Is(err, ErrUnavailable) {
					t.Fatal(err)
				}
			}
		}
		total, callers := b.seal(q)
		defer func() { q.callers = 0 }() // nothing is sent
		want, stay := int64(0), 0
		for i, n := range numbers {
			if !leaves[i] {
				want += n
				stay++
			}
			if q.sums[i] != want {
				t.Fatalf("%d of %v: %d, want %d", i, numbers, q.sums[i], want)
			}
		}
		if total != want || callers != stay {
			t.Fatalf("%d for %d, want %d for %d", total, callers, want, stay)
		}
		if err := b.leave(q, 0, fmt.Errorf("late")); !errors.Is(err, ErrIndeterminate) {
			t.Fatal(err)
		}
	})
}
