// Package sweep drives a server at several levels of concurrency and finds the
// smallest that is sufficient.
package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"contend/finding"
	"contend/load"
	"contend/setting"
	"contend/stat"
	"contend/trial"
	"contend/usl"
)

// A Design says how an arm is swept over levels of concurrency.
type Design struct {
	// Levels of concurrency. Empty: they are chosen (Explore).
	Levels []int `json:"levels,omitempty" file:"load.vus" flag:"levels" min:"1" max:"1000000" words:"*levels* of concurrency (chosen around the peak)"`
	// ExtendTo allows further levels: the highest is doubled, up to ExtendTo,
	// until the two highest have both fallen below the best. 0: none. Where the
	// levels are chosen it is the highest of them; 0: DefaultLimit.
	ExtendTo int `json:"extend_to,omitempty" file:"sweep.extend_to" min:"0" max:"1000000" words:"keep doubling the highest *level* up to this one, until the two highest are below the best; the highest level where contend chooses them (1024)"`
	// Duration is the most that the whole may take; 0: as long as it takes. When it is
	// over the level under way is dropped.
	Duration time.Duration `json:"duration_ns,omitempty" file:"sweep.duration" flag:"duration,d" default:"1m" min:"0s" max:"720h" words:"time limit for the whole sweep; 0s: none"`
	// Visits is how often each level is measured, each time in a fresh process and a fresh random
	// order of the levels. 0: 3 times, and then the levels around the answer until it is certain
	// (Settled) or the time is up; with fewer the sweep is not done.
	Visits int `json:"visits,omitempty" file:"sweep.visits" min:"0" max:"1000" words:"how many *times* to measure each level, each time in a fresh process (3, and those around the answer until it is certain)"`
	// Block is the measured length of a visit to a level; it is stretched as in a
	// comparison. 0: each visit chooses it, so that it has about 200 answers, from 200
	// ms to 1 s or a 120th of Duration.
	Block time.Duration `json:"block_ns,omitempty" file:"load.duration" flag:"block" min:"0s" max:"720h" words:"measured *length* of a run at a level, extended to four response times if that is longer (chosen: 200 responses, within 200ms to 1s, or a 120th of the time limit)"`
	// Within has the smallest level recommended whose throughput is at most this share below the best one's; 0: the
	// knee, the level with the highest throughput ÷ response time.
	Within float64 `json:"within" file:"sweep.within" flag:"within" unit:"percent" default:"0%" min:"0%" below:"100%" words:"recommend the smallest concurrency within this *share* of the best throughput; 0%: the knee, with the highest throughput ÷ response time"`
	// Warmup is driven and discarded at least before each visit to a level, and until the
	// throughput is steady.
	Warmup time.Duration `json:"warmup_ns" file:"load.warmup" default:"100ms" min:"0s" max:"720h" words:"minimum warm-up before each run; it continues until throughput is steady (with --rate: before each attempt, 300ms)"`
	// Seed decides the order and the resampling.
	Seed uint64 `json:"seed" flag:"seed" default:"1" words:"seed for all random choices"`
	// Pilot has the arm driven until its cost is level before anything is measured, and for as long after
	// each further start: see trial.Pilot, which has Widen.
	Pilot bool        `json:"-"`
	Widen func() bool `json:"-"`
}

// Validate returns every mistake of the design at once.
func (d Design) Validate() error {
	if err := setting.Check(d); err != nil {
		return err
	}
	return d.enough(1, 0)
}

// WithinBest is the shortfall from the best throughput at which more concurrency is
// hardly worth having, where Design.Within does not say another.
const WithinBest = 0.05

// UnmarshalJSON also reads designs from before a sweep looked for the knee: those looked for WithinBest.
func (d *Design) UnmarshalJSON(text []byte) error {
	type plain Design
	before := plain{Within: WithinBest}
	err := json.Unmarshal(text, &before)
	*d = Design(before)
	return err
}

