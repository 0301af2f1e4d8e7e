package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"contend/load"
)

const (
	// stretchLength is the time between two looks at the machine within a round.
	stretchLength = 1500 * time.Millisecond
	// Grace is how long an iteration in flight may take to complete after its
	// block: cutting it off would cost its connection.
	Grace = 10 * time.Second
)

// How long a block is if no length is given: so long that its beginning and end,
// each in the midst of an answer, weigh little in its count, and no longer,
// because blocks close in time resemble each other. The pairs then measure as
// long together as the design's would at shortestBlock, see InBlocks. Conventions
// of this project.
const (
	shortestBlock = 50 * time.Millisecond
	longestBlock  = 500 * time.Millisecond
	blockAnswers  = 200
)

// sized returns the design with a length of its blocks, if it has none, for the
// slowest arm's right answers per second; 0: not known.
func (d Design) sized(perSec float64) Design {
	if d.Block > 0 {
		return d
	}
	length := shortestBlock
	if perSec > 0 {
		length = time.Duration(min(float64(longestBlock), max(float64(shortestBlock), blockAnswers/perSec*1e9)))
	}
	return d.InBlocks(length)
}

// InBlocks returns the design with blocks of this length, and as many pairs as measure
// for about as long together as its own, or two if it has so many, with which ABBA is
// complete.
func (d Design) InBlocks(length time.Duration) Design {
	d.Pairs = max(pairsAs(d.Pairs, cmp.Or(d.Block, shortestBlock), length), min(2, d.Pairs))
	d.Block = length
	return d
}

// PairsIn returns how many pairs of blocks, at least 1, measure each arm for about
// so long.
func PairsIn(measured, block time.Duration) int { return pairsAs(1, measured, block) }

// pairsAs returns how many pairs of blocks of a length, at least 1, measure for
// about as long as so many of another.
func pairsAs(pairs int, block, length time.Duration) int {
	return max(1, int(math.Round(float64(pairs)*float64(block)/float64(length))))
}

// blockLength is how blocks are driven at a level.
type blockLength struct {
	leadIn, measured time.Duration
	counted          time.Duration // of one in which events are counted
	pairs            int
	slow             bool          // responses made blocks longer
	spread           time.Duration // over which callers begin: a response, where these are slow
}

// lengthen stretches a block to hold several response times, with a lead-in
// in which the cycle of a closed model settles after the idle start, and keeps
// the measured time of all pairs together about the same.
func lengthen(block, response time.Duration, pairs int) blockLength {
	l := blockLength{leadIn: max(block/5, 2*response), measured: max(block, 4*response),
		counted: max(min(block, shortestBlock), 4*response)}
	l.pairs = pairsAs(pairs, block, l.measured)
	return l
}

// round is one round under way.
type round struct {
	*comparing
	number, order  int
	before, starts int // blocks before the level under way, and starts of arms
	stretch        int // of the level under way
	lives          []*Live
}

// level warms every arm up at a level, which shows how long its blocks must be, and drives them in pairs.
func (r *round) level(ctx context.Context, n int) (err error) {
	sessions := make([]*load.Session, len(r.lives))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				s.Close()
			}
		}
	}()
	var all pilots
	began := time.Now()
	for warmed, i := range r.random.Perm(len(r.lives)) {
		if sessions[i], err = r.lives[i].Open(ctx, n); err != nil {
			return err
		}
		warm, err := r.warm(ctx, i, sessions[i], n)
		if err != nil {
			return err
		}
		all.add(warm)
		if err := r.checkTime(n, all, time.Since(began)/time.Duration(warmed+1)); err != nil {
			return err
		}
	}
	r.fix(n, all)
	return r.pairs(ctx, sessions, n)
}

// pilots are what the warm-ups of all arms at a level say of how long blocks must be.
type pilots struct {
	longest time.Duration // of the median response times
	slowest float64       // of the throughputs, in right answers per second
	sampled bool          // the CPU time of all of them is known
	seen    bool
}

func (p *pilots) add(warm *load.Result) {
	perSec, sampled := warm.ThroughputPerSec, warm.Server != nil
	if p.seen {
		perSec, sampled = min(perSec, p.slowest), p.sampled && sampled
	}
	*p = pilots{max(p.longest, warm.Response.Quantile(0.5)), perSec, sampled, true}
}

// fix fixes how blocks are driven at a level, unless that was done before.
func (c *comparing) fix(level int, p pilots) {
	if _, fixed := c.blocks[level]; !fixed {
		c.blocks[level] = c.trials.Design.lengthened(p)
	}
}

