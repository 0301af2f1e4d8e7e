package load

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// Buckets are in order, without a gap, and no time is further than 1/64 from the middle of
// its bucket.
func TestBuckets(t *testing.T) {
	middle := func(bucket int) time.Duration {
		lowest, width := lowestOf(bucket)
		return lowest + width/2
	}
	last := -1
	for _, d := range []time.Duration{-1, 0, 1, 2, 31, 32, 33, 34, 63, 64, 66, 1000, 1023, 1024, time.Millisecond, time.Hour, math.MaxInt64} {
		bucket := bucketOf(d)
		if bucket < last || bucket >= buckets {
			t.Errorf("%d is in bucket %d, behind %d", d, bucket, last)
		}
		last = bucket
		d = min(max(0, d), time.Hour)
		if off := math.Abs(float64(middle(bucket)-d)) / math.Max(1, float64(d)); off > 1.0/64 {
			t.Errorf("%d is told as %d", d, middle(bucket))
		}
	}
	for bucket := range last + 1 {
		lowest, width := lowestOf(bucket)
		if bucketOf(lowest) != bucket || bucketOf(lowest+width-1) != bucket {
			t.Errorf("bucket %d is not %d to %d", bucket, lowest, lowest+width-1)
		}
	}
}

func TestGlanceQuantiles(t *testing.T) {
	g, other := newGlance(), newGlance()
	if got := g.quantiles(0.99)[0]; got != 0 {
		t.Errorf("nothing took %v", got)
	}
	for n := range 100 {
		other.record(time.Duration(n+1) * time.Millisecond)
	}
	g.add(other)
	for q, want := range map[float64]time.Duration{0.5: 50 * time.Millisecond, 0.99: 99 * time.Millisecond, 1: 100 * time.Millisecond} {
		if got := g.quantiles(q)[0]; math.Abs(float64(got-want)) > float64(want)/64 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

// The progress of a run is about the measured window: 10 VUs that take 100 ms, so 100
// answers in each of its seconds.
func TestProgress(t *testing.T) {
	tenth := Func(func(context.Context) (Outcome, error) {
		time.Sleep(100 * time.Millisecond)
		return Outcome{Ops: 2}, nil
	})
	synctest.Test(t, func(t *testing.T) {
		var told []Progress
		_, err := Run(t.Context(), "tenth", tenth, Plan{VUs: 10, Warmup: 1500 * time.Millisecond, Duration: 2050 * time.Millisecond,
			Progress: func(p Progress) { told = append(told, p) }})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range told {
			measured := max(0, p.Elapsed-1500*time.Millisecond)
			if p.Measured != min(measured, 2050*time.Millisecond) {
				t.Errorf("%v measured after %v", p.Measured, p.Elapsed)
			}
			tenths := int64(measured / (100 * time.Millisecond))
			if measured == 0 && p.Completed+p.Ops > 0 || p.Completed < 10*(tenths-1) || p.Completed > 10*(tenths+1) || p.Ops != 2*p.Completed {
				t.Errorf("after %v: %+v", p.Elapsed, p)
			}
			if want := 100 * time.Millisecond; p.Completed > 0 && math.Abs(float64(p.P99-want)) > float64(want)/64 {
				t.Errorf("p99 is %v, want %v", p.P99, want)
			}
		}
		if n := len(told); n < 4 || told[n-1].Completed == 0 {
			t.Errorf("told %+v", told)
		}
	})
}
