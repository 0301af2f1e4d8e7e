package trial

import (
	"context"
	"errors"
	"slices"
	"time"

	"contend/internal/perf"
	"contend/load"
)

const (
	// countedPairs is how many pairs of blocks a round has at most in which events
	// are counted, one for each turn: counts lie so close together that few are enough.
	countedPairs = 2
	// shortestCount is how long events are counted at least.
	shortestCount = 50 * time.Millisecond
	// afterAnswers is how long counting goes on after the last answer, for what a
	// server does when it has answered.
	afterAnswers = time.Millisecond
)

// turns are the sets of events that are counted by turns, one in each block.
// Instructions are in both; a processor has few counters, and each that is open
// slows the server down.
var turns = [][]perf.Event{
	{perf.Instructions, perf.KernelInstructions, perf.Cycles, perf.KernelCycles},
	{perf.Instructions, perf.CacheMisses, perf.BranchMisses, perf.PageFaults},
}

// counting is what the blocks of a trial count.
type counting struct {
	sets  [][]perf.Event // by turns; nil: nothing, or nothing can be counted
	only  bool           // they do nothing else
	asked bool           // a metric needs more than instructions
	done  int            // pairs of blocks until the level under way
}

// always returns the events that each block counts where it does nothing else.
func (c counting) always() []perf.Event {
	if c.only && len(c.sets) == 1 {
		return c.sets[0]
	}
	return nil
}

// counting returns what is counted: everything if a metric needs instructions, and
// what the metrics need and nothing else if they need more, or the primary one is
// counted.
func (d Design) counting() counting {
	var c counting
	var wanted []perf.Event
	for i, m := range d.Metrics {
		if event, ok := m.Event(); ok {
			wanted = append(wanted, event)
			c.only = c.only || i == 0
			c.asked = c.asked || event != perf.Instructions
		}
	}
	switch {
	case c.only || c.asked:
		c.sets = slices.Collect(slices.Chunk(wanted, len(turns[0])))
	case wanted != nil:
		c.sets = turns
	}
	return c
}

// countedPair drives one block of every arm of the order in which events are counted. Where that
// is not possible for one of the arms it notes why, and no more are tried, unless the
// verdict needs them.
func (r *round) countedPair(ctx context.Context, sessions []*load.Session, at position, order []int) ([]Cell, error) {
	cells := make([]Cell, len(r.arms))
	timed, _ := r.pairsOf(at.level)
	events := r.counting.sets[(r.counting.done+at.pair-timed-1)%len(r.counting.sets)]
	for _, arm := range order {
		r.report(arm, at)
		plan := r.blockPlan(at.level)
		plan.Warmup, plan.Duration = 0, r.blocks[at.level].counted // a lead-in's answers would also be counted
		cell, missing, err := r.lives[arm].count(ctx, sessions[arm], plan, events)
		if missing != nil && r.counting.only {
			err = missing
		}
		if err != nil {
			return cells, Named(r.arms[arm].Name, err)
		}
		if _, known := cell.Counted.PerOp(perf.Instructions); known && !r.counting.asked {
			cell.Uncounted = "" // nobody misses the rest
		}
		cells[arm] = cell
		if missing != nil {
			r.counting.sets = nil
			return cells, nil
		}
		if err := r.note(ctx, arm, at, cell); err != nil {
			return cells, err
		}
	}
	return cells, nil
}

// turn notes that all pairs of a level were driven, so that the next level goes on with the
// sets of events by turns.
func (r *round) turn(level int) {
	timed, all := r.pairsOf(level)
	r.counting.done += all - timed
}

// driveAndCount drives the live arm by the plan, and then again for a tenth as long to
// count events.
func (l *Live) driveAndCount(ctx context.Context, s *load.Session, plan load.Plan) (Cell, error) {
	cell, err := l.Drive(ctx, s, plan)
	if err != nil || ctx.Err() != nil || !l.countable() {
		return cell, err
	}
	plan.AtEdge, plan.Warmup = nil, 0
	plan.Duration = max(plan.Duration/10, shortestCount, 4*cell.Response.Mean())
	counted, missing, err := l.count(ctx, s, plan, turns[0])
	if err != nil {
		return cell, errors.Join(err, l.diedAfter(cell))
	}
	cell.Counted = counted.Counted
	if missing != nil {
		cell.Uncounted = perf.InShort(missing)
	}
	cell.Derive()
	return cell, nil
}

// count drives a live arm and counts events from before its first request until after
// its last answer, without a warm-up. It leaves out those that cannot be counted, and
// the cell says why. If none can be, or not the first of an arm that is only counted,
// missing says so.
func (l *Live) count(ctx context.Context, s *load.Session, plan load.Plan, events []perf.Event) (cell Cell, missing, err error) {
	cannot := func(why error) (Cell, error, error) {
		return Cell{Result: &load.Result{Counts: load.NewCounts(), Cost: load.Cost{Uncounted: perf.InShort(why)}}}, why, nil
	}
	counters, left, err := l.open(events)
	if err != nil {
		return cannot(err)
	}
	if l.onlyCounted {
		l.counters = counters
	} else {
		defer func() { err = errors.Join(err, counters.Close()) }()
	}
	if err := counters.Start(); err != nil {
		return cannot(err)
	}
	result, err := s.Run(ctx, plan)
	if err != nil {
		return Cell{}, nil, err
	}
	time.Sleep(afterAnswers)
	counts, err := counters.Stop()
	if err != nil {
		return cannot(err)
	}
	cell = Cell{Result: result.CountedOnly(counts)}
	if left != nil {
		cell.Uncounted = perf.InShort(left)
	}
	return cell, nil, nil
}

// countable: the processes are known. A target in this process is its own.
func (l *Live) countable() bool {
	return l.Counters != nil || l.isLocal()
}

// open opens counters of the events that can be counted here, among them the first
// where nothing else is wanted; left says why another was left out.
func (l *Live) open(events []perf.Event) (counters Counters, left, err error) {
	if l.counters != nil {
		return l.counters, nil, nil
	}
	if !l.countable() {
		return nil, nil, errors.New("the server's processes are not known")
	}
	first := events[0]
	for {
		if l.Counters != nil {
			counters, err = l.Counters(events...)
		} else {
			counters, err = perf.Own(events...)
		}
		unavailable := (*perf.UnavailableError)(nil)
		if !errors.As(err, &unavailable) || l.onlyCounted && unavailable.Event == first {
			return counters, left, err
		}
		others := slices.DeleteFunc(slices.Clone(events), func(e perf.Event) bool { return e == unavailable.Event })
		if len(others) == len(events) || len(others) == 0 {
			return counters, left, err
		}
		events, left = others, err
	}
}
