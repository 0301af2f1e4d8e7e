package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"contend/load"
)

// A Design says how arms are compared. All fields must be set, except where
// said otherwise.
type Design struct {
	// Rounds of fresh processes: the unit of replication. A verdict at 95 %
	// confidence needs at least 6.
	Rounds int `json:"rounds"`
	// Pairs of blocks per round and level.
	Pairs int `json:"pairs"`
	// Block is the measured length of a block. Where four response times are
	// longer the block is stretched to them, and the pairs are as many fewer.
	Block time.Duration `json:"block_ns"`
	// Warmup is driven and discarded once per round, level and arm.
	Warmup time.Duration `json:"warmup_ns"`
	// Levels of concurrency; empty means the plan's VUs.
	Levels []int `json:"levels,omitempty"`
	// Metrics to compare. The first is the primary one: it carries the whole
	// significance level; the others are corrected for their number (Holm).
	Metrics []Metric `json:"metrics"`
	// Margin is the largest relative difference that does not matter, at least 0.
	Margin float64 `json:"margin"`
	// Confidence of the intervals, in (0, 1).
	Confidence float64 `json:"confidence"`
	// Seed decides every random choice of order.
	Seed uint64 `json:"seed"`
}

// Validate returns every mistake of the design at once.
func (d Design) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("design: "+format, args...))
		}
	}
	check(d.Rounds >= 1 && d.Rounds <= 1000, "rounds is %d, allowed are 1 to 1000", d.Rounds)
	check(d.Pairs >= 1 && d.Pairs <= 10000, "pairs is %d, allowed are 1 to 10000", d.Pairs)
	check(d.Block >= time.Millisecond, "block is %v, allowed are 1ms and more", d.Block)
	check(d.Warmup >= 0, "warmup is %v, allowed are 0 and more", d.Warmup)
	check(len(d.Metrics) > 0, "metrics is empty, at least one is needed")
	check(d.Margin >= 0 && d.Margin < 1, "margin is %g, allowed are 0 to below 1", d.Margin)
	check(d.Confidence > 0 && d.Confidence < 1, "confidence is %g, allowed is more than 0 and less than 1", d.Confidence)
	for _, m := range d.Metrics {
		errs = append(errs, m.Check())
	}
	for _, n := range d.Levels {
		check(n >= 1, "level %d, allowed are 1 and more", n)
	}
	if m, found := repeated(d.Metrics); found {
		check(false, "metric %s is listed twice", m)
	}
	if n, found := repeated(d.Levels); found {
		check(false, "level %d is listed twice", n)
	}
	return errors.Join(errs...)
}

// repeated returns a value that stands in the list twice.
func repeated[T cmp.Ordered](list []T) (T, bool) {
	sorted := slices.Sorted(slices.Values(list))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	var none T
	return none, false
}

// Progress is a glance at a trial under way.
type Progress struct {
	Done  float64 // share of the blocks, 0 to 1
	Label string  // what is running
}

// Trials are the blocks of a comparison and what follows from them. Results
// and Comparisons are not stored: Derive computes them from the rest.
type Trials struct {
	Arms        []string     `json:"arms"` // the first is the baseline
	Design      Design       `json:"design"`
	Blocks      []Block      `json:"blocks"`
	Rounds      []Cell       `json:"rounds"`
	Results     []Cell       `json:"-"`
	Comparisons []Comparison `json:"-"`
	// InProcess is set when an arm has no process that was fresh in each round.
	InProcess bool `json:"in_process,omitempty"`
}

// Compare drives the arms by the plan in interleaved blocks; the first arm is
// the baseline of all others. Within a round all arms are alive and each pair
// is one block of every arm, in an order that turns around from pair to pair
// (ABBA). On an error, and when ctx is done, the trials so far are returned
// with it.
func Compare(ctx context.Context, arms []Arm, plan load.Plan, d Design, observe func(Progress)) (*Trials, error) {
	if len(d.Levels) == 0 {
		d.Levels = []int{plan.VUs}
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if len(arms) < 2 {
		return nil, fmt.Errorf("compare: have %d arms, at least 2 are needed", len(arms))
	}
	c := &comparing{
		arms: arms, plan: plan, observe: observe,
		random: rand.New(rand.NewPCG(d.Seed, 1)),
		blocks: map[int]blockLength{},
		trials: &Trials{Design: d},
	}
	for _, arm := range arms {
		c.trials.Arms = append(c.trials.Arms, arm.Name)
	}
	var err error
	for n := 1; n <= d.Rounds && err == nil; n++ {
		err = c.round(ctx, n)
	}
	c.trials.Derive()
	return c.trials, err
}

type comparing struct {
	arms    []Arm
	plan    load.Plan
	observe func(Progress)
	random  *rand.Rand
	blocks  map[int]blockLength // by level, fixed in the first round
	levels  int                 // done so far, over all rounds
	trials  *Trials
}

// blockLength is how blocks are driven at a level.
type blockLength struct {
	leadIn, measured time.Duration
	pairs            int
}

// round starts fresh arms and drives them at every level.
func (c *comparing) round(ctx context.Context, n int) (err error) {
	lives, err := startAll(ctx, c.arms, c.random.Perm(len(c.arms)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(ctx, lives)) }()
	for _, live := range lives {
		c.trials.InProcess = c.trials.InProcess || live.Subject == nil
	}
	r := &round{comparing: c, number: n, lives: lives}
	levels := c.trials.Design.Levels
	for _, i := range c.random.Perm(len(levels)) {
		if err := r.level(ctx, levels[i]); err != nil {
			return err
		}
		c.levels++
	}
	return nil
}

// round is one round under way.
type round struct {
	*comparing
	number, order int
	lives         []*Live
}

func (r *round) level(ctx context.Context, n int) (err error) {
	sessions := make([]*load.Session, len(r.lives))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				s.Close()
			}
		}
	}()
	var slowest time.Duration
	for i, live := range r.lives {
		if sessions[i], err = load.Open(ctx, live.Address, live.Target, n); err != nil {
			return errors.Join(live.died(r.arms[i].Name, 1), err)
		}
		response, err := r.warm(ctx, i, sessions[i], n)
		if err != nil {
			return err
		}
		slowest = max(slowest, response)
	}
	if _, fixed := r.blocks[n]; !fixed {
		r.blocks[n] = lengthen(r.trials.Design.Block, slowest, r.trials.Design.Pairs)
	}
	return r.pairs(ctx, sessions, n)
}

