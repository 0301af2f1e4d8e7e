package trial

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
)

// The first start gets the warm process of the pilot, each further one as much load as that took to become level, so
// that what follows sees a warm server. A pilot that may take no time changes nothing.
func TestPilotOfOneArm(t *testing.T) {
	for _, tt := range []struct {
		name       string
		warm, most time.Duration
		steady     bool
		says       []finding.Kind
	}{
		{"level at once", 0, 10 * time.Second, true, nil},
		{"after 2 s", 2 * time.Second, 10 * time.Second, true, []finding.Kind{finding.LongWarmup}},
		{"after 4 s, of which there is one", 4 * time.Second, time.Second, false, []finding.Kind{finding.StillWarming}},
	} {
		synctest.Test(t, func(t *testing.T) {
			starts := 0
			p := Pilot{Plan: load.Plan{VUs: 2, Timeout: time.Minute}, Most: tt.most}
			warmed, err := p.Warm(t.Context(), quickening("a", tt.warm, &starts))
			if err != nil {
				t.Fatal(err)
			}
			w := warmed.Warmup
			if w == nil || w.Steady != tt.steady || w.Duration > warmed.Took || warmed.Took > tt.most+time.Second {
				t.Fatalf("%s: %+v, %v", tt.name, w, warmed.Took)
			}
			for start := 1; start <= 2; start++ {
				began := time.Now()
				live, err := warmed.Launch(t.Context(), Setup{})
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				if starts != start || start == 1 && took > 0 || start == 2 && took < w.Duration {
					t.Errorf("%s: start %d took %v, and %d processes", tt.name, start, took, starts)
				}
				cell := driven(t, live)
				if cold := cell.Response.Quantile(0.5) > 1500*time.Microsecond; cold == tt.steady {
					t.Errorf("%s: start %d: the median is %v", tt.name, start, cell.Response.Quantile(0.5))
				}
			}
			said := w.Findings()
			if len(said) != len(tt.says) || len(said) > 0 && !said[0].Is(tt.says[0]) {
				t.Errorf("%s: %v", tt.name, said)
			}
			if err := warmed.End(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func driven(t *testing.T, live *Live) Cell {
	t.Helper()
	session, err := live.Open(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	cell, err := live.Drive(t.Context(), session, load.Plan{VUs: 2, Duration: 50 * time.Millisecond, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

// Without a start after the pilot its process ends with end. Without time for it the pilot is omitted. If the load
// generator was the bottleneck, it gets more CPUs while there are some, and another process.
func TestPilotOfOneArmStartsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, stopped, widened := 0, 0, 0
		limited := asked{service: 100 * time.Microsecond, own: 900 * time.Microsecond}.arm("a")
		arm := Arm{Name: "a", Start: func(ctx context.Context, s Setup) (*Live, error) {
			live, err := limited.Start(ctx, s)
			started++
			live.Stop = func(context.Context) error { stopped++; return nil }
			return live, err
		}}
		p := Pilot{Plan: load.Plan{VUs: 1, Timeout: time.Minute}, Most: time.Second, Widen: func() bool { widened++; return widened < 3 }}
		warmed, err := p.Warm(t.Context(), arm)
		if err != nil || started != 3 || stopped != 2 || widened != 3 {
			t.Errorf("%d started, %d stopped, asked for more CPUs %d times, %v; want 3, 2, 3", started, stopped, widened, err)
		}
		if err := warmed.End(t.Context()); err != nil || stopped != 3 {
			t.Errorf("%d stopped, %v", stopped, err)
		}
		p.Most = pilotLength - 1
		if warmed, err := p.Warm(t.Context(), arm); err != nil || warmed.Warmup != nil || started != 3 {
			t.Errorf("without time: %+v, %v, %d started", warmed, err, started)
		}
	})
}