// A Curve is the throughput of one arm over levels of concurrency. Every
// figure can be recomputed by Derive from Design and Visits.
type Curve struct {
	Arm    string `json:"arm"`
	Design Design `json:"design"`
	// Explored are the cells that the levels were chosen by, in ascending order;
	// no other figure rests on them. Where the levels were given: those that starved VUs.
	Explored []trial.Cell `json:"explored,omitempty"`
	// Ceiling says why no level above those explored was tried, or counts, if it was neither
	// the limit nor the throughput.
	Ceiling string `json:"ceiling,omitempty"`
	// TimeUp says what is missing because Design.Duration was over; nil: nothing.
	TimeUp *trial.TimeUp `json:"time_up,omitempty"`
	// Interrupted says that the sweep was ended from outside before it was done.
	Interrupted bool `json:"interrupted,omitempty"`
	// Crowded says what other programs took at the level above the recommended one, where its interval ends: with
	// these CPUs more callers might have paid. nil: they took little.
	Crowded *finding.Warning `json:"crowded,omitempty"`
	// Warmup is that of the pilot; nil: there was none, or nothing could be learnt.
	Warmup *trial.Warmup `json:"pilot,omitempty"`
	// Visits has one cell per level and visit (its Round).
	Visits []trial.Cell `json:"visits"`
	// Results has one cell per level: the sum of its visits.
	Results []trial.Cell `json:"-"`
	// Fit is the Universal Scalability Law; nil if it was not fitted, and NoFit says why.
	Fit   *usl.Result `json:"fit,omitempty"`
	NoFit string      `json:"no_fit,omitempty"`
	// LeftOut names the levels that the fit excludes, because the visits to the lowest
	// of them are INVALID.
	LeftOut string `json:"left_out,omitempty"`
	// Best is the measured level with the highest throughput.
	Best *usl.Knee `json:"best,omitempty"`
	// Enough is the smallest measured level within Design.Within of the best throughput, or else within 5%.
	Enough *usl.Knee `json:"enough,omitempty"`
	// Knee is the measured level with the highest throughput ÷ response time.
	Knee *usl.Knee `json:"knee,omitempty"`
	// Bound is set where the generator was the limit.
	Bound *Bound `json:"bound,omitempty"`
}

// Progress is a glance at a sweep under way, before each level.
type Progress struct {
	trial.Progress
	Curve func() *Curve // so far, without a fit
}

// Run drives the arm at every level, Visits times in random order, for at most Duration; once if nothing succeeds. If
// the first level shows that Duration is too short for an answer, the curve has that level alone, and TimeUp. On an
// error, and when ctx is done, the curve so far is returned with it.
func Run(ctx context.Context, arm trial.Arm, plan load.Plan, d Design, observe func(Progress)) (*Curve, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s := &sweeping{arm: arm, plan: plan, observe: observe, begun: time.Now(),
		random: rand.New(rand.NewPCG(d.Seed, 2)), curve: &Curve{Arm: arm.Name, Design: d}, levels: slices.Clone(d.Levels)}
	limited, cancel := trial.Limit(ctx, d.Duration)
	defer cancel()
	err := s.run(limited)
	if short, ok := errors.AsType[*trial.TooShortError](err); ok {
		s.curve.TimeUp, err = &trial.TimeUp{Lacks: short.Lacks, Needs: short.Least}, nil
	} else if err == nil {
		s.curve.TimeUp = s.timeUp()
	}
	s.curve.Interrupted = ctx.Err() != nil
	if len(s.curve.Visits) == 0 && (s.curve.TimeUp != nil || s.allStarve()) { // what it was to begin with is all there is
		s.curve.Visits, s.curve.Explored = s.curve.Explored, nil
		if len(s.curve.Visits) == 0 && s.warmed.Result != nil {
			s.curve.Visits = []trial.Cell{s.warmed}
		}
	}
	s.curve.Derive()
	return s.curve, err
}

