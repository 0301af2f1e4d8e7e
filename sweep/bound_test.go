package sweep

import (
	"math"
	"testing"
	"time"

	"contend/errkind"
	"contend/finding"
	"contend/hist"
	"contend/load"
	"contend/trial"
)

// visited is a second at a level, of whose cycle the server has a share.
func visited(level int, perSec int64, share float64, cpu time.Duration) trial.Cell {
	r := &load.Result{Model: load.ClosedModel, Concurrency: level, Duration: time.Second, Plan: load.Plan{VUs: level, Duration: time.Second},
		Stopped: load.StoppedByDuration,
		Counts: load.Counts{Planned: perSec, Completed: perSec, Ops: perSec, Errored: map[errkind.Kind]int64{},
			Response: hist.New(), Service: hist.New(), StartLag: hist.New()},
		Cost: load.Cost{GeneratorCores: 2}}
	cycle := float64(level) / float64(perSec) * float64(time.Second)
	r.Response.RecordN(time.Duration(cycle), perSec)
	r.Service.RecordN(time.Duration(share*cycle), perSec)
	r.StartLag.RecordN(0, perSec)
	if cpu > 0 {
		r.Server = &load.Usage{CPUSec: cpu.Seconds() * float64(perSec), CPUs: 2, SharedCPUs: 2}
	}
	return trial.Cell{Arm: "s", Round: 1, Result: r}
}

func TestBound(t *testing.T) {
	// At 4 VUs an operation takes the server 50 µs of CPU time, at 8 it takes 40 µs: 2 CPUs ÷ 40 µs = 50,000/s.
	saturated := []trial.Cell{visited(4, 1000, 0.1, 50*time.Microsecond), visited(8, 1010, 0.1, 40*time.Microsecond)}
	wrong := visited(16, 900, 0.1, 0)
	wrong.Failed, wrong.Planned = 100, 1000
	peak := []trial.Cell{visited(1, 100, 0.98, 0), visited(4, 380, 0.98, 0), visited(8, 600, 0.98, 0), visited(16, 700, 0.98, 0),
		visited(32, 600, 0.98, 0), visited(64, 400, 0.98, 0), visited(128, 300, 0.1, 0)}
	for _, c := range []struct {
		name   string
		visits []trial.Cell
		bound  bool
		alone  float64
	}{
		{"the generator's", saturated, true, 50_000},
		{"nothing known of the server", []trial.Cell{visited(4, 1000, 0.1, 0)}, true, 0},
		{"the server's", []trial.Cell{visited(4, 1000, 0.98, 50*time.Microsecond)}, false, 0},
		{"errors as well", append(saturated, wrong), false, 0},
		{"a peak below the levels in doubt", peak, false, 0},
	} {
		curve := &Curve{Arm: "s", Design: Design{Seed: 1}, Visits: c.visits}
		curve.Derive()
		b := curve.Bound
		if (b != nil) != c.bound {
			t.Errorf("%s: bound %+v, no fit %q, fit %+v", c.name, b, curve.NoFit, curve.Fit)
			continue
		}
		if b != nil && (!b.Reason.Is(finding.GeneratorSaturated) || math.Abs(b.AlonePerSec-c.alone) > 1) {
			t.Errorf("%s: %+v, want %v/s alone", c.name, b, c.alone)
		}
	}
}

// With throughput the same from one caller on, one is recommended, for certain; if other programs took 45% of the CPU
// time of a full machine above it, (2 − 0.5 − 0.6) ÷ 2, more may have paid.
func TestCrowded(t *testing.T) {
	visits := func(others float64) (list []trial.Cell) {
		for _, level := range []int{1, 2, 4, 8} {
			for n := range 4 {
				v := visited(level, int64(1000+n), 0.98, 600*time.Microsecond)
				v.GeneratorCPUSec, v.GeneratorWaitedSec, v.MachineCores, v.MachineCPUSec = 0.5, 0.6, 2, 1.1+others
				v.Round, v.Local = 1+n, true
				list = append(list, v)
			}
		}
		return list
	}
	for _, tt := range []struct {
		others float64
		told   bool
	}{{0, false}, {0.2, false}, {0.9, true}} {
		curve := &Curve{Arm: "s", Design: Design{Seed: 1}, Visits: visits(tt.others)}
		curve.Derive()
		if got := curve.Crowded; (got != nil) != tt.told || got != nil && !got.Is(finding.MachineBusy) || curve.Done() == tt.told {
			t.Errorf("others take %v of 2 CPUs: %v, done %v, knee %+v", tt.others, got, curve.Done(), curve.Knee)
		}
	}
	curve := &Curve{Arm: "s", Design: Design{Seed: 1}, Visits: visits(0.9)}
	curve.Derive()
	curve.Knee.N.Interval.High = 2
	if got := curve.crowded(); got != nil {
		t.Errorf("an interval that reaches higher says so itself: %v", got)
	}
}

// A level is judged by its visits together: one of four in which the generator was kept from its work (of the whole cycle
// 1 − (3 · 0.98 + 0.1) ÷ 4 = 24%) spoils nothing, four do.
func TestOneDoubtfulVisitSpoilsNoLevel(t *testing.T) {
	for doubtful, leftOut := range map[int]bool{0: false, 1: false, 4: true} {
		var visits []trial.Cell
		for _, at := range []struct{ level, perSec int }{{1, 100}, {4, 380}, {8, 600}, {16, 700}, {32, 600}, {64, 400}} {
			for n := range 4 {
				share := 0.98
				if at.level == 16 && n < doubtful {
					share = 0.1
				}
				visits = append(visits, visited(at.level, int64(at.perSec+n), share, 0))
			}
		}
		curve := &Curve{Arm: "s", Design: Design{Seed: 1}, Visits: visits}
		curve.Derive()
		if (curve.LeftOut != "") != leftOut || (curve.Bound != nil) != leftOut {
			t.Errorf("%d doubtful visits: left out %q, bound %+v", doubtful, curve.LeftOut, curve.Bound)
		}
	}
}
