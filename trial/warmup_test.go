package trial

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
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
// last ten slices of 10 ms show no trend of 10 %, and ends after 2 s in any case.
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
