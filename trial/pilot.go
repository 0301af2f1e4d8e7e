package trial

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"contend/finding"
	"contend/load"
	"contend/stat"
)

const (
	// pilotLength is how long an arm is driven at least before the first round. It is divided
	// into pilotStretches, and pilotStretch is the least length of each.
	pilotLength    = 400 * time.Millisecond
	pilotStretch   = pilotLength / pilotStretches
	pilotStretches = 16
	// pilotTries is how often the first stretch is made longer where too few answers came in it: a compiler that is still
	// cold may take several (of 3 cold Java servers 2 had no pilot with one).
	pilotTries = 5
	// pilotShare is the pilot's share of the time that a comparison may take, over all
	// arms, and pilotMost its length if that time has no bound.
	pilotShare = 0.25
	pilotMost  = 20 * time.Second
	// pilotLevel is the change of an arm's cost per operation from the third quarter of its
	// pilot to the last that counts as level.
	pilotLevel = 0.05
)

// pilot drives each arm alone at the highest level until its cost per operation is level, and has the
// load generator get more CPUs where it was the limit. Where nothing can be learnt of the arms, which
// are too slow for it or fail, the design stays as it is; the rounds have the reason.
func (c *comparing) pilot(ctx context.Context) error {
	for again := true; again; {
		again = false
		c.trials.Warmups = nil
		err := c.eachAlive(ctx, func(arm int, live *Live) (bool, error) {
			limited, err := c.pilotOf(ctx, arm, live)
			widen := c.trials.Design.Widen
			again = err == nil && limited && widen != nil && widen()
			return again, err
		})
		if err != nil {
			return err
		}
	}
	if err := c.pilotInTime(); err != nil {
		return err
	}
	c.learn()
	return nil
}

// pilotInTime is checkTime after a pilot that was too slow for a course of any arm.
func (c *comparing) pilotInTime() error {
	if len(c.trials.Warmups) > 0 || len(c.seen) < len(c.arms) {
		return nil
	}
	var all pilots
	for _, cell := range c.seen {
		all.add(cell.Result)
	}
	return c.checkTime(c.seen[0].Concurrency, all, all.longest)
}

// eachAlive starts all arms, or one after the other if only one can be alive, and hands them over in
// random order until use returns end.
func (c *comparing) eachAlive(ctx context.Context, use func(arm int, live *Live) (end bool, err error)) (err error) {
	order := c.random.Perm(len(c.arms))
	together := [][]int{order}
	if c.trials.Design.Alone != "" {
		together = nil
		for _, arm := range order {
			together = append(together, []int{arm})
		}
	}
	for _, some := range together {
		lives, err := startAll(ctx, c.arms, padded(c.random, len(c.arms)), some)
		if err != nil {
			return err
		}
		end := false
		for _, arm := range some {
			if end, err = use(arm, lives[arm]); end || err != nil {
				break
			}
		}
		if err = errors.Join(err, stopAll(ctx, lives)); end || err != nil {
			return err
		}
	}
	return nil
}

// pilotOf is the pilot of an arm. It reports whether the load generator was the limit.
func (c *comparing) pilotOf(ctx context.Context, arm int, live *Live) (limited bool, err error) {
	c.tell(Progress{Label: "warming up " + c.arms[arm].Name, Between: true})
	plan := c.plan
	plan.VUs = slices.Max(c.trials.Design.Levels)
	course, last, err := live.pilot(ctx, plan, c.pilotTakes())
	if err != nil {
		return false, err
	}
	if err := c.see(arm, last); err != nil {
		return false, err
	}
	if len(course) == 0 || live.Subject == nil { // what is not started anew is warm now
		return course.limits(last), nil
	}
	c.trials.Warmups = append(c.trials.Warmups, Warmup{Arm: c.arms[arm].Name, Concurrency: plan.VUs,
		Duration: course.warmed(), Steady: course.level()})
	return course.limits(last), nil
}

