package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"contend/load"
	"contend/protocol"
)

// A Checkup is what a check found of a worker.
type Checkup struct {
	Worker
	// ClockBound is how far its clock may be off. Drift is by how much it ran faster than the
	// coordinator's between two readings, as a share of the time, known to DriftBound.
	ClockBound        time.Duration
	Drift, DriftBound float64
	Found             Measured
	// Reached is how long the target took to answer it; 0: it was not asked for.
	Reached time.Duration
	// Against is why it cannot be relied on; "": it can. Because is the cause, as somebody told it.
	Against Problem
	Because string
}

// checkIdle is how long a check looks at what others use of a machine.
const checkIdle = time.Second

// Check has workers measure themselves, all from the same moment on, and try a target (nil: none). It takes
// 4 s, and longer where the target does not answer.
func (f *Fleet) Check(ctx context.Context, workers []Worker, target protocol.Target) []Checkup {
	list := make([]Checkup, len(workers))
	var usable []Worker
	var of []int
	for i, w := range workers {
		list[i] = Checkup{Worker: w, Because: f.Unusable(w)}
		switch {
		case f.foreign(w) != "":
			list[i].Against = otherVersion
		case f.taken(w):
			list[i].Against = used
		default:
			usable, of = append(usable, w), append(of, i)
		}
	}
	d := newDrive(f, usable, nil)
	before, _ := d.clocks(ctx)
	began := f.now()
	f.measure(ctx, usable, checkIdle, before, func(i int, m Measured, err error) {
		c := &list[of[i]]
		if c.Found = m; m.LimitPerSec > 0 {
			c.LimitPerSec = m.LimitPerSec
		}
		d.lost[i] = cmp.Or(d.lost[i], err)
	})
	after, _ := d.clocks(ctx)
	elapsed := float64(f.now() - began)
	_ = d.each(func(i int, w Worker) (err error) {
		c := &list[of[i]]
		if d.lost[i] != nil {
			c.Against, c.Because = silent, d.lost[i].Error()
			return nil
		}
		c.ClockBound = before[i].until(after[i]).bound
		c.Drift = float64(after[i].ahead-before[i].ahead) / elapsed
		c.DriftBound = float64(after[i].bound+before[i].bound) / elapsed
		if target == nil {
			return nil
		}
		if c.Reached, err = f.try(ctx, w, target); err != nil {
			c.Against, c.Because = cut, err.Error()
		}
		return nil
	})
	return list
}

// tryTimeout is how long a target may take to answer a worker.
const tryTimeout = 3 * time.Second

// try has a worker ask a target once, and returns how long that took.
func (f *Fleet) try(ctx context.Context, w Worker, target protocol.Target) (time.Duration, error) {
	driven, err := f.Target(target, 1, []Worker{w})
	if err != nil {
		return 0, err
	}
	r, err := load.Run(ctx, target.URL(), driven, load.Plan{VUs: 1, Iterations: 1, Timeout: tryTimeout, Grace: load.DefaultGrace})
	switch {
	case err != nil:
		return 0, err
	case r.Completed == 0:
		return 0, errors.New(trouble(r))
	}
	return max(1, r.Response.Quantile(0.5)), nil
}

// trouble is why the only iteration of a run brought no right answer.
func trouble(r *load.Result) string {
	for _, text := range r.Examples {
		return text
	}
	for _, f := range r.Faults {
		return f.Cause()
	}
	return fmt.Sprintf("nothing came within %v", tryTimeout)
}

// ClockBounds returns how far the clocks of workers may be off; 0: one did not answer.
func (f *Fleet) ClockBounds(ctx context.Context, workers []Worker) []time.Duration {
	clocks, _ := newDrive(f, workers, nil).clocks(ctx)
	bounds := make([]time.Duration, len(workers))
	for i, c := range clocks {
		bounds[i] = c.bound
	}
	return bounds
}

// Measured returns the workers with what each can send, which those that have not done so measure: 2 s.
// If one cannot measure it, it remains unknown. The workers of a single machine are equal and not
// asked.
func (f *Fleet) Measured(ctx context.Context, workers []Worker) []Worker {
	list := slices.Clone(workers)
	if !slices.ContainsFunc(list, func(w Worker) bool { return w.Machine != list[0].Machine }) {
		return list
	}
	var asked []Worker
	var of []int
	for i, w := range list {
		if w.LimitPerSec == 0 {
			asked, of = append(asked, w), append(of, i)
		}
	}
	f.measure(ctx, asked, 0, make([]clock, len(asked)), func(i int, m Measured, _ error) { list[of[i]].LimitPerSec = m.LimitPerSec })
	return list
}
