package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// At every second of 40, in which intervals double twice, the course so far is that of the end up to
// then: an answer every 5 ms from each of 2 VUs, a second of nothing included.
func TestCourseSoFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		target := Func(func(ctx context.Context) (Outcome, error) {
			if since := time.Since(begun); since > 9*time.Second && since < 10*time.Second {
				time.Sleep(10*time.Second - since)
			}
			time.Sleep(5 * time.Millisecond)
			return Outcome{}, nil
		})
		type soFar struct {
			at     time.Duration
			counts *Counts
			*Course
		}
		var told []soFar
		plan := Plan{VUs: 2, Warmup: 2 * time.Second, Duration: 38 * time.Second, Grace: time.Second}
		plan.Progress = func(p Progress) { told = append(told, soFar{p.Elapsed - plan.Warmup, p.Counts(), p.Course()}) }
		result, err := Run(t.Context(), "steady", target, plan)
		if err != nil {
			t.Fatal(err)
		}
		if len(told) < 40 || told[len(told)-1].Course != result.Course {
			t.Fatalf("told %d times, and not of the whole in the end", len(told))
		}
		whole := result.Course
		for _, now := range told[:len(told)-1] {
			if want := now.Warmup + int(now.at/now.Width); len(now.Intervals) != want {
				t.Fatalf("after %v there are %d intervals of %v, want %d", now.at, len(now.Intervals), now.Width, want)
			}
			per := int(whole.Width / now.Width)
			for i := 0; i+per <= len(now.Intervals); i += per {
				var sum Interval
				for n := range per {
					sum.add(&now.Intervals[i+n])
				}
				of := whole.Intervals[i/per]
				if sum.Completed != of.Completed || sum.ResponseSum != of.ResponseSum || sum.ResponseMax != of.ResponseMax {
					t.Fatalf("after %v interval %d has %d, in the end %d", now.at, i, sum.Completed, of.Completed)
				}
			}
			var completed int64
			for _, in := range now.Intervals[min(now.Warmup, len(now.Intervals)):] {
				completed += in.Completed
			}
			if behind := now.counts.Completed - completed; now.at > 0 && (behind < 0 || behind > 200) { // of a second
				t.Errorf("after %v %d are counted, and %d in intervals", now.at, now.counts.Completed, completed)
			}
			if now.at < 0 && len(now.Intervals) > now.Warmup || now.at > 0 && now.Heatmap == nil {
				t.Errorf("after %v: %d intervals, heatmap %v", now.at, len(now.Intervals), now.Heatmap)
			}
		}
	})
}