func (s *sweeping) run(ctx context.Context) error {
	warmed, err := s.pilot(ctx)
	if err != nil {
		return unlessTimeUp(ctx, err)
	}
	defer func() { _ = warmed.End(ctx) }() // of the pilot's process, if no visit has used it
	s.arm, s.curve.Warmup, s.warmed = warmed.Arm, warmed.Warmup, warmed.Last
	if s.warmed.Result != nil {
		if s.pilotStarved() {
			s.waited = time.Since(s.begun)
			if len(s.levels) > 0 {
				s.starve(s.warmed)
			}
		} else if err := s.curve.Design.enough(s.warmed.Concurrency, s.warmed.Response.Mean()); err != nil {
			return err
		}
	}
	if len(s.curve.Design.Levels) == 0 {
		err = s.explore(ctx)
	}
	least, most := s.curve.Design.visits()
	for n := 1; n <= most && err == nil && len(s.levels) > 0 && !trial.IsTimeUp(ctx) && !trial.NothingRight(s.curve.Visits); n++ {
		levels := s.levels
		if n > least {
			if s.curve.Derive(); Settled(s.curve.Recommended()) {
				break
			}
			if levels = s.curve.undecided(s.levels); len(levels) == 0 {
				break // no interval says where to look
			}
		}
		err = s.visit(ctx, n, levels)
	}
	return err
}

// pilot warms the arm up, if that is asked for.
func (s *sweeping) pilot(ctx context.Context) (*trial.Warmed, error) {
	d := s.curve.Design
	p := trial.Pilot{Plan: s.plan, Widen: d.Widen}
	if d.Pilot && d.Warmup > 0 {
		least, _ := d.visits()
		p.Most = trial.Within(d.Duration, least)
	}
	p.Plan.VUs = min(trial.PilotVUs, cmp.Or(d.ExtendTo, DefaultLimit))
	if len(d.Levels) > 0 {
		p.Plan.VUs = slices.Max(d.Levels)
	}
	s.report("warming up", p.Plan.VUs)
	return p.Warm(ctx, s.arm)
}

type sweeping struct {
	arm     trial.Arm
	plan    load.Plan
	observe func(Progress)
	begun   time.Time
	random  *rand.Rand
	curve   *Curve
	levels  []int         // those of the design or explored, and the further ones of the first visit
	cut     bool          // exploring ended because of the time
	warmed  trial.Cell    // the last of the pilot; zero: there was none
	waited  time.Duration // for the starved VUs of the pilot
}

// explore chooses the levels by an ascending visit of its own. No result uses its
// measurements: they would be biased by the choice, and are not in random order.
func (s *sweeping) explore(ctx context.Context) error {
	live, err := s.arm.Launch(ctx, trial.Setup{})
	if err != nil {
		return err
	}
	c := s.curve
	s.levels, err = c.Design.Explore(s.plan.Think, func(level int) (float64, bool, error) {
		if s.cut = len(c.Explored) > 0 && s.exploredLongEnough(); s.cut {
			c.Ceiling = fmt.Sprintf("a third of the %v time limit was over", c.Design.Duration)
			return 0, false, nil
		}
		if s.pilotStarved() && level >= s.warmed.Concurrency {
			s.starve(s.warmed)
			return 0, false, nil
		}
		s.report("exploring", level)
		cell, err := s.level(ctx, live, 0, level)
		if open, ok := errors.AsType[*openError](err); ok && len(c.Explored) > 0 && ctx.Err() == nil {
			c.Ceiling = fmt.Sprintf("concurrency %d could not be set up: %v", level, open.err)
			return 0, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		if cell.Starved > 0 {
			s.starve(cell)
			return 0, false, nil
		}
		c.Explored = append(c.Explored, cell)
		// If the generator is the bottleneck throughput stays flat, which ends it as well.
		reason := cell.Refusal(stat.HigherIsFaster)
		if (reason.Is(finding.Errors) || reason.Is(finding.Incomplete)) && len(c.Explored) > 1 || trial.NothingRight(c.Explored) {
			c.Ceiling = fmt.Sprintf("at concurrency %d: %s: %s", level, reason.Code, reason.Text)
			return 0, false, nil
		}
		return cell.ThroughputPerSec, true, s.enough(cell)
	})
	return errors.Join(unlessTimeUp(ctx, err), live.End(ctx))
}

// visit restarts the arm and drives it at each of the levels once.
func (s *sweeping) visit(ctx context.Context, visit int, levels []int) error {
	live, err := s.arm.Launch(ctx, trial.Setup{})
	if err != nil {
		return unlessTimeUp(ctx, err)
	}
	order := s.random.Perm(len(levels))
	if s.pilotStarved() && visit == 1 { // a level that starves takes long, and upwards only the lowest is measured
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(levels[a], levels[b]) })
	}
	for _, i := range order {
		if starved := s.curve.Starved(); starved != nil && levels[i] >= starved.Concurrency {
			continue
		}
		if err = s.keep(ctx, live, visit, levels[i]); err != nil {
			break
		}
	}
	for next := s.further(visit); err == nil && next > 0; next = s.further(visit) {
		s.levels = append(s.levels, next)
		err = s.keep(ctx, live, visit, next)
	}
	return errors.Join(unlessTimeUp(ctx, err), live.End(ctx))
}

