package trial

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// rounds runs rounds until every question is answered, or no more may or can follow.
func (c *comparing) rounds(ctx context.Context) error {
	c.began = time.Now()
	if c.isPiloted() {
		if err := c.pilot(ctx); err != nil {
			return err
		}
	}
	if err := c.sizeAlone(ctx); err != nil {
		return err
	}
	return c.run(func(n int) error {
		err := c.round(ctx, n)
		if err != nil && IsTimeUp(ctx) {
			c.drop(n)
			return errTimeUp
		}
		return err
	})
}

// sizeAlone warms up every arm on its own at every level, if they are not alive together, to choose
// lengths of blocks that are those of all arms before the first of these is driven. Nothing of it is kept.
func (c *comparing) sizeAlone(ctx context.Context) error {
	if c.trials.Design.Alone == "" {
		return nil
	}
	kept := *c.trials
	defer func() { *c.trials = kept }()
	r := &round{comparing: c, lives: make([]*Live, len(c.arms))}
	for _, level := range c.trials.Design.Levels {
		var all pilots
		var errs []error // of all that cannot be driven, as where they are alive together
		for arm := range c.arms {
			errs = append(errs, r.alive(ctx, arm, level, func(_ *load.Session, warm *load.Result) error {
				all.add(warm)
				return nil
			}))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		c.fix(level, all)
	}
	return nil
}

// alive starts an arm, opens VUs on it, warms it up, and ends it when use returns.
func (r *round) alive(ctx context.Context, arm, level int, use func(*load.Session, *load.Result) error) (err error) {
	setup := r.setups()[arm]
	r.starts++
	r.trials.Starts = append(r.trials.Starts, Start{r.arms[arm].Name, r.number, r.starts, setup})
	live, err := r.arms[arm].Launch(ctx, setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, live.End(ctx)) }()
	r.trials.InProcess = r.trials.InProcess || live.Subject == nil
	r.lives[arm] = live
	session, err := live.Open(ctx, level)
	if err != nil {
		return err
	}
	defer session.Close()
	warm, err := r.warm(ctx, arm, session, level)
	if err != nil {
		return err
	}
	return use(session, warm)
}

// visits drives the arms at a level with one of them alive at a time: each for the first
// half of its blocks, and then in the opposite order for the other (ABBA, ABCCBA). Every
// visit is one stretch on a fresh process, so that those of all arms are comparable.
func (r *round) visits(ctx context.Context, level int) error {
	cells := make([][]Cell, len(r.arms))
	defer func() { r.keep(cells) }()
	order := r.random.Perm(len(r.arms))
	r.stretch = 0
	for _, half := range []int{1, 2} {
		for _, arm := range order {
			if err := r.visit(ctx, arm, position{level: level}, half, cells); err != nil {
				return err
			}
		}
		slices.Reverse(order)
	}
	r.turn(level)
	return nil
}

// visit drives one arm for a half of its blocks.
func (r *round) visit(ctx context.Context, arm int, at position, half int, cells [][]Cell) error {
	pairs := r.half(at.level, half)
	if len(pairs) == 0 {
		return nil
	}
	last := half == 2 || len(r.half(at.level, 2)) == 0
	return r.alive(ctx, arm, at.level, func(s *load.Session, _ *load.Result) error {
		if last {
			r.beginHeaps(ctx, arm)
		}
		if r.stretch == 0 {
			r.probe(at.level)
		}
		sessions := make([]*load.Session, len(r.arms))
		sessions[arm] = s
		for _, at.pair = range pairs {
			if err := r.drive(ctx, sessions, at, []int{arm}, cells); err != nil {
				return err
			}
		}
		r.probe(at.level)
		if !last {
			return nil
		}
		return r.inspect(ctx, sessions, at.level, []int{arm})
	})
}

// half returns the pairs of blocks of one half of a round, 1 or 2, at a level: the larger one
// first, of those in which time is taken and of those in which events are counted.
func (r *round) half(level, half int) []int {
	timed, all := r.pairsOf(level)
	var pairs []int
	for pair := 1; pair <= all; pair++ {
		among, of := pair, timed
		if pair > timed {
			among, of = pair-timed, all-timed
		}
		if first := 2*among <= of+1; first == (half == 1) {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// aloneFindings says of a comparison of arms that were alive one at a time what that
// costs; nothing of others.
func (t *Trials) aloneFindings(c *Comparison) []finding.Warning {
	if t.Design.Alone == "" {
		return nil
	}
	wider := "wider than"
	switch times, ok := t.widened(c); {
	case ok && times < 1.05:
		wider = "no wider than"
	case ok:
		wider = "up to " + unit.Digits(times) + " times as wide as"
	}
	return []finding.Warning{finding.ArmsAlone.Warning("the servers ran one at a time: the interval is %s that of interleaved blocks, and machine drift is in the difference; %s: use {{addr}} in URL and commands, or run on Linux with seccomp allowed",
		wider, t.Design.Alone)}
}

// widened estimates from above how many times as wide the interval of a comparison is as it
// would be with interleaved blocks: the standard deviation s of the rounds' log-ratios, over
// that of rounds in which only blocks scatter, as they do within a visit,
//
//	s ÷ √(σ₁² ÷ n₁ + σ₂² ÷ n₂)
//
// where σ is the standard deviation of the logarithms of an arm's blocks around the means
// of their visits (stat.Shares), and n their number in a round. From above, because s
// includes what differs from process to process, which stays with interleaved blocks. false:
// blocks do not have the metric, or there are too few.
func (t *Trials) widened(c *Comparison) (times float64, ok bool) {
	sample, err := stat.NewSample(c.RoundLogRatios)
	if err != nil {
		return 0, false
	}
	rounds, err := sample.Summary(t.Design.Confidence)
	if err != nil {
		return 0, false
	}
	variance := 0.0
	for _, arm := range []string{c.Baseline, c.Candidate} {
		visits, blocks := t.logsOfVisits(arm, c.Concurrency, c.Metric)
		scatter, ok := stat.Shares(visits)
		if !ok {
			return 0, false
		}
		variance += scatter.Block * scatter.Block / blocks
	}
	return max(1, rounds.SD/math.Sqrt(variance)), variance > 0 && rounds.N > 1
}

// logsOfVisits returns the logarithms of a metric of an arm's blocks, by visit, and how
// many blocks a round has on average.
func (t *Trials) logsOfVisits(arm string, level int, m metric.Name) (visits [][]float64, perRound float64) {
	byVisit := map[stretchKey][]float64{}
	rounds := map[int]bool{}
	blocks := 0
	for _, b := range t.Blocks {
		value, ok := m.Of(b.Result)
		if ok && value > 0 && b.Arm == arm && b.Concurrency == level {
			byVisit[stretchOf(b)] = append(byVisit[stretchOf(b)], math.Log(value))
			rounds[b.Round] = true
			blocks++
		}
	}
	return slices.Collect(maps.Values(byVisit)), float64(blocks) / float64(max(1, len(rounds)))
}
