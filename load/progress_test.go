package load

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"contend/errkind"
	"contend/pace"
)

// mixed answers wrongly every third time, and not at all every fourth of the others.
func mixed() Func {
	n := 0
	return func(context.Context) (Outcome, error) {
		time.Sleep(10 * time.Millisecond)
		switch n++; {
		case n%3 == 0:
			return Outcome{Failed: true, BytesIn: 1}, nil
		case n%4 == 0:
			return Outcome{}, &errkind.Error{Kind: errkind.Timeout, Err: errors.New("late")}
		}
		return Outcome{Ops: 2, BytesIn: 3}, nil
	}
}

// Counts of a run under way add up at any time, never fall, and at the end are those of the
// result, which is the same whether or not somebody asked.
func TestCountsSoFar(t *testing.T) {
	for name, plan := range map[string]Plan{
		"closed":     {VUs: 1, Warmup: 1500 * time.Millisecond, Duration: 3 * time.Second, Grace: time.Second},
		"open":       {VUs: 1, Pacer: pace.Constant(150), Timer: pace.Runtime, Warmup: 500 * time.Millisecond, Duration: 3 * time.Second, Grace: time.Second},
		"iterations": {VUs: 1, Pacer: pace.Constant(50), Timer: pace.Runtime, Iterations: 140, Grace: time.Second},
		"none left":  {VUs: 1, Iterations: 250, Grace: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				alone, err := Run(t.Context(), "mixed", mixed(), plan)
				if err != nil {
					t.Fatal(err)
				}
				var told []*Counts
				var last Progress
				plan.Progress = func(p Progress) {
					last = p
					if told = append(told, p.Counts()); p.Counts() != told[len(told)-1] {
						t.Error("asked again, the counts are others")
					}
				}
				result, err := Run(t.Context(), "mixed", mixed(), plan)
				if err != nil {
					t.Fatal(err)
				}
				inOrder(t, told)
				if len(told) < 3 || !last.Last || last.Measured != result.Duration || last.Completed != result.Completed || last.Failed != result.Failed || result.Failed == 0 {
					t.Errorf("told %d times, the last %+v of %v", len(told), last, result.Duration)
				}
				same(t, told[len(told)-1], &result.Counts)
				same(t, &alone.Counts, &result.Counts)
			})
		})
	}
}

func inOrder(t *testing.T, told []*Counts) {
	t.Helper()
	before := new(Counts)
	for i, c := range told {
		if c.Planned != c.Accounted() || c.Unfinished < 0 || c.Dropped > 0 && i < len(told)-1 {
			t.Errorf("%d: planned %d, accounted for %d, of these %d unfinished, %d dropped", i, c.Planned, c.Accounted(), c.Unfinished, c.Dropped)
		}
		if c.Planned < before.Planned || c.Completed < before.Completed || c.Response.Count() != c.Completed || c.StartLag.Count() != c.Completed {
			t.Errorf("%d: planned %d, completed %d, of which %d have a response time; before %d and %d", i, c.Planned, c.Completed, c.Response.Count(), before.Planned, before.Completed)
		}
		before = c
	}
}

func same(t *testing.T, got, want *Counts) {
	t.Helper()
	if got.Planned != want.Planned || got.Completed != want.Completed || got.Failed != want.Failed || !maps.Equal(got.Errored, want.Errored) ||
		got.Dropped != want.Dropped || got.Unfinished != want.Unfinished || got.Ops != want.Ops || got.BytesIn != want.BytesIn {
		t.Errorf("counted %+v\nwant %+v", got, want)
	}
	for _, q := range []float64{0, 0.5, 0.99, 1} {
		if got.Response.Quantile(q) != want.Response.Quantile(q) || got.StartLag.Quantile(q) != want.StartLag.Quantile(q) {
			t.Errorf("%v-quantiles differ: %v and %v", q, got.Response.Quantile(q), want.Response.Quantile(q))
		}
	}
}

// BenchmarkCountsSoFar is what asking takes, of a run with a shard whose times lie between 10 µs
// and 10 ms.
func BenchmarkCountsSoFar(b *testing.B) {
	r := newRun(b.Context(), Plan{VUs: 1, Iterations: 1, Progress: func(Progress) {}}, 1)
	for d := 10 * time.Microsecond; d < 10*time.Millisecond; d += d / 500 {
		r.shards[0].counts.Response.Record(d)
		r.shards[0].counts.StartLag.Record(d / 100)
	}
	for b.Loop() {
		r.soFar()
	}
}
