// Package search finds the highest arrival rate that a server sustains within
// objectives.
package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"contend/expect"
	"contend/finding"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/pace"
	"contend/setting"
	"contend/trial"
)

// A Design says how the highest arrival rate within objectives is found.
type Design struct {
	// Objectives are upper bounds that hold at a sustainable rate, such as
	// "p99 < 20ms". Empty: what holds for every rate, that few
	// arrivals are dropped or unfinished (load.Plan.MaxUnfinished) and that errors
	// stay below their gate, which an objective about errors lifts.
	Objectives []string `json:"objectives,omitempty" flag:"objective" words:"with --rate: objectives to keep, such as 'p99 < 20ms'; *bounds* separated by commas, or repeated"`
	// Arrivals are constant (evenly spaced) or poisson (random).
	Arrivals string `json:"arrivals" flag:"arrivals" default:"constant" oneof:"constant,poisson" words:"with --rate: *spacing* of arrivals"`
	// VUs is how many iterations can be in flight; 0: as many as the rate needs.
	VUs int `json:"vus,omitempty" flag:"concurrency,c" min:"0" max:"1000000" words:"with --rate: *number* of callers (as many as the rate needs)"`
	// Precision is how far apart the highest rate that held and the lowest that
	// missed may be, as a share.
	Precision float64 `json:"precision" flag:"precision" default:"3%" unit:"percent" min:"0.5%" max:"100%" words:"with --rate: largest gap between the rate that passes and the one that fails"`
	// MaxRate is the highest rate to try, per second.
	MaxRate float64 `json:"max_rate_per_s" flag:"max-rate" default:"1e6" min:"1" max:"1e9" words:"with --rate: highest *rate* to try, per second"`
	// Duration is the most that the whole may take; 0: as long as it takes.
	Duration time.Duration `json:"duration_ns,omitempty" flag:"duration,d" default:"1m" min:"0s" max:"720h" words:"time limit for the whole search; 0s: none"`
	// Attempt is the measured length of an attempt. It is stretched to hold an answer
	// beyond each percentile of the objectives, up to MaxAttempt. 0: it is chosen, up
	// to 3 s, by Duration and Precision.
	Attempt    time.Duration `json:"attempt_ns,omitempty" flag:"block" min:"0s" max:"24h" words:"minimum measured *length* of an attempt"`
	MaxAttempt time.Duration `json:"max_attempt_ns" flag:"max-attempt" default:"1m" min:"10ms" max:"24h" words:"with --rate: how far an attempt may be extended to get a response beyond a percentile"`
	// Warmup is driven at the attempt's rate before it.
	Warmup time.Duration `json:"warmup_ns" flag:"warmup" default:"300ms" min:"0s" max:"720h" words:"warm-up before each attempt"`
	// Seed decides random arrivals.
	Seed uint64 `json:"seed" flag:"seed" default:"1" words:"seed for all random choices"`
	// Pilot has the arm driven until its cost is level before anything is measured, and for as long after
	// each further start: see trial.Pilot, which has Widen.
	Pilot bool        `json:"-"`
	Widen func() bool `json:"-"`
}

