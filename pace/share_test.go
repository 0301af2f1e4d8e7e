package pace

import (
	"slices"
	"testing"
	"time"
)

// Weights of 3, 1 and 1: of every five the first generator has three, not in a row.
func TestShares(t *testing.T) {
	t.Parallel()
	got := Shares([]int{3, 1, 1})
	want := []Share{{[]int{0, 2, 4}, 5}, {[]int{1}, 5}, {[]int{3}, 5}}
	if !slices.EqualFunc(got, want, func(a, b Share) bool { return a.Of == b.Of && slices.Equal(a.Turns, b.Turns) }) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// Whatever the weights, each thing is in one share, Number lists a share's own, and Count counts them.
func TestSharesDivide(t *testing.T) {
	t.Parallel()
	const things = 1000
	for _, weights := range [][]int{{1}, {1, 1}, {1, 1, 1}, {7, 1}, {5, 3, 2, 9}} {
		owners := make([]int, things)
		for _, s := range Shares(weights) {
			if s.Number(0) >= int64(s.Of) {
				t.Errorf("%v: %v has none of the first %d", weights, s, s.Of)
			}
			var own int64
			for n := int64(0); n < things; n++ {
				if got := s.Count(n); got != own {
					t.Fatalf("%v: %v has %d of the first %d, want %d", weights, s, got, n, own)
				}
				if !s.Has(n) {
					continue
				}
				owners[n]++
				if got := s.Number(own); got != n {
					t.Fatalf("%v: %v has as its %d. thing %d, want %d", weights, s, own, got, n)
				}
				own++
			}
		}
		if slices.Min(owners) != 1 || slices.Max(owners) != 1 {
			t.Errorf("%v: some things have no owner, or several", weights)
		}
	}
}

// The plans of several generators together are exactly the schedule of one.
func TestScheduleIsDivided(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"constant:1000", "ramp:0-500/2s", "steps:100/1s,300-50/2s", "poisson:700"} {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		const until = 5 * time.Second
		due := func(s Share) (all []time.Duration) {
			schedule := p.Schedule(7).Only(s)
			for at := schedule.Next(); at < until; at = schedule.Next() {
				all = append(all, at)
			}
			return all
		}
		var together []time.Duration
		for _, s := range Shares([]int{2, 1, 1}) {
			together = append(together, due(s)...)
		}
		slices.Sort(together)
		if whole := due(Share{}); !slices.Equal(together, whole) {
			t.Errorf("%s: %d arrivals together, alone %d", text, len(together), len(whole))
		}
	}
}

// Things counted from the n-th on are shared like those that follow it.
func TestSharesFrom(t *testing.T) {
	for _, share := range Shares([]int{2, 1, 3}) {
		for n := range int64(20) {
			from := share.From(n)
			for i := range int64(20) {
				if from.Has(i) != share.Has(n+i) {
					t.Fatalf("%+v from %d: %d", share, n, i)
				}
			}
			if from.Count(7) != share.Count(n+7)-share.Count(n) {
				t.Fatalf("%+v from %d has %d of 7, want %d", share, n, from.Count(7), share.Count(n+7)-share.Count(n))
			}
		}
	}
}

// Work that is distributed among a few things goes to the shares that have some of them, and all of it does.
func TestSharesAmong(t *testing.T) {
	for n := 1; n < 9; n++ {
		var counts [3]int64
		for i, share := range Shares([]int{2, 1, 3}) {
			among := share.Among(n)
			if counts[i] = among.Count(1000); (counts[i] > 0) != (share.Count(int64(n)) > 0) {
				t.Errorf("%d of %d things have %d of 1000", share.Count(int64(n)), n, counts[i])
			}
		}
		if sum := counts[0] + counts[1] + counts[2]; sum != 1000 {
			t.Errorf("among %d: %v are %d, want 1000", n, counts, sum)
		}
	}
}