// lengthened is how blocks are driven where warm-ups were like these. Their lead-in is a quarter of the usual
// one, since hardly any time passes between them. Where responses are slow, half of that is enough, which is one
// response time: callers begin evenly spread over it, so the cycle has no bursts that would have to settle.
func (d Design) lengthened(p pilots) blockLength {
	d = d.sized(p.slowest)
	l := lengthen(d.Block, p.longest, d.Pairs)
	l.leadIn = max(l.leadIn/4, 2*p.longest)
	if l.slow = l.measured > d.Block; l.slow {
		l.leadIn, l.spread = l.leadIn/2, p.longest
	}
	return l
}

// checkTime returns a *TooShortError if, judging by the first warm-ups at a level, which took so long for each arm, not even
// one round fits into the time. Such a round drives its arms at once if it may, and otherwise one after the other.
func (c *comparing) checkTime(level int, p pilots, warming time.Duration) error {
	d := c.trials.Design
	l := d.lengthened(p)
	if _, fixed := c.blocks[level]; fixed || c.counting.only || !l.slow {
		return nil
	}
	if p.longest >= d.Warmup {
		warming = p.longest // later rounds warm up with one slice, which lasts one such response: see Live.warm
	}
	round := warming + time.Duration(l.pairs)*(l.leadIn+l.measured+p.longest)
	if d.Alone != "" || !p.sampled {
		round *= time.Duration(len(c.arms))
	}
	d.Duration = d.Most(len(c.arms) - 1)
	return d.tooShort(time.Since(c.began), round)
}

// mostUsedTogether bounds the share of all CPUs that arms which are driven at once use together with the load
// generator, so that they do not slow each other.
const mostUsedTogether = 0.1

// atOnce reports whether the arms of a level are driven at the same time: in a duet, and after a first round in turns
// that showed long responses for which the arms mostly wait.
func (c *comparing) atOnce(level int) bool {
	d := c.trials.Design
	if d.Duet != nil || c.shared || !c.blocks[level].slow || d.Alone != "" || c.counting.sets != nil || c.diagnosis != nil {
		return d.Duet != nil
	}
	used, seen := 0.0, false
	for _, cell := range c.trials.Rounds {
		if cell.Round > 1 || cell.Concurrency != level {
			continue
		}
		if seen = true; cell.Server == nil {
			return false
		}
		used += (cell.Server.CPUSec + cell.GeneratorCPUSec) / cell.Duration.Seconds()
	}
	return seen && used <= mostUsedTogether*float64(runtime.NumCPU())
}

// pairs drives a level's pairs of blocks, with the order of arms reversed after each, and looks at the machine in
// between.
func (r *round) pairs(ctx context.Context, sessions []*load.Session, level int) error {
	cells := make([][]Cell, len(r.arms))
	defer func() { r.keep(cells) }()
	order := r.random.Perm(len(r.arms))
	r.stretch = 0
	r.beginHeaps(ctx, order...)
	probed := r.probe(level)
	_, all := r.pairsOf(level)
	for pair := 1; pair <= all; pair++ {
		if err := r.drive(ctx, sessions, position{level, pair}, order, cells); err != nil {
			return err
		}
		slices.Reverse(order)
		_, all = r.pairsOf(level) // fewer, where nothing can be counted
		if pair >= all || time.Since(probed) >= stretchLength {
			probed = r.probe(level)
		}
	}
	r.turn(level)
	return r.inspect(ctx, sessions, level, order)
}

// drive drives a pair's blocks of the arms in an order and adds them to each arm's.
func (r *round) drive(ctx context.Context, sessions []*load.Session, at position, order []int, cells [][]Cell) error {
	pair := r.pair
	timed, all := r.pairsOf(at.level)
	switch {
	case r.diagnosis != nil && (at.pair > 1 || all == 1):
		pair = r.sampledPair
	case at.pair > timed:
		pair = r.countedPair
	}
	measured, err := pair(ctx, sessions, at, order)
	for i, cell := range measured {
		if cell.Result != nil {
			cells[i] = append(cells[i], cell)
		}
	}
	return err
}

// pairsOf returns how many pairs of blocks a round has at a level: first those in
// which time is taken, then those in which events are counted.
func (r *round) pairsOf(level int) (timed, all int) {
	timed = r.blocks[level].pairs
	if r.counting.sets == nil {
		return timed, timed
	}
	if r.counting.only {
		timed = 0
	}
	return timed, timed + min(countedPairs, r.blocks[level].pairs)
}

// probe looks at the machine, unless no time is taken, and returns when. The last look still holds
// if it was a short time ago.
func (r *round) probe(level int) time.Time {
	if look := r.trials.Design.Probe; look != nil && !r.counting.only {
		if time.Since(r.looked) >= stretchLength {
			r.saw, r.looked = look(), time.Now()
		}
		r.trials.Probes = append(r.trials.Probes, Probe{level, r.number, r.stretch, r.saw})
	}
	r.stretch++
	return time.Now()
}