// further returns the next level beyond those of the design, or 0.
func (s *sweeping) further(visit int) int {
	limit := s.curve.Design.ExtendTo
	if visit > 1 || len(s.curve.Design.Levels) == 0 || s.curve.Starved() != nil || slices.Max(s.levels) >= limit {
		return 0
	}
	cells := slices.Clone(s.curve.Visits)
	slices.SortFunc(cells, func(a, b trial.Cell) int { return cmp.Compare(a.Concurrency, b.Concurrency) })
	best := slices.MaxFunc(cells, func(a, b trial.Cell) int { return cmp.Compare(a.ThroughputPerSec, b.ThroughputPerSec) })
	if last := len(cells) - 1; last > 1 && best.Concurrency < cells[last-1].Concurrency {
		return 0
	}
	return min(2*slices.Max(s.levels), limit)
}

// report shows the progress before a level, as the greater share of runs made and of time used.
func (s *sweeping) report(label string, level int) {
	if s.observe == nil {
		return
	}
	visits, _ := s.curve.Design.visits()
	done, all := len(s.curve.Visits), visits*max(minLevels, len(s.levels))
	if explored := len(s.curve.Explored); explored > 0 {
		done, all = done+explored, all+max(minLevels, explored)
	}
	share := min(1, float64(done)/float64(all))
	if most := s.curve.Design.Duration; most > 0 {
		share = max(share, min(1, time.Since(s.begun).Seconds()/most.Seconds()))
	}
	now := trial.Progress{Done: share, Label: fmt.Sprintf("%s, concurrency %d", label, level), Between: true}
	s.observe(Progress{now, s.curve.soFar})
}

// keep measures a level for the curve.
func (s *sweeping) keep(ctx context.Context, live *trial.Live, visit, level int) error {
	s.report(fmt.Sprintf("run %d", visit), level)
	cell, err := s.level(ctx, live, visit, level)
	if err != nil {
		return err
	}
	if cell.Starved > 0 {
		s.starve(cell)
		return nil
	}
	s.curve.Visits = append(s.curve.Visits, cell)
	return s.enough(cell)
}

// An openError says that the VUs of a level could not be made.
type openError struct{ err error }

func (e *openError) Error() string { return e.err.Error() }
func (e *openError) Unwrap() error { return e.err }

// level warms the arm up at a level and measures it. The error is an *openError if that concurrency cannot be set up.
func (s *sweeping) level(ctx context.Context, live *trial.Live, visit, level int) (trial.Cell, error) {
	session, err := live.Open(ctx, level)
	if err != nil {
		if _, died := errors.AsType[*trial.DiedError](err); died {
			return trial.Cell{}, err
		}
		return trial.Cell{}, &openError{err}
	}
	defer session.Close()
	plan := s.plan
	plan.VUs, plan.Warmup = level, s.curve.Design.Warmup
	cell, err := live.Steadied(ctx, session, plan, s.curve.Design.block)
	cell.Round = visit
	return cell, errors.Join(err, ctx.Err())
}
