package trial

import (
	"context"
	"errors"
	"time"

	"contend/finding"
	"contend/load"
)

// A Pilot drives an arm that is not compared before anything counts: it shows how long the arm takes to warm up,
// and whether the load generator needs more CPUs.
type Pilot struct {
	Plan load.Plan     // under which the arm is driven
	Most time.Duration // that it may take, and an arm whose cost does not become level is driven after each start
	// Widen gives the load generator more CPUs; it returns false where it cannot. nil: it never can.
	Widen func() bool
}

// PilotVUs is how many callers keep most servers busy, where no number is given.
const PilotVUs = 16

// Within returns how long a pilot may take of an arm that is started so often within most; 0: it has no bound.
func Within(most time.Duration, starts int) time.Duration {
	if most == 0 {
		return pilotMost
	}
	return min(pilotMost, time.Duration(pilotShare*float64(most)/float64(starts)))
}

// Warm returns an arm that comes to life warm: after each start it is driven for as long as the pilot took until its
// cost per operation was level. Its first start gets the process of the pilot, and end stops that if there was none. The
// Warmup is nil where nothing can be learnt of the arm, or in so little time, and where it is not started anew and is level.
func (p Pilot) Warm(ctx context.Context, arm Arm) (warm Arm, w *Warmup, end func(context.Context) error, err error) {
	none := func(context.Context) error { return nil }
	if p.Most < pilotLength {
		return arm, nil, none, nil
	}
	for {
		live, err := arm.Launch(ctx, Setup{})
		if err != nil {
			return arm, nil, none, err
		}
		course, limited, err := live.pilot(ctx, p.Plan, p.Most)
		switch {
		case err != nil:
			return arm, nil, none, errors.Join(err, live.End(ctx))
		case limited && p.Widen != nil && p.Widen():
			if err := live.End(ctx); err != nil {
				return arm, nil, none, err
			}
			continue
		case len(course) > 0:
			w = &Warmup{Arm: arm.Name, Concurrency: p.Plan.VUs, Duration: course.length(), Steady: course.level()}
		}
		if w != nil && w.Steady && live.Subject == nil { // it is not started anew, and warm now
			w = nil
		}
		warm, end = p.warmed(arm, live, w)
		return warm, w, end, nil
	}
}

// warmed is the arm whose first start is done.
func (p Pilot) warmed(arm Arm, first *Live, w *Warmup) (warm Arm, end func(context.Context) error) {
	warm = Arm{Name: arm.Name, Start: func(ctx context.Context, s Setup) (*Live, error) {
		if live := first; live != nil {
			first = nil
			return live, nil
		}
		live, err := arm.Start(ctx, s)
		if err != nil || w == nil || live.Subject == nil { // what is not started anew is warm
			return live, err
		}
		if err := live.driveFor(ctx, p.Plan, w.Duration); err != nil {
			return nil, errors.Join(err, live.End(ctx))
		}
		return live, nil
	}}
	return warm, func(ctx context.Context) error {
		live := first
		first = nil
		return stopAll(ctx, []*Live{live})
	}
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
		return []finding.Warning{finding.StillWarming.Warning("the CPU time per operation still changed by more than %.0f %% after %v of load, which is all that there was time for",
			100*pilotLevel, w.Duration.Round(pilotStretch))}
	case w.Duration > 2*pilotLength:
		return []finding.Warning{finding.LongWarmup.Warning("it took %v of load until the CPU time per operation was level: the server is driven for that long after each start",
			w.Duration.Round(pilotStretch))}
	}
	return nil
}
