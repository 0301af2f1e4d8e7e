package trial

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
)

// starting is an arm whose answers take 400 µs at first and come down to 20 µs, by the
// same share in the same time, in the given time.
func starting(name string, settles time.Duration) Arm {
	return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
		var once sync.Once
		var began time.Time
		return &Live{Address: name, Target: load.Func(func(context.Context) (load.Outcome, error) {
			once.Do(func() { began = time.Now() })
			young := max(0, 1-time.Since(began).Seconds()/settles.Seconds())
			time.Sleep(time.Duration(math.Exp(3*young) * float64(20*time.Microsecond)))
			return load.Outcome{}, nil
		})}, nil
	}}
}

// A warm-up of 100 ms ends after 100 ms where nothing changes, goes on until the
// last ten slices of 10 ms show no trend of 10%, and ends after 2 s in any case.
func TestWarmupLastsUntilSteady(t *testing.T) {
	for _, tt := range []struct {
		settles, least, most time.Duration
		steady               bool
	}{
		{time.Nanosecond, 100 * time.Millisecond, 100 * time.Millisecond, true},
		{150 * time.Millisecond, 200 * time.Millisecond, 350 * time.Millisecond, true},
		{2200 * time.Millisecond, 2 * time.Second, 2 * time.Second, false},
	} {
		d := design()
		d.Rounds, d.Warmup = 1, 100*time.Millisecond
		trials := compareInBubble(t, d, starting("a", tt.settles), starting("b", time.Nanosecond))
		i := slices.IndexFunc(trials.Warmups, func(w Warmup) bool { return w.Arm == "a" })
		if w := trials.Warmups[i]; w.Duration < tt.least || w.Duration > tt.most || w.Steady != tt.steady {
			t.Errorf("settles in %v: warmed up for %v, steady %v", tt.settles, w.Duration, w.Steady)
		}
		said := finding.WarmupNotSteady.In(trials.Comparisons[0].Warnings)
		if said == tt.steady {
			t.Errorf("settles in %v: a warning is %v", tt.settles, said)
		}
	}
}

// A visit of 100 ms of warm-up, 40 ms of lead-in and 200 ms takes 340 ms where nothing changes, and the warm-up goes on
// until the throughput is steady, to 400 ms at most. Where ten slices of two iterations take longer than that, it is
// not looked at: 100 ms, two response times of 50 ms and 200 ms.
func TestSteadied(t *testing.T) {
	for _, tt := range []struct {
		arm         Arm
		least, most time.Duration
	}{
		{starting("at once", time.Nanosecond), 340 * time.Millisecond, 345 * time.Millisecond},
		{starting("in a while", 150*time.Millisecond), 440 * time.Millisecond, 590 * time.Millisecond},
		{starting("late", time.Second), 640 * time.Millisecond, 645 * time.Millisecond},
		{sleeping("slowly", 50*time.Millisecond), 400 * time.Millisecond, 500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			live, err := tt.arm.Launch(t.Context(), Setup{})
			if err != nil {
				t.Fatal(err)
			}
			session, err := live.Open(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			began := time.Now()
			var chosenBy float64
			cell, err := live.Steadied(t.Context(), session, load.Plan{VUs: 1, Warmup: 100 * time.Millisecond}, func(perSec float64) time.Duration {
				chosenBy = perSec
				return 200 * time.Millisecond
			})
			if took := time.Since(began); err != nil || took < tt.least || took > tt.most || cell.Duration != 200*time.Millisecond {
				t.Errorf("%s: %v for %v, want %v to %v (%v)", tt.arm.Name, took, cell.Duration, tt.least, tt.most, err)
			}
			if chosenBy == 0 {
				t.Errorf("%s: the length is chosen by no throughput", tt.arm.Name)
			}
		})
	}
}
