// Package calibrate compares identical variants many times, to find out how long
// blocks should be, how often a verdict is wrong, and how small a difference can
// be detected.
package calibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"contend/load"
	"contend/metric"
	"contend/probe"
	"contend/setting"
	"contend/stat"
	"contend/trial"
)

// A Design says how a machine is calibrated. All fields must be set,
// except where said otherwise.
type Design struct {
	// Study chooses the length of the blocks. It is empty with a single length.
	Study Study
	// Experiments is the number of A/A comparisons.
	Experiments int `flag:"experiments" default:"10" min:"1" max:"1000" words:"*number* of comparisons of identical servers"`
	// Compare is the design of each of them. Its Block and Pairs are not used:
	// they follow from the study.
	Compare trial.Design
	// PlannedRounds is the number of rounds of the comparisons to come, for which
	// the smallest visible differences are computed.
	PlannedRounds int `json:"planned_rounds" default:"40" min:"1"`
	// Gate asks for what a gate here would do.
	Gate bool `flag:"gate" words:"also how often a CI job that fails if the verdict is SLOWER accuses an unchanged commit, and which step it finds"`
}

// maxPooled bounds the rounds of all experiments: the spread takes the square of
// their number.
const maxPooled = 1000

// Validate returns every mistake of the design at once.
func (d Design) Validate() error {
	errs := []error{d.Study.Validate(), setting.Check(d)}
	if most := maxPooled / max(1, d.Compare.Rounds); d.Experiments > most {
		errs = append(errs, setting.At(&d, &d.Experiments).OutOf(d.Experiments, fmt.Sprintf("1 to %d, %d rounds in all of them", most, maxPooled)))
	}
	compare := d.Compare
	compare.Pairs = 1
	if compare.Rounds == 0 { // it would be decided at any number of them
		errs = append(errs, setting.At(&compare, &compare.Rounds).OutOf(0, "1 to 1000"))
	}
	return errors.Join(append(errs, compare.Validate())...)
}

