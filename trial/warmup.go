package trial

import (
	"cmp"
	"context"
	"time"

	"contend/finding"
	"contend/load"
	"contend/stat"
)

const (
	// warmupSlices is into how many slices a warm-up is cut, which are the values
	// of the test of steadiness.
	warmupSlices = 10
	// warmupSteady is the change over the last slices that counts as steady:
	// wide, since slices are short and the blocks are judged once more.
	warmupSteady = 0.10
	// warmupMost times the asked-for warm-up is the longest, or longWarmup.
	warmupMost = 4
	longWarmup = 2 * time.Second
	// fewestInSlice is the least number of iterations per VU that make a slice
	// worth looking at.
	fewestInSlice = 2
)

// A Warmup is how an arm warmed up in a round, before its blocks at a level.
type Warmup struct {
	Arm         string `json:"arm"`
	Concurrency int    `json:"concurrency"`
	Round       int    `json:"round"` // from 1; 0: of the pilot, see Design.Pilot
	// Duration is that of the design, or as much longer, up to four times or 2 s, as the
	// throughput took to become steady; of the pilot what the cost per operation took to
	// become level.
	Duration time.Duration `json:"duration_ns"`
	// Steady is false when it was still changing then. Where iterations are too
	// long to be looked at in slices, or no time is taken, it is taken to be steady.
	Steady bool `json:"steady"`
}

// warm drives an arm until its throughput is steady, for the design's warm-up
// at least, and returns what its last slice showed: nothing without a warm-up. Where
// no time will be taken it is driven for the design's warm-up.
func (r *round) warm(ctx context.Context, arm int, s *load.Session, level int) (*load.Result, error) {
	plan := r.plan
	plan.VUs, plan.Warmup = level, r.trials.Design.Warmup
	if plan.Warmup == 0 {
		return &load.Result{Counts: load.NewCounts()}, nil
	}
	longest := max(warmupMost*plan.Warmup, longWarmup)
	if r.counting.only || r.learnt || r.blocks[level].slow {
		longest = 0
	}
	w, err := r.lives[arm].warm(ctx, s, plan, longest)
	r.trials.Warmups = append(r.trials.Warmups, Warmup{Arm: r.arms[arm].Name, Concurrency: level, Round: r.number,
		Duration: w.took, Steady: w.steady})
	if err != nil {
		return nil, err
	}
	return w.last.Result, cmp.Or(w.last.outage(), r.see(arm, w.last))
}

// A warming is how a live arm warmed up.
type warming struct {
	last   Cell // its last slice
	took   time.Duration
	steady bool
}

// warm drives the live arm for plan.Warmup at least, above 0, and until its throughput is
// steady, for longest at most: in slices that hold some iterations of each VU. Where
// ten of these take longer than that it is driven for plan.Warmup.
func (l *Live) warm(ctx context.Context, s *load.Session, plan load.Plan, longest time.Duration) (w warming, err error) {
	total := plan.Warmup
	slice := total / warmupSlices
	w.steady = true
	drive := func(length time.Duration) {
		plan.Warmup, plan.Duration, plan.Grace, plan.AtEdge = 0, length, Grace, nil
		if w.last, err = l.Drive(ctx, s, plan); err == nil {
			w.took += length
			err = ctx.Err()
		}
	}
	if drive(slice); err != nil {
		return w, err
	}
	slow := func(than time.Duration) bool { return w.last.Completed > 0 && w.last.Response.Quantile(0.5) >= than }
	if slow(total) && !slow(longWarmup) && longest > 0 { // it may be loading what it needs
		drive(slice)
	}
	if err != nil || slow(total) || w.last.Starved > 0 {
		return w, err
	}
	first := w.last
	if enough := int64(fewestInSlice * plan.VUs); first.Completed < enough {
		slice = slice * time.Duration(enough) / time.Duration(max(1, first.Completed))
		slice = max(slice, fewestInSlice*first.Response.Quantile(0.5)) // some ended after the slice
	}
	if slice > longest/warmupSlices || first.outage() != nil {
		drive((total - w.took) * 3 / 4)
		if err == nil {
			drive(total - w.took)
		}
		return w, err
	}
	course := []float64{first.ThroughputPerSec}
	for done := false; !done && err == nil && w.last.outage() == nil; {
		if drive(slice); err == nil {
			course = append(course, w.last.ThroughputPerSec)
		}
		if len(course) >= warmupSlices {
			w.steady = stat.Steady(course[len(course)-warmupSlices:], warmupSteady) == nil
			done = w.steady || w.took >= longest
		}
	}
	return w, err
}

// unsettled says in how many rounds a warm-up ended without a steady state.
func (t *Trials) unsettled(level int, arms ...string) []finding.Warning {
	var found []finding.Warning
	for _, arm := range arms {
		all, unsteady := 0, 0
		for _, w := range t.Warmups {
			if w.Arm == arm && w.Concurrency == level && w.Round > 0 {
				all++
				if !w.Steady {
					unsteady++
				}
			}
		}
		if 2*unsteady > all {
			found = append(found, *finding.WarmupNotSteady.Refusal("in %d of %d rounds throughput still changed after %d times the warm-up: try a longer one (--warmup)",
				unsteady, all, warmupMost).About(arm))
		}
	}
	return found
}
