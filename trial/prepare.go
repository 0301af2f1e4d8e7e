package trial

import (
	"context"
	"errors"
	"time"

	"contend/finding"
	"contend/load"
	"contend/metric"
)

// A Pilot drives an arm that is not compared before anything counts: it shows how long the arm takes to warm up,
// and whether the load generator needs more CPUs.
type Pilot struct {
	Plan load.Plan     // under which the arm is driven
	Most time.Duration // that it may take
	// Widen gives the load generator more CPUs; it returns false where it cannot. nil: it never can.
	Widen func() bool
}

// PilotVUs is how many callers keep most servers busy, where no number is given.
const PilotVUs = 16

// Within returns how long a pilot may take of an arm that is started so often afterwards, within most; 0: it has no bound.
// All together take a quarter of that, since the load after a start takes half as long as the pilot at most.
func Within(most time.Duration, starts int) time.Duration {
	return pilotWithin(most, 1+float64(starts)/2)
}

// A Warmed is an arm that comes to life warm: after each start it is driven for as long as the pilot took until its cost per
// operation was level. The first start gets the process of the pilot.
type Warmed struct {
	Arm
	// Warmup is nil where nothing can be learnt of the arm, or in so little time, and where it is not started anew and is level.
	Warmup *Warmup
	// Took is how long the pilot drove the process of the first start.
	Took time.Duration
	// Last is what the pilot drove last; the zero value if there was none.
	Last  Cell
	first *Live
}

// Warm drives the arm until its cost is level. Whoever does not start it then has to End it.
func (p Pilot) Warm(ctx context.Context, arm Arm) (*Warmed, error) {
	if p.Most < pilotLength {
		return &Warmed{Arm: arm}, nil
	}
	for {
		live, err := arm.Launch(ctx, Setup{})
		if err != nil {
			return nil, err
		}
		course, last, err := live.pilot(ctx, p.Plan, p.Most)
		switch {
		case err != nil:
			return nil, errors.Join(err, live.End(ctx))
		case course.limits(last) && p.Widen != nil && p.Widen():
			if err := live.End(ctx); err != nil {
				return nil, err
			}
		default:
			w := p.warmed(arm, live, course)
			w.Last = last
			return w, nil
		}
	}
}

// warmed is the arm whose pilot was like this.
func (p Pilot) warmed(arm Arm, first *Live, c course) *Warmed {
	w := &Warmed{first: first, Took: c.length()}
	if len(c) > 0 && (first.Subject != nil || !c.level()) {
		w.Warmup = &Warmup{Arm: arm.Name, Concurrency: p.Plan.VUs, Duration: c.warmed(), Steady: c.level()}
	}
	w.Arm = Arm{Name: arm.Name, Start: func(ctx context.Context, s Setup) (*Live, error) {
		if live := w.first; live != nil {
			w.first = nil
			return live, nil
		}
		live, err := arm.Start(ctx, s)
		if err != nil || w.Warmup == nil || w.Warmup.Duration == 0 || live.Subject == nil { // what is not started anew is warm
			return live, err
		}
		if err := live.driveFor(ctx, p.Plan, w.Warmup.Duration); err != nil {
			return nil, errors.Join(err, live.End(ctx))
		}
		return live, nil
	}}
	return w
}

// End stops the process of the pilot, unless a start got it.
func (w *Warmed) End(ctx context.Context) error {
	live := w.first
	w.first = nil
	return stopAll(ctx, []*Live{live})
}

// pilot drives the live arm until its cost is level, for so long at most. The course is nil if nothing can be learnt;
// the last cell that was driven is there in any case.
func (l *Live) pilot(ctx context.Context, plan load.Plan, most time.Duration) (course, Cell, error) {
	session, err := l.Open(ctx, plan.VUs)
	if err != nil {
		return nil, Cell{}, err
	}
	defer session.Close()
	return l.course(ctx, session, plan, most)
}

// limits says whether the load generator was the limit of a pilot, which ended like this.
func (c course) limits(last Cell) bool {
	return len(c) > 0 && last.RefusalOf(metric.Throughput).Is(finding.GeneratorSaturated)
}

// driveFor drives the live arm so that it is warm.
func (l *Live) driveFor(ctx context.Context, plan load.Plan, length time.Duration) error {
	session, err := l.Open(ctx, plan.VUs)
	if err != nil {
		return err
	}
	defer session.Close()
	plan.Warmup, plan.Duration, plan.Grace, plan.AtEdge = 0, length, Grace, nil
	cell, err := l.Drive(ctx, session, plan)
	if err != nil {
		return err
	}
	return errors.Join(cell.outage(), ctx.Err())
}

// Findings are what the warm-up of a Pilot says about all that is measured after it.
func (w *Warmup) Findings() []finding.Warning {
	switch {
	case w == nil:
		return nil
	case !w.Steady:
		return []finding.Warning{finding.StillWarming.Warning("the CPU time per op still changed by more than %.0f%% at the end of the warm-up", 100*pilotLevel)}
	case w.Duration > pilotLength:
		return []finding.Warning{finding.LongWarmup.Warning("it took %v of load until the CPU time per op was level: the server warms up that long after each start",
			w.Duration.Round(pilotStretch))}
	}
	return nil
}
