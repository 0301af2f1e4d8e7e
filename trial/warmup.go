package trial

import (
	"context"
	"errors"
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
	Round       int    `json:"round"` // from 1
	// Duration is that of the design, or as much longer, up to four times or 2 s, as the
	// throughput took to become steady.
	Duration time.Duration `json:"duration_ns"`
	// Steady is false when it was still changing then. Where iterations are too
	// long to be looked at in slices, or no time is taken, it is taken to be steady.
	Steady bool `json:"steady"`
}

// warm drives an arm until its throughput is steady, for the design's warm-up
// at least, and returns what its last slice showed: nothing without a warm-up. Where
// no time will be taken it is driven for the design's warm-up.
func (r *round) warm(ctx context.Context, arm int, s *load.Session, level int) (*load.Result, error) {
	total := r.trials.Design.Warmup
	if total == 0 {
		return &load.Result{Counts: load.NewCounts()}, nil
	}
	w := Warmup{Arm: r.arms[arm].Name, Concurrency: level, Round: r.number, Steady: true}
	defer func() { r.trials.Warmups = append(r.trials.Warmups, w) }()
	slice, longest := total/warmupSlices, max(warmupMost*total, longWarmup)
	first, err := r.slice(ctx, arm, s, level, slice)
	if err != nil {
		return nil, err
	}
	w.Duration = slice
	if enough := int64(fewestInSlice * level); first.Completed < enough {
		slice = slice * time.Duration(enough) / time.Duration(max(1, first.Completed))
		slice = max(slice, fewestInSlice*first.Response.Quantile(0.5)) // some ended after the slice
	}
	if r.counting.only || slice > longest/warmupSlices {
		rest, err := r.slice(ctx, arm, s, level, total-w.Duration)
		w.Duration = total
		return rest, err
	}
	last := first
	course := []float64{first.ThroughputPerSec}
	for done := false; !done; {
		if last, err = r.slice(ctx, arm, s, level, slice); err != nil {
			return nil, err
		}
		w.Duration += slice
		course = append(course, last.ThroughputPerSec)
		if len(course) >= warmupSlices {
			w.Steady = stat.Steady(course[len(course)-warmupSlices:], warmupSteady) == nil
			done = w.Steady || w.Duration >= longest
		}
	}
	return last, nil
}

// slice drives an arm for a part of its warm-up.
func (r *round) slice(ctx context.Context, arm int, s *load.Session, level int, length time.Duration) (*load.Result, error) {
	plan := r.plan
	plan.VUs, plan.Duration, plan.Grace = level, length, Grace
	cell, err := r.lives[arm].Drive(ctx, s, plan)
	if err != nil {
		return nil, err
	}
	return cell.Result, errors.Join(cell.outage(), ctx.Err())
}

// unsettled says in how many rounds a warm-up ended without a steady state.
func (t *Trials) unsettled(level int, arms ...string) []finding.Warning {
	var found []finding.Warning
	for _, arm := range arms {
		all, unsteady := 0, 0
		for _, w := range t.Warmups {
			if w.Arm == arm && w.Concurrency == level {
				all++
				if !w.Steady {
					unsteady++
				}
			}
		}
		if 2*unsteady > all {
			found = append(found, *finding.WarmupNotSteady.Refusal("in %d of %d rounds the throughput still changed after %d times the warm-up: a longer one (--warmup) may help",
				unsteady, all, warmupMost).About(arm))
		}
	}
	return found
}
