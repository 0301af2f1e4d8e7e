package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"contend/load"
	"contend/usl"
)

// A SweepDesign says how an arm is swept over levels of concurrency.
type SweepDesign struct {
	// Levels of concurrency, each at least 1.
	Levels []int `json:"levels"`
	// ExtendTo allows further levels: the highest is doubled, up to ExtendTo,
	// until the two highest have both fallen below the best. 0: none.
	ExtendTo int `json:"extend_to,omitempty"`
	// Visits is how often each level is measured, each time in a fresh process
	// and a fresh random order of the levels.
	Visits int `json:"visits"`
	// Block is the measured length of a visit to a level; it is stretched as in
	// a comparison.
	Block time.Duration `json:"block_ns"`
	// Warmup is driven and discarded before each visit to a level.
	Warmup time.Duration `json:"warmup_ns"`
	// Seed decides the order and the resampling.
	Seed uint64 `json:"seed"`
}

// Validate returns every mistake of the design at once.
func (d SweepDesign) Validate() error {
	var errs []error
	if len(d.Levels) == 0 {
		errs = append(errs, errors.New("sweep: levels is empty, at least one is needed"))
	}
	for _, n := range d.Levels {
		if n < 1 {
			errs = append(errs, fmt.Errorf("sweep: level %d, allowed are 1 and more", n))
		}
	}
	if d.ExtendTo < 0 || d.ExtendTo > load.MaxVUs {
		errs = append(errs, fmt.Errorf("sweep: extend_to is %d, allowed are 0 to %d", d.ExtendTo, load.MaxVUs))
	}
	if d.Visits < 1 || d.Visits > 1000 {
		errs = append(errs, fmt.Errorf("sweep: visits is %d, allowed are 1 to 1000", d.Visits))
	}
	if d.Block < time.Millisecond {
		errs = append(errs, fmt.Errorf("sweep: block is %v, allowed are 1ms and more", d.Block))
	}
	if d.Warmup < 0 {
		errs = append(errs, fmt.Errorf("sweep: warmup is %v, allowed are 0 and more", d.Warmup))
	}
	return errors.Join(errs...)
}

// enough is the shortfall from the best throughput at which more concurrency is
// hardly worth having.
const enough = 0.05

// A Curve is the throughput of one arm over levels of concurrency. Every
// figure can be recomputed by Derive from Design and Visits.
type Curve struct {
	Arm    string      `json:"arm"`
	Design SweepDesign `json:"design"`
	// Visits has one cell per level and visit (its Round).
	Visits []Cell `json:"visits"`
	// Results has one cell per level: the sum of its visits.
	Results []Cell `json:"-"`
	// Fit is the Universal Scalability Law; nil when NoFit says why there is none.
	Fit   *usl.Result `json:"fit,omitempty"`
	NoFit string      `json:"no_fit,omitempty"`
	// Enough is the smallest measured level within 5 % of the best throughput.
	Enough *usl.Knee `json:"enough,omitempty"`
}

// Sweep drives the arm at every level, Visits times in random order. On an
// error, and when ctx is done, the curve so far is returned with it.
func Sweep(ctx context.Context, arm Arm, plan load.Plan, d SweepDesign, observe func(Progress)) (*Curve, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s := &sweeping{arm: arm, plan: plan, observe: observe,
		random: rand.New(rand.NewPCG(d.Seed, 2)), curve: &Curve{Arm: arm.Name, Design: d}, levels: slices.Clone(d.Levels)}
	var err error
	for n := 1; n <= d.Visits && err == nil; n++ {
		err = s.visit(ctx, n)
	}
	s.curve.Derive()
	return s.curve, err
}

type sweeping struct {
	arm     Arm
	plan    load.Plan
	observe func(Progress)
	random  *rand.Rand
	curve   *Curve
	levels  []int // those of the design, and the further ones of the first visit
}

