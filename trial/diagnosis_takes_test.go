package trial

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/why"
)

// With two arms in Go that answer in 10 and 12 ms, so that there are no further rounds, the remaining time is right within a factor of 1.5 after the first round,
// even if each start takes a second, once the first round has shown that; a round starts its arms at its beginning.
func TestForetold(t *testing.T) {
	body := aTrace(t)
	for _, c := range []struct {
		name  string
		start time.Duration
		from  float64 // of the progress
	}{{"as expected", 0, 0}, {"slow starts", time.Second, 1.1 / why.LeastRounds}} {
		synctest.Test(t, func(t *testing.T) {
			var opened atomic.Int64
			var arms []Arm
			for i, name := range []string{"A", "B"} {
				arms = append(arms, workingArm(name, time.Duration(10+2*i)*time.Millisecond, 4*time.Millisecond, &opened, func(l *Live) {
					time.Sleep(c.start)
					l.Inspect = inspected{new(snapping), body, nil, new(atomic.Int64), new(atomic.Int64)}
				}))
			}
			d := design()
			d.Warmup = 250 * time.Millisecond
			type glance struct {
				Progress
				at time.Time
			}
			var seen []glance
			if _, err := Diagnose(t.Context(), arms, load.Plan{VUs: 4}, d, nil, nil, func(p Progress) { seen = append(seen, glance{p, time.Now()}) }); err != nil {
				t.Fatal(err)
			}
			end := time.Now()
			for _, s := range seen {
				left := end.Sub(s.at)
				if s.Done >= c.from && s.Done < 0.9 && (s.Left > left*3/2 || s.Left < left*2/3) {
					t.Errorf("%s: at %.2f %v were left, and %v was said", c.name, s.Done, left, s.Left)
				}
			}
		})
	}
}

// 12 rounds of 2 arms: 0.1 s to start and end, and for each of two levels 0.2 s to warm up, seven blocks of
// 0.3 s and 0.05 s for snapshots; or three, and one of 1.3 s in place of two where programs profile themselves.
func TestDiagnosisTakes(t *testing.T) {
	d := Design{Warmup: 200 * time.Millisecond, Levels: []int{1, 2}}
	sampled, byThemselves := 24*4800*time.Millisecond, 24*5000*time.Millisecond
	if here := DiagnosisTakes(2, d); here != sampled && here != byThemselves {
		t.Errorf("here: %v, want %v or %v", here, sampled, byThemselves)
	}
	for byThemselves, want := range map[bool]time.Duration{false: sampled, true: byThemselves} {
		if got := diagnosisTakes(2, d, byThemselves); got != want {
			t.Errorf("by themselves %v: %v, want %v", byThemselves, got, want)
		}
	}
}
