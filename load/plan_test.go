package load

import (
	"testing"
	"time"
)

func TestAmpleVUs(t *testing.T) {
	for perSec, want := range map[float64]int{0: 16, 2: 16, 16.5: 17, 300: 300, 1e6: 500} {
		if got := AmpleVUs(perSec); got != want {
			t.Errorf("%v arrivals per second: %d, want %d", perSec, got, want)
		}
	}
}

// The time is over after warm-up and duration, or before it with the last iteration.
func TestPlanDone(t *testing.T) {
	long := Plan{Warmup: time.Second, Duration: 9 * time.Second}
	counted := Plan{Iterations: 200}
	both := Plan{Duration: 10 * time.Second, Iterations: 200}
	for _, tt := range []struct {
		plan Plan
		now  Progress
		want float64
	}{
		{long, Progress{Elapsed: 2500 * time.Millisecond, Completed: 100}, 0.25},
		{long, Progress{Elapsed: 11 * time.Second}, 1},
		{counted, Progress{Elapsed: time.Second}, 0},
		{counted, Progress{Elapsed: time.Second, Completed: 40, Failed: 6, Errored: 4}, 0.25}, // 50 of 200
		{both, Progress{Elapsed: 5 * time.Second, Completed: 50}, 0.5},
		{both, Progress{Elapsed: 5 * time.Second, Completed: 150}, 0.75},
	} {
		if got := tt.plan.Done(tt.now); got != tt.want {
			t.Errorf("%+v after %+v: %v is done, want %v", tt.plan, tt.now, got, tt.want)
		}
	}
}

// What is in flight may take as long as what came before, however long that was.
func TestEndsBy(t *testing.T) {
	for _, tt := range []struct {
		plan Plan
		want time.Duration
	}{
		{Plan{Warmup: time.Second, Duration: 19 * time.Second, Grace: time.Second}, 42 * time.Second},
		{Plan{Duration: 20 * time.Second, Grace: 30 * time.Second}, 50 * time.Second},
		{Plan{Duration: 20 * time.Second, Grace: time.Second, Timeout: 10 * time.Second}, 31 * time.Second},
		{Plan{Duration: 20 * time.Second, Grace: time.Second, FixedGrace: true}, 21 * time.Second},
		{Plan{Duration: 20 * time.Second}, 20 * time.Second},
	} {
		if got := tt.plan.EndsBy(); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.plan, got, tt.want)
		}
	}
}