// A position is the place of a block in its round.
type position struct{ level, pair int }

// pair drives one block of every arm of the order, by turns or at once.
func (r *round) pair(ctx context.Context, sessions []*load.Session, at position, order []int) ([]Cell, error) {
	cells := make([]Cell, len(r.arms))
	plans := make([]load.Plan, len(r.arms))
	for _, arm := range order {
		plans[arm] = r.blockPlan(at.level)
	}
	if r.atOnce(at.level) {
		return r.together(ctx, sessions, at, plans)
	}
	for _, arm := range order {
		r.report(arm, at)
		var err error
		if cells[arm], err = measure(ctx, sessions[arm], r.lives[arm], plans[arm]); err == nil {
			err = r.note(ctx, arm, at, cells[arm])
		}
		if err != nil {
			return cells, err
		}
	}
	return cells, nil
}

// together drives one block of every arm at the same time.
func (r *round) together(ctx context.Context, sessions []*load.Session, at position, plans []load.Plan) ([]Cell, error) {
	cells, errs := make([]Cell, len(plans)), make([]error, len(plans))
	if t := r.trials; t.Design.Duet == nil && !slices.Contains(t.AtOnce, at.level) {
		t.AtOnce = append(t.AtOnce, at.level)
	}
	r.report(0, at)
	var wg sync.WaitGroup
	for arm := range plans {
		wg.Go(func() { cells[arm], errs[arm] = measure(ctx, sessions[arm], r.lives[arm], plans[arm]) })
	}
	wg.Wait()
	for arm := range plans {
		cells[arm].shareGenerator(len(plans))
		errs = append(errs, r.note(ctx, arm, at, cells[arm]))
	}
	return cells, errors.Join(errs...)
}

// shareGenerator corrects the generator's CPU of arms that ran at the same
// time: each was charged with that of all.
func (c *Cell) shareGenerator(arms int) {
	if c.Result != nil {
		c.GeneratorCPUSec /= float64(arms)
		c.Derive()
	}
}

func (r *round) blockPlan(level int) load.Plan {
	plan, length := r.plan, r.blocks[level]
	plan.VUs, plan.Warmup, plan.Duration, plan.Grace, plan.Spread = level, length.leadIn, length.measured, Grace, length.spread
	plan.Seed = r.random.Uint64()
	return plan
}

// note keeps a block, and finds out whether the arm lived through it.
func (r *round) note(ctx context.Context, arm int, at position, cell Cell) error {
	if cell.Result == nil {
		return nil
	}
	r.order++
	cell.Arm, cell.Round = r.arms[arm].Name, r.number
	cell.dropPatience()
	cell.Pair, cell.Order, cell.Stretch = at.pair, r.order, r.stretch
	cell.Start = max(0, time.Since(r.began)-cell.Duration)
	cell.P50, cell.P99 = cell.Response.Quantile(0.5), cell.Response.Quantile(0.99)
	r.trials.Blocks = append(r.trials.Blocks, cell.block())
	return errors.Join(r.lives[arm].diedAfter(cell), cell.outage(), ctx.Err())
}

// report shows the progress before a block of an arm.
func (r *round) report(arm int, at position) {
	d := r.trials.Design
	_, pairs := r.pairsOf(at.level)
	rounds := float64(cmp.Or(d.Rounds, PlannedRounds))
	done := (float64(r.levels) + float64(r.order-r.before)/float64(pairs*len(r.arms))) / (rounds * float64(len(d.Levels)))
	if d.Duration > 0 {
		done = min(1, max(done, float64(time.Since(r.began))/float64(d.Duration)))
	}
	label := fmt.Sprintf("%s, concurrency %d, %s", r.roundsSoFar(r.number), at.level, r.arms[arm].Name)
	if r.state != "" {
		label += "; " + r.state
	}
	r.tell(Progress{Done: done, Label: label})
}

// drop forgets what was measured in a round.
func (c *comparing) drop(n int) {
	c.trials.Rounds = slices.DeleteFunc(c.trials.Rounds, func(cell Cell) bool { return cell.Round == n })
	c.trials.Blocks = slices.DeleteFunc(c.trials.Blocks, func(block Cell) bool { return block.Round == n })
}

// keep merges the blocks of each arm into one cell of this round.
func (r *round) keep(cells [][]Cell) {
	for arm, blocks := range cells {
		if len(blocks) == 0 {
			continue
		}
		sum := MergeCells(blocks)
		sum.Arm, sum.Round = r.arms[arm].Name, r.number
		r.trials.Rounds = append(r.trials.Rounds, sum)
	}
}
