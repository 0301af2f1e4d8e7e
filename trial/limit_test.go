package trial

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
)

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		end()
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, tt := range []struct {
			name   string
			parent context.Context
			most   time.Duration
			over   bool // after 3 s
			timeUp bool
		}{
			{"another's deadline", late, 2 * time.Second, true, false},
			{"its time", t.Context(), 2 * time.Second, true, true},
			{"not yet", t.Context(), 4 * time.Second, false, false},
			{"no limit", t.Context(), 0, false, false},
			{"somebody ended it", ended, 2 * time.Second, true, false},
		} {
			ctx, cancel := Limit(tt.parent, tt.most)
			defer cancel()
			time.Sleep(3*time.Second - time.Nanosecond)
			synctest.Wait()
			if over := ctx.Err() != nil; over != tt.over || IsTimeUp(ctx) != tt.timeUp {
				t.Errorf("%s: over %v, time up %v", tt.name, over, IsTimeUp(ctx))
			}
		}
	})
}

func TestRoundUp(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0: 0, time.Millisecond: time.Second, 4100 * time.Millisecond: 5 * time.Second, 5 * time.Second: 5 * time.Second,
		5001 * time.Millisecond: 10 * time.Second, 11100 * time.Millisecond: 15 * time.Second, 12300 * time.Millisecond: 15 * time.Second, 30 * time.Second: 30 * time.Second,
		30001 * time.Millisecond: time.Minute, 119 * time.Second: 2 * time.Minute, 121 * time.Second: 150 * time.Second, 301 * time.Second: 6 * time.Minute,
	} {
		if got := RoundUp(d); got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}

// A plan of 100 ms of warm-up and blocks of 200 ms: 40 ms of lead-in, or two response times, and four of these to measure.
func TestSettledTakes(t *testing.T) {
	plan := load.Plan{Warmup: 100 * time.Millisecond, Duration: 200 * time.Millisecond}
	for response, want := range map[time.Duration]time.Duration{0: 340 * time.Millisecond, 30 * time.Millisecond: 360 * time.Millisecond, time.Second: 6100 * time.Millisecond} {
		if got := SettledTakes(plan, response); got != want {
			t.Errorf("answers after %v: %v, want %v", response, got, want)
		}
	}
	if plan.Warmup = 0; SettledTakes(plan, time.Second) != plan.Duration {
		t.Error("without a warm-up nothing is stretched")
	}
}