// Validate returns every mistake of the design at once.
func (d Design) Validate() error {
	_, err := d.objectives()
	errs := []error{setting.Check(d), err}
	if d.MaxAttempt < d.Attempt {
		errs = append(errs, setting.At(&d, &d.MaxAttempt).OutOf(d.MaxAttempt, fmt.Sprintf("the %v of an attempt to 24h", d.Attempt)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return d.enough(d.alone(), 0, 0)
}

// A Result is the highest arrival rate of one arm within objectives. What
// follows from Design, Alone and Attempts is recomputed by Derive.
type Result struct {
	Arm    string `json:"arm"`
	Design Design `json:"design"`
	// TimeUp says what is missing because Design.Duration was over; nil: nothing.
	TimeUp *trial.TimeUp `json:"time_up,omitempty"`
	// Warmup is that of the pilot; nil: there was none, or nothing could be learnt.
	Warmup *trial.Warmup `json:"pilot,omitempty"`
	// Alone is the arm under one VU in the closed model: where the search begins, and how fast the arm is when nothing
	// waits; or under those of the pilot, if some of them were starved or one VU was not measured to its end. nil: neither
	// was measured.
	Alone    *trial.Cell `json:"alone,omitempty"`
	Attempts []Attempt   `json:"attempts"` // in the order of measuring

	Verdict Verdict `json:"verdict"`
	// HeldPerSec is the highest rate that held, and MissedPerSec the lowest above
	// it that did not; 0: none.
	HeldPerSec   float64 `json:"held_per_s,omitempty"`
	MissedPerSec float64 `json:"missed_per_s,omitempty"`
	// LimitFrom and LimitTo are rates per second between which the limit lies with little doubt; 0: not known.
	LimitFrom float64 `json:"limit_from_per_s,omitempty"`
	LimitTo   float64 `json:"limit_to_per_s,omitempty"`
	// Reason says why the next rate failed, or why no rate was found.
	Reason *finding.Warning `json:"reason,omitempty"`
	// Found is the sum of the attempts at HeldPerSec that held; nil: none.
	Found *trial.Cell `json:"-"`
}

// An Attempt is one run at one rate, in a fresh process.
type Attempt struct {
	RatePerSec float64 `json:"rate_per_s"`
	Step       Step    `json:"step"`
	// Outcome follows from the cell, and Reason says why it is not Held.
	Outcome Outcome          `json:"outcome"`
	Reason  *finding.Warning `json:"reason,omitempty"`
	trial.Cell
}

// A Verdict is what a search came to.
type Verdict string

// The verdicts of a search.
const (
	RateFound     Verdict = "FOUND"     // the rate held three times, the next one up missed twice
	RateAtLeast   Verdict = "AT_LEAST"  // above it the generator, or the highest rate allowed, was the limit
	RateMissed    Verdict = "MISSED"    // even the lowest rate, or one caller alone, misses
	RateInvalid   Verdict = "INVALID"   // nothing is known
	RateUnsettled Verdict = "UNSETTLED" // interrupted, out of time, or the attempts contradict each other
)

// Progress is a glance at a search under way, before each attempt.
type Progress struct {
	trial.Progress
	Result Result // so far, which nothing follows from yet
}

// Rate looks for the highest arrival rate that the arm sustains within the objectives:
// doubled until an attempt fails, then bisected, then confirmed; for at most Duration.
// On an error, and when ctx is done, the search so far is returned with it.
func Rate(ctx context.Context, arm trial.Arm, plan load.Plan, d Design, observe func(Progress)) (*Result, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s := &Result{Arm: arm.Name, Design: d, Attempts: []Attempt{}}
	begun := time.Now()
	limited, cancel := trial.Limit(ctx, d.Duration)
	defer cancel()
	err := s.run(limited, begun, arm, plan, observe)
	if short, ok := errors.AsType[*trial.TooShortError](err); ok {
		s.TimeUp, err = &trial.TimeUp{Lacks: short.Lacks, Needs: short.Least}, nil
	} else if trial.IsTimeUp(limited) || errors.Is(err, errNoTime) {
		err = nil
		s.TimeUp = s.timeUp(time.Since(begun))
	}
	if s.Derive(); s.Verdict == RateFound {
		s.TimeUp = nil
	}
	return s, err
}

func (s *Result) run(ctx context.Context, begun time.Time, arm trial.Arm, plan load.Plan, observe func(Progress)) error {
	show := func(format string, args ...any) {
		if observe != nil {
			observe(Progress{trial.Progress{Done: -1, Label: fmt.Sprintf(format, args...), Between: true},
				Result{Arm: s.Arm, Design: s.Design, Attempts: slices.Clone(s.Attempts)}})
		}
	}
	show("warming up")
	warmed, err := s.pilot(ctx, arm, plan)
	if err != nil {
		return err
	}
	defer func() { _ = warmed.End(ctx) }() // of a process that nothing was measured of
	arm, s.Warmup = warmed.Arm, warmed.Warmup
	busy := 0.0
	if last := warmed.Last; last.Result != nil {
		if s.know(last); last.Starved > 0 {
			return nil
		}
		busy = last.ThroughputPerSec
	}
	show("concurrency 1")
	if err := s.measureAlone(ctx, arm, plan, warmed.Last.Result != nil); err != nil {
		return err
	}
	if response := s.Alone.Response.Mean(); s.tooSlow() == nil && s.Design.attemptOf(response) > s.Design.attemptOf(0) { // else Validate has seen it
		if err := s.Design.enough(time.Since(begun), response, busy*response.Seconds()); err != nil {
			return err
		}
	}
	for {
		next := s.next()
		if next.rate == 0 {
			return nil
		}
		show("attempt %d: %s %s", len(s.Attempts)+1, next.step, unit.Rate(next.rate))
		planned, err := s.plan(plan, next.rate)
		if err != nil {
			return err
		}
		if most := s.Design.Duration; most > 0 && time.Since(begun)+s.warms()+planned.Warmup+planned.Duration+s.Alone.Response.Mean() > most {
			return errNoTime
		}
		cell, err := trial.Measure(ctx, arm, planned)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		s.allowErrors(cell)
		p := Attempt{RatePerSec: next.rate, Step: next.step, Cell: cell}
		p.Outcome, p.Reason = s.judge(cell)
		s.Attempts = append(s.Attempts, p)
	}
}

// measureAlone drives one VU, again if the only response may be slow since the arm is not warm.
func (s *Result) measureAlone(ctx context.Context, arm trial.Arm, plan load.Plan, warm bool) error {
	// without a warm-up, in which the only response of a slow server would be
	plan.VUs, plan.Warmup, plan.Duration, plan.Grace = 1, 0, s.Design.alone(), max(trial.Grace, plan.Timeout)
	plan.StartLag = pace.Auto // it is a closed model
	cell, err := trial.Measure(ctx, arm, plan)
	if err == nil && cell.Completed == 1 && !warm {
		cell, err = trial.Measure(ctx, arm, plan)
	}
	if err = errors.Join(err, ctx.Err()); err == nil {
		s.know(cell)
	}
	return err
}

// pilot warms the arm up, if that is asked for.
func (s *Result) pilot(ctx context.Context, arm trial.Arm, plan load.Plan) (*trial.Warmed, error) {
	d := s.Design
	p := trial.Pilot{Plan: plan, Widen: d.Widen}
	if d.Pilot && d.Warmup > 0 {
		p.Most = trial.Within(d.Duration, attemptsOfTime)
	}
	p.Plan.VUs, p.Plan.StartLag = trial.PilotVUs, pace.Auto // it is a closed model
	if d.VUs > 0 {
		p.Plan.VUs = min(p.Plan.VUs, d.VUs)
	}
	return p.Warm(ctx, arm)
}

// know takes what the arm showed in the closed model.
func (s *Result) know(cell trial.Cell) {
	s.allowErrors(cell)
	s.Alone = &cell
}

// allowErrors has a cell that was measured allow the errors that the objectives do.
func (s *Result) allowErrors(c trial.Cell) {
	c.Plan.AllowErrors(expect.AllowedErrors(s.Design.Objectives, c.Planned))
}

// The grace of an attempt is short: what completes late was not sustained.
const (
	leastGrace  = 50 * time.Millisecond
	graceOfSelf = 3 // times the response time of one VU
)

// grace is that of an attempt. It is longer than a response of one VU: else no rate would hold.
func (s *Result) grace() time.Duration {
	alone := s.Alone.Response.Mean()
	return max(min(max(leastGrace, graceOfSelf*alone, 2*s.bound()), trial.Grace), alone+alone/10)
}

// plan is that of an attempt.
func (s *Result) plan(plan load.Plan, rate float64) (load.Plan, error) {
	plan.VUs, plan.Warmup, plan.Duration = s.vus(rate), s.Design.Warmup, s.length(rate)
	plan.Grace, plan.FixedGrace = s.grace(), true
	plan.Seed = s.Design.Seed + uint64(len(s.Attempts))
	var err error
	plan.Pacer, err = pace.Parse(fmt.Sprintf("%s:%f", s.Design.Arrivals, rate))
	return plan, err
}

// MostVUs is how many VUs an attempt has at most unless told.
const MostVUs = 10_000

// vus returns twice as many VUs as can be in flight if the objectives are just
// reached, and four times as many as without waiting: if all are in use then,
// the server was the limit (Little's law).
func (s *Result) vus(rate float64) int {
	if s.Design.VUs > 0 {
		return s.Design.VUs
	}
	flight := rate * max(2*s.bound(), 4*s.Alone.Response.Mean(), leastGrace).Seconds()
	return min(max(int(math.Ceil(min(flight, MostVUs))), load.AmpleVUs(rate)), MostVUs)
}

// bound returns the largest time that an objective allows, or 0.
func (s *Result) bound() time.Duration {
	bounds, _ := s.Design.objectives()
	longest := 0.0
	for _, b := range bounds {
		if b.Metric.Kind() == metric.Time {
			longest = max(longest, b.Value)
		}
	}
	return time.Duration(min(longest, float64(trial.Grace)))
}

// length returns how long an attempt at the rate is measured.
func (s *Result) length(rate float64) time.Duration {
	needed := time.Duration(math.Ceil(s.Design.fewest() / rate * float64(time.Second)))
	length := s.Design.attemptOf(s.Alone.Response.Mean())
	if length > s.Design.attemptOf(0) && len(s.Design.percentiles()) == 0 {
		return length // at the rates of a slow server a hundred responses take too much of the time
	}
	return max(length, min(needed, s.Design.longest()))
}