// lengthen stretches a block to hold several response times, with a lead-in
// in which the cycle of a closed model settles after the idle start, and keeps
// the measured time of all pairs together about the same.
func lengthen(block, response time.Duration, pairs int) blockLength {
	l := blockLength{leadIn: max(block/5, 2*response), measured: max(block, 4*response)}
	l.pairs = max(1, int(math.Round(float64(pairs)*float64(block)/float64(l.measured))))
	return l
}

// trialGrace is how long an iteration in flight may take to complete after its
// block: cutting it off would cost its connection.
const trialGrace = 10 * time.Second

// warm drives an arm for the warm-up and returns its mean response time.
func (r *round) warm(ctx context.Context, arm int, s *load.Session, level int) (time.Duration, error) {
	if r.trials.Design.Warmup == 0 {
		return 0, nil
	}
	plan := r.plan
	plan.VUs, plan.Duration, plan.Grace = level, r.trials.Design.Warmup, trialGrace
	cell, err := measure(ctx, s, r.lives[arm], plan)
	if err != nil {
		return 0, err
	}
	if err := r.lives[arm].diedAfter(r.arms[arm].Name, cell); err != nil {
		return 0, err
	}
	return cell.Response.Mean(), ctx.Err()
}

func (r *round) pairs(ctx context.Context, sessions []*load.Session, level int) error {
	cells := make([][]Cell, len(r.arms))
	defer func() { r.keep(cells) }()
	order := r.random.Perm(len(r.arms))
	for pair := 1; pair <= r.blocks[level].pairs; pair++ {
		for _, arm := range order {
			r.report(arm, level, pair)
			cell, err := r.block(ctx, arm, sessions[arm], level, pair)
			if err != nil {
				return err
			}
			cells[arm] = append(cells[arm], cell)
			if err := r.lives[arm].diedAfter(r.arms[arm].Name, cell); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		turnAround(order)
	}
	return nil
}

func (r *round) report(arm, level, pair int) {
	if r.observe == nil {
		return
	}
	d := r.trials.Design
	r.observe(Progress{
		Done:  (float64(r.levels) + float64(pair-1)/float64(r.blocks[level].pairs)) / float64(d.Rounds*len(d.Levels)),
		Label: fmt.Sprintf("round %d of %d, %d VUs, %s", r.number, d.Rounds, level, r.arms[arm].Name),
	})
}

func turnAround(order []int) {
	for i, j := 0, len(order)-1; i < j; i, j = i+1, j-1 {
		order[i], order[j] = order[j], order[i]
	}
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

func (r *round) block(ctx context.Context, arm int, s *load.Session, level, pair int) (Cell, error) {
	plan, length := r.plan, r.blocks[level]
	plan.VUs, plan.Warmup, plan.Duration, plan.Grace = level, length.leadIn, length.measured, trialGrace
	plan.Seed = r.random.Uint64()
	cell, err := measure(ctx, s, r.lives[arm], plan)
	if err != nil {
		return Cell{}, err
	}
	r.order++
	b := Block{
		Arm: r.arms[arm].Name, Concurrency: level, Round: r.number, Pair: pair, Order: r.order,
		Duration: cell.Duration, Completed: cell.Completed, Failed: cell.Failed, Errored: cell.ErroredTotal(),
		Ops: cell.Ops, ThroughputPerSec: cell.ThroughputPerSec, GeneratorCPUSec: cell.GeneratorCPUSec,
	}
	if cell.Server != nil {
		b.ServerCPUSec = cell.Server.CPUSec
	}
	r.trials.Blocks = append(r.trials.Blocks, b)
	return cell, nil
}