// A Calibration is what equal arms showed on a machine: how often a comparison
// of them raises a false alarm, and which differences it could have seen.
type Calibration struct {
	// Lengths are those of the study; none if the length was given.
	Lengths []Length `json:"lengths,omitempty"`
	// Design is that of each A/A comparison.
	Design trial.Design `json:"design"`
	// PlannedRounds is the number of rounds for which Visible is computed.
	PlannedRounds int `json:"planned_rounds"`
	// Comparisons are those of all A/A experiments, in the order in which they ran:
	// the data. They are left out where the calibration is only quoted.
	Comparisons []trial.Comparison `json:"comparisons,omitempty"`
	// Alarms and Visible follow from Comparisons.
	Alarms  Alarms    `json:"false_alarms"`
	Visible []Visible `json:"visible,omitempty"`
	// Gate is set if it was asked for, and comparisons had a verdict.
	Gate *Gate `json:"gate,omitempty"`
	// Machine is the range of what was seen of the machine itself.
	Machine *ProbeRange   `json:"machine,omitempty"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// Interrupted is set when it ended before all experiments were done.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Alarms are the verdicts on the primary metric of equal arms.
type Alarms struct {
	// Alarms of Comparisons said that there is a difference.
	Alarms      int `json:"alarms"`
	Comparisons int `json:"of"` // those with a verdict
	// Invalid ones were refused, and are not among Comparisons.
	Invalid      int `json:"invalid,omitempty"`
	Inconclusive int `json:"inconclusive,omitempty"`
	// Low and High are the ends of the interval of the rate of alarms, 0 to 1
	// (stat.Binomial, at the confidence of the design); both 0 without Comparisons.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Visible is what can be seen of a metric.
type Visible struct {
	Metric metric.Name `json:"metric"`
	// Rounds is how many were pooled.
	Rounds int `json:"rounds"`
	// Spread is the standard deviation of a round's log-ratio (stat.Spread).
	Spread float64 `json:"round_spread"`
	// Smallest is In for the planned rounds; 0 when these find none.
	Smallest float64 `json:"smallest,omitempty"`
	// Alarms is how many comparisons said that there is a difference.
	Alarms int `json:"alarms"`
}

// In is the smallest relative difference that a comparison of so many rounds
// finds with a chance of 90% if this is its primary metric (stat.Smallest);
// +Inf when so few rounds find none.
func (v Visible) In(rounds int, confidence float64) float64 {
	return stat.Smallest(v.Spread, rounds, confidence, trial.Power)
}

// MostRounds is how many rounds RoundsToEqual looks ahead: as many as a comparison can have.
const MostRounds = 1000

// RoundsToEqual is in how many rounds a comparison of equal arms by this metric finds them
// EQUIVALENT within the margin, a fraction, with a chance of 90%; 0: not in MostRounds. The
// interval must stay within the margin on both sides, and may miss each half as often as a
// difference may be missed (stat.Smallest).
func (v Visible) RoundsToEqual(margin, confidence float64) int {
	n := 1 + sort.Search(MostRounds, func(i int) bool {
		return stat.Smallest(v.Spread, i+1, confidence, (1+trial.Power)/2) <= margin
	})
	if n > MostRounds {
		return 0
	}
	return n
}

// RoundTakes is how long a round took, including the study's rounds at each of its
// lengths.
func (c *Calibration) RoundTakes() time.Duration {
	rounds := 0
	for _, l := range c.Lengths {
		rounds += len(l.RoundLogRatios)
	}
	for _, found := range c.Comparisons {
		if found.Primary {
			rounds += c.Design.Rounds
		}
	}
	return c.Elapsed / time.Duration(max(1, rounds))
}

// A ProbeRange is the lowest and highest of what probes took.
type ProbeRange struct {
	Probes    int           `json:"probes"`
	RoundTrip DurationRange `json:"round_trip_ns"`
	Wakeup    DurationRange `json:"wakeup_ns"`
	Loop      DurationRange `json:"loop_ns"`
}

// DurationRange is the lowest and the highest of several durations.
type DurationRange struct {
	Low  time.Duration `json:"low"`
	High time.Duration `json:"high"`
}

// Run compares two equal arms by the plan again and again. Whatever they
// seem to differ in is the machine's doing, or chance. On an error, and when ctx
// is done, the calibration so far is returned with it, and is nil before the
// first round.
func Run(ctx context.Context, arms []trial.Arm, plan load.Plan, d Design, observe func(trial.Progress)) (*Calibration, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	began := time.Now()
	c := &Calibration{Design: d.Compare, PlannedRounds: d.PlannedRounds, Interrupted: true}
	defer func() { c.Elapsed = time.Since(began) }()
	c.Design.Block = d.Study.Lengths[0]
	if len(d.Study.Lengths) > 1 {
		var err error
		c.Lengths, err = d.Study.Run(ctx, arms, plan, portion(observe, 0, d.studyShare()))
		for _, l := range c.Lengths {
			if l.Chosen {
				c.Design.Block = l.Block
			}
		}
		if err != nil {
			return c, err
		}
	}
	c.Design.Pairs = trial.PairsIn(d.Study.Measured, c.Design.Block)
	err := c.compare(ctx, equals{arms, plan, d.Experiments}, portion(observe, d.studyShare(), 1))
	c.Interrupted = err != nil
	if d.Gate && err == nil {
		c.Gate, err = c.gate()
	}
	return c, err
}

// studyShare is the part of the measured time that the study takes.
func (d Design) studyShare() float64 {
	study := float64(d.Study.Rounds * len(d.Study.Lengths))
	if len(d.Study.Lengths) == 1 {
		study = 0
	}
	return study / (study + float64(d.Experiments*d.Compare.Rounds))
}

// portion makes the progress of a part that of the whole.
func portion(observe func(trial.Progress), from, to float64) func(trial.Progress) {
	if observe == nil {
		return nil
	}
	return func(p trial.Progress) {
		p.Done = from + p.Done*(to-from)
		observe(p)
	}
}

// equals are equal arms, and how often they are compared.
type equals struct {
	arms        []trial.Arm
	plan        load.Plan
	experiments int
}

func (c *Calibration) compare(ctx context.Context, e equals, observe func(trial.Progress)) error {
	random := rand.New(rand.NewPCG(c.Design.Seed, 5))
	var probes []probe.Sample
	defer func() { c.Machine = rangeOf(probes); c.Derive() }()
	for n := range e.experiments {
		var tell func(trial.Progress)
		if observe != nil {
			tell = func(p trial.Progress) {
				p.Done = (float64(n) + p.Done) / float64(e.experiments)
				p.Label = fmt.Sprintf("A/A comparison %d of %d, %s", n+1, e.experiments, p.Label)
				observe(p)
			}
		}
		design := c.Design
		design.Seed = random.Uint64()
		trials, err := trial.Compare(ctx, e.arms, e.plan, design, tell)
		if trials != nil {
			for _, p := range trials.Probes {
				probes = append(probes, p.Sample)
			}
		}
		if err != nil {
			return err
		}
		for _, found := range trials.Comparisons {
			found.Warnings = nil
			c.Comparisons = append(c.Comparisons, found)
		}
	}
	return nil
}

// Derive computes Alarms and Visible, where there are Comparisons to do so.
func (c *Calibration) Derive() {
	if len(c.Comparisons) == 0 {
		return
	}
	c.Alarms, c.Visible = Alarms{}, nil
	logs, raised := map[metric.Name][]float64{}, map[metric.Name]int{}
	for _, found := range c.Comparisons {
		if found.Primary {
			c.Alarms.count(found.Verdict)
		}
		if found.Verdict == stat.Invalid {
			continue
		}
		logs[found.Metric] = append(logs[found.Metric], found.RoundLogRatios...)
		if raises(found.Verdict) {
			raised[found.Metric]++
		}
	}
	c.Alarms.Low, c.Alarms.High = stat.Binomial(c.Alarms.Alarms, c.Alarms.Comparisons, c.Design.Confidence)
	for _, m := range c.Design.Metrics {
		if len(logs[m]) > maxPooled {
			continue // was never measured so
		}
		spread := stat.Spread(logs[m], c.Design.Confidence)
		if spread == 0 {
			continue // too few rounds, or a metric that does not vary
		}
		v := Visible{Metric: m, Rounds: len(logs[m]), Spread: spread, Alarms: raised[m]}
		if smallest := v.In(c.PlannedRounds, c.Design.Confidence); !math.IsInf(smallest, 1) {
			v.Smallest = smallest
		}
		c.Visible = append(c.Visible, v)
	}
}

// raises reports whether the verdict claims a difference.
func raises(v stat.Verdict) bool {
	return slices.Contains([]stat.Verdict{stat.Faster, stat.Slower, stat.More, stat.Less}, v)
}

func (a *Alarms) count(v stat.Verdict) {
	switch {
	case v == stat.Invalid:
		a.Invalid++
		return
	case v == stat.Inconclusive:
		a.Inconclusive++
	case raises(v):
		a.Alarms++
	}
	a.Comparisons++
}

// rangeOf ignores what could not be measured.
func rangeOf(probes []probe.Sample) *ProbeRange {
	if len(probes) == 0 {
		return nil
	}
	r := &ProbeRange{Probes: len(probes)}
	for _, p := range probes {
		r.RoundTrip.include(p.RoundTrip)
		r.Wakeup.include(p.Wakeup)
		r.Loop.include(p.Loop)
	}
	return r
}

func (r *DurationRange) include(d time.Duration) {
	if d > 0 {
		r.Low, r.High = min(cmp.Or(r.Low, d), d), max(r.High, d)
	}
}