// isPiloted reports whether there is a pilot: it is asked for, has the time that it takes at least, and says something
// about what is compared.
func (c *comparing) isPiloted() bool {
	d := c.trials.Design
	return d.Pilot && d.Warmup > 0 && !c.counting.only && c.pilotTakes() >= pilotLength
}

// pilotTakes is how long the pilot of an arm may take.
func (c *comparing) pilotTakes() time.Duration {
	d, arms := c.trials.Design, len(c.arms)
	most := cmp.Or(d.Most(arms-1), c.share()*time.Duration(arms*max(1, d.Rounds)))
	return pilotWithin(most, float64(arms))
}

// pilotWithin is the share of one pilot, of so many equal ones, in the time of all that follows; 0: that has no
// bound.
func pilotWithin(most time.Duration, pilots float64) time.Duration {
	if most == 0 {
		return pilotMost
	}
	return min(pilotMost, time.Duration(pilotShare*float64(most)/pilots))
}

// A stretch is a part of a pilot.
type stretch struct {
	length time.Duration
	cost   float64 // of an operation: CPU time where that is known, else the time of one
}

type course []stretch

// course drives the live arm in stretches until its cost is level, and has been for three times as long as
// that took, for so long at most.
func (l *Live) course(ctx context.Context, s *load.Session, plan load.Plan, most time.Duration) (course, Cell, error) {
	var c course
	var last Cell
	tries := 0
	plan.Warmup, plan.Duration, plan.Grace, plan.AtEdge = 0, pilotStretch, Grace, nil
	for began := time.Now(); ; {
		cell, err := l.Drive(ctx, s, plan)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return c, last, err
		}
		if cell.Starved > 0 { // each stretch would last as long as its grace
			return nil, cell, nil
		}
		if enough := int64(fewestInSlice * plan.VUs); cell.Completed < enough && len(c) == 0 {
			plan.Duration = max(plan.Duration*time.Duration(enough)/time.Duration(max(1, cell.Completed)), fewestInSlice*cell.Response.Quantile(0.5))
			slow := pilotStretches*plan.Duration > most
			hopeless := pilotStretches*cell.Response.Quantile(0.5) > most
			again := tries == 0 && time.Since(began)+cell.Response.Quantile(0.5) < most
			if cell.outage() != nil || cell.ErroredTotal() > 0 || tries == pilotTries || slow && !again {
				return nil, cell, nil // too slow for it, or without answers
			}
			switch tries++; { // at first it may be loading what it needs
			case hopeless:
				plan.Duration = pilotStretch
			case slow:
				plan.Duration = most / pilotStretches
			}
			continue
		}
		last = cell
		c = append(c, stretchOfPilot(cell))
		took := time.Since(began)
		if took >= most || len(c) >= pilotStretches && c.level() && c.warmed() <= c.length()/4 {
			return c, last, nil
		}
		plan.Duration = max(plan.Duration, c.length()/pilotStretches) // as long a look back as it is old
	}
}

func stretchOfPilot(cell Cell) stretch {
	s := stretch{length: cell.Duration, cost: 1 / cell.ThroughputPerSec}
	if u := cell.Server; u != nil && u.CPUSec > 0 && cell.Ops > 0 {
		s.cost = u.CPUSec / float64(cell.Ops)
	}
	return s
}

// length is how long the course is.
func (c course) length() (sum time.Duration) {
	for _, s := range c {
		sum += s.length
	}
	return sum
}

// mean is the cost between two shares of the course's length.
func (c course) mean(from, to float64) float64 {
	all := float64(c.length())
	sum, weight, at := 0.0, 0.0, 0.0
	for _, s := range c {
		begin, end := at/all, (at+float64(s.length))/all
		if w := min(end, to) - max(begin, from); w > 0 {
			sum, weight = sum+w*s.cost, weight+w
		}
		at += float64(s.length)
	}
	return sum / weight
}

// level reports whether the cost of the last quarter is that of the one before, without a trend, step or wave
// in what follows the first quarter.
func (c course) level() bool {
	if math.Abs(math.Log(c.mean(0.75, 1)/c.mean(0.5, 0.75))) >= pilotLevel {
		return false
	}
	var costs []float64
	var at time.Duration
	for _, s := range c {
		if at += s.length; 4*at > c.length() {
			costs = append(costs, s.cost)
		}
	}
	return stat.Steady(costs, pilotLevel) == nil
}

