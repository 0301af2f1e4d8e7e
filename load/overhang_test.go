package load_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
)

// Callers that begin with the window and are served for so long each: whatever part of an
// answer the window ends in, the throughput is theirs.
func TestThroughputOfFewAnswers(t *testing.T) {
	const callers = 10
	for _, c := range []struct {
		name     string
		plan     load.Plan
		service  time.Duration
		ops      int64
		overhang time.Duration
		want     float64
	}{
		{"two of 900 ms begin in a second", load.Plan{Duration: time.Second}, 900 * time.Millisecond, 20, callers * 800 * time.Millisecond, callers / 0.9},
		{"one of 1.5 s", load.Plan{Duration: time.Second}, 1500 * time.Millisecond, 10, callers * 500 * time.Millisecond, callers / 1.5},
		{"the window ends with an answer", load.Plan{Duration: time.Second}, 500 * time.Millisecond, 20, 0, callers / 0.5},
		{"with think time", load.Plan{Duration: time.Second, Think: 100 * time.Millisecond}, 600 * time.Millisecond, 20, callers * 400 * time.Millisecond, callers / 0.7},
		{"longer than the grace", load.Plan{Duration: time.Second, Grace: time.Second}, 2500 * time.Millisecond, 0, callers * time.Second, 0},
		// Those after the first have as long as it took and a tenth, which is until 7.3 s.
		{"slower from 3 s on", load.Plan{Duration: 4 * time.Second, Grace: time.Second}, 3 * time.Second, 10, callers * 3300 * time.Millisecond, callers / 7.3},
		// As many begin in one second of the window as in any other.
		{"behind a warm-up", load.Plan{Duration: 9 * time.Second, Warmup: time.Second}, 900 * time.Millisecond, 100, 0, callers / 0.9},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.plan.VUs = callers
			if c.plan.Grace == 0 {
				c.plan.Grace = 10 * time.Second
			}
			begin := time.Now()
			r, err := load.Run(t.Context(), "", load.Func(func(ctx context.Context) (load.Outcome, error) {
				service := c.service
				if strings.HasPrefix(c.name, "slower") && time.Since(begin) > time.Second {
					service = time.Minute
				}
				select {
				case <-time.After(service):
				case <-ctx.Done():
				}
				return load.Outcome{}, ctx.Err()
			}), c.plan)
			if err != nil {
				t.Fatal(err)
			}
			if r.Ops != c.ops || r.Overhang != c.overhang || math.Abs(r.ThroughputPerSec-c.want) > 1e-9 {
				t.Errorf("%s: %d answers, overhang %v, %.4g/s; want %d, %v, %.4g/s", c.name, r.Ops, r.Overhang, r.ThroughputPerSec, c.ops, c.overhang, c.want)
			}
			if twice := load.Merge(r, r); math.Abs(twice.ThroughputPerSec-c.want) > 1e-9 {
				t.Errorf("%s: two of them %.4g/s", c.name, twice.ThroughputPerSec)
			}
		})
	}
}
