package count

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/stat"
	"contend/trial"
)

// Each server is started under the simulator as often as its own counts take, however often it is compared: twice in each
// repetition, and once more in the first comparison, to see how fast it is.
func TestKeptArmsAreCountedOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	good, bad, fast := quick(10_000), quick(10_030), quick(10_000)
	good.name, bad.name, fast.name = "good", "bad", "fast"
	synctest.Test(t, func(t *testing.T) {
		under := map[*server]*atomic.Int64{good: {}, bad: {}, fast: {}}
		arm := func(s *server) trial.Arm {
			arm := s.arm()
			start := arm.Start
			arm.Start = func(ctx context.Context, setup trial.Setup) (*trial.Live, error) {
				if setup.Under != nil {
					under[s].Add(1)
				}
				return start(ctx, setup)
			}
			return arm
		}
		kept := new(Kept)
		var measured int64
		for _, tt := range []struct {
			a, b    *server
			verdict stat.Verdict
			lives   string // of good, bad and fast, so far
		}{
			{good, bad, stat.More, "9 9 0"}, {good, fast, stat.Equivalent, "9 9 8"}, {fast, bad, stat.More, "9 9 8"}, {bad, good, stat.Less, "9 9 8"},
		} {
			counts, err := Compare(t.Context(), []trial.Arm{arm(tt.a), arm(tt.b)}, load.Plan{VUs: 4, Timeout: time.Second}, Options{Repetitions: Repetitions, Margin: Margin, Kept: kept})
			if err != nil || counts.Comparisons[0].Verdict != tt.verdict || counts.Done() != Repetitions {
				t.Fatalf("%s and %s: %v, %+v", tt.a.name, tt.b.name, err, counts)
			}
			if measured = cmp.Or(measured, counts.Measured); counts.Measured != measured {
				t.Errorf("%d iterations after %d", counts.Measured, measured)
			}
			lives := ""
			for _, s := range []*server{good, bad, fast} {
				lives += fmt.Sprint(" ", under[s].Load())
			}
			if lives[1:] != tt.lives {
				t.Errorf("%s and %s: started %s times, want %s", tt.a.name, tt.b.name, lives, tt.lives)
			}
		}
	})
}

// What was interrupted has not all repetitions, and is not kept.
func TestInterruptedCountsAreNotKept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	kept := new(Kept)
	synctest.Test(t, func(t *testing.T) {
		a, b := quick(10_000), quick(10_030)
		a.name, b.name = "A", "B"
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := Compare(ctx, []trial.Arm{a.arm(), b.arm()}, load.Plan{VUs: 4, Timeout: time.Second}, Options{Repetitions: Repetitions, Kept: kept})
		if err == nil || len(kept.arms) > 0 {
			t.Errorf("%v: %+v is kept", err, kept)
		}
	})
}