// warmed is when the mean of what follows becomes level: as long as it takes until the cost is
// within pilotLevel of that of the last half.
func (c course) warmed() time.Duration {
	final := c.mean(0.5, 1)
	var at time.Duration
	for i, s := range c {
		rest := c[i:]
		if near := math.Abs(math.Log(rest[:min(len(rest), 3)].mean(0, 1)/final)) < pilotLevel; near || at > c.length()/2 {
			break
		}
		at += s.length
	}
	return at
}

// learn chooses the design of the rounds by the pilot: arms warm up for twice as long as the slowest took, and
// if that is long they are also driven longer in each round, since a start costs more. The least number of rounds
// fits into the time that is left: half of it is for warm-ups, unless an arm needs more to be level, a quarter for blocks.
// Where rounds alone are limited, other work during a pilot must not make each of them last for minutes: no arm gets more.
func (c *comparing) learn() {
	d := &c.trials.Design
	c.asked.Pilot = false
	c.learnt = len(c.trials.Warmups) == len(c.arms)
	each := c.share()
	warmup := d.Warmup
	for _, w := range c.trials.Warmups {
		long := min(2*w.Duration, each/2)
		if w.Steady && d.Most(len(c.arms)-1) > 0 {
			long = max(long, w.Duration)
		}
		warmup = max(warmup, long)
	}
	if warmup == d.Warmup {
		return
	}
	starts := float64(warmup+pilotStretch) / float64(d.Warmup+pilotStretch) // what one costs now
	pairs := min(MaxPairs, int(math.Ceil(float64(d.Pairs)*math.Sqrt(starts))))
	d.Pairs = min(pairs, max(d.Pairs, int(each/4/cmp.Or(d.Block, shortestBlock))))
	d.Warmup = warmup
	c.asked.Warmup = d.Warmup
}

// share is what an arm may take of a round at a level: of the time that is left, and where only rounds are limited of
// the usual time, or twice the time that they are planned to take if that is more.
func (c *comparing) share() time.Duration {
	d := c.trials.Design
	arms, levels := len(c.arms), len(d.Levels)
	if most := d.Most(arms - 1); most > 0 {
		return max(1, (most-time.Since(c.began))/time.Duration(arms*levels*d.leastRounds()))
	}
	planned := d.Warmup + time.Duration(d.Pairs)*cmp.Or(d.Block, shortestBlock)
	return max(2*planned, usualPatience*time.Duration(max(1, arms-1))/time.Duration(arms*max(1, d.Rounds)))
}

// warmedUp says how long arms warm up in each round if that is longer than usual, and whose cost
// still changed at its end.
func (t *Trials) warmedUp(arms ...string) []finding.Warning {
	var found []finding.Warning
	for _, w := range t.Warmups {
		switch {
		case w.Round > 0 || !slices.Contains(arms, w.Arm):
		case !w.Steady:
			found = append(found, *finding.StillWarming.Warning("the CPU time per op still changed by more than %.0f%% after %v of load; the variants are compared at the same age",
				100*pilotLevel, w.Duration.Round(pilotStretch)).About(w.Arm))
		case w.Duration > t.Design.Warmup:
			found = append(found, *finding.StillWarming.Warning("%s took %v of load until its CPU time per op was level, and so many rounds leave %v for that: limit the time, not the rounds, or ask for a longer warm-up",
				w.Arm, w.Duration.Round(pilotStretch), t.Design.Warmup.Round(pilotStretch)).About(w.Arm))
		case w.Duration > pilotLength/2:
			found = append(found, finding.LongWarmup.Warning("%s took %v of load until its CPU time per op was level: every variant warms up for %v in each round",
				w.Arm, w.Duration.Round(pilotStretch), t.Design.Warmup.Round(pilotStretch)))
		}
	}
	return found
}