// visit starts the arm afresh and drives it at every level once.
func (s *sweeping) visit(ctx context.Context, n int) error {
	live, err := s.arm.Start(ctx, Setup{})
	if err != nil {
		return fmt.Errorf("arm %s: %w", s.arm.Name, err)
	}
	for _, i := range s.random.Perm(len(s.levels)) {
		if err = s.level(ctx, live, n, s.levels[i]); err != nil {
			break
		}
	}
	for next := s.further(n); err == nil && next > 0; next = s.further(n) {
		s.levels = append(s.levels, next)
		err = s.level(ctx, live, n, next)
	}
	return errors.Join(err, stopAll(ctx, []*Live{live}))
}

// further returns the next level beyond those of the design, or 0.
func (s *sweeping) further(visit int) int {
	highest, limit := slices.Max(s.levels), s.curve.Design.ExtendTo
	if visit > 1 || highest >= limit {
		return 0
	}
	cells := slices.Clone(s.curve.Visits)
	slices.SortFunc(cells, func(a, b Cell) int { return cmp.Compare(a.Concurrency, b.Concurrency) })
	best := slices.MaxFunc(cells, func(a, b Cell) int { return cmp.Compare(a.ThroughputPerSec, b.ThroughputPerSec) })
	if last := len(cells) - 1; last > 1 && best.Concurrency < cells[last-1].Concurrency {
		return 0
	}
	return min(2*highest, limit)
}

func (s *sweeping) level(ctx context.Context, live *Live, visit, n int) error {
	if s.observe != nil {
		s.observe(Progress{
			Done:  float64(len(s.curve.Visits)) / float64(s.curve.Design.Visits*len(s.levels)),
			Label: fmt.Sprintf("visit %d of %d, %d VUs", visit, s.curve.Design.Visits, n),
		})
	}
	session, err := load.Open(ctx, live.Address, live.Target, n)
	if err != nil {
		return errors.Join(live.died(s.arm.Name, 1), err)
	}
	defer session.Close()
	length := blockLength{measured: s.curve.Design.Block}
	if warmup := s.curve.Design.Warmup; warmup > 0 {
		warm, err := s.drive(ctx, session, live, blockLength{measured: warmup}, n)
		if err != nil {
			return err
		}
		length = lengthen(s.curve.Design.Block, warm.Response.Mean(), 1)
	}
	cell, err := s.drive(ctx, session, live, length, n)
	if err != nil {
		return err
	}
	cell.Arm, cell.Round = s.arm.Name, visit
	s.curve.Visits = append(s.curve.Visits, cell)
	return nil
}

func (s *sweeping) drive(ctx context.Context, session *load.Session, live *Live, length blockLength, n int) (Cell, error) {
	plan := s.plan
	plan.VUs, plan.Warmup, plan.Duration, plan.Grace = n, length.leadIn, length.measured, trialGrace
	cell, err := measure(ctx, session, live, plan)
	if err != nil {
		return Cell{}, err
	}
	return cell, errors.Join(live.diedAfter(s.arm.Name, cell), ctx.Err())
}

// Derive computes the figures of the visits, Results and the fit.
func (c *Curve) Derive() {
	c.Results, c.Fit, c.NoFit, c.Enough = nil, nil, "", nil
	byLevel := map[int][]Cell{}
	var points []usl.Point
	believed := 0
	for _, v := range c.Visits {
		v.Derive()
		byLevel[v.Concurrency] = append(byLevel[v.Concurrency], v)
		points = append(points, usl.Point{N: float64(v.Concurrency), X: v.ThroughputPerSec})
		if refuse(v, Throughput) == nil {
			believed++
		}
	}
	for _, n := range slices.Sorted(maps.Keys(byLevel)) {
		c.Results = append(c.Results, MergeCells(byLevel[n]))
	}
	if enough, err := usl.WithinOfBest(points, enough, c.Design.Seed); err == nil {
		c.Enough = &enough
	}
	if left := len(c.Visits) - believed; left > 0 {
		c.NoFit = fmt.Sprintf("%d of %d visits must not be believed: see the warnings of their levels", left, len(c.Visits))
		return
	}
	fit, err := usl.Fit(points, c.Design.Seed)
	if err != nil {
		c.NoFit = err.Error()
		return
	}
	c.Fit = fit
}
