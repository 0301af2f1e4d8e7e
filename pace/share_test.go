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

// What several generators plan is together exactly the schedule of one.
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
