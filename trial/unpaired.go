package trial

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/finding"
	"contend/metric"
	"contend/stat"
)

// Apart are two arms that were measured at different times: those of two stored
// documents. Their rounds have no partners, so they are compared unpaired, and
// what changed on the machine in between is in the difference.
type Apart struct {
	Baseline  Side `json:"baseline"`
	Candidate Side `json:"candidate"`
	// Metrics, Margin, Confidence and AnswersMayDiffer are those of Design.
	Metrics          []metric.Name `json:"metrics"`
	Margin           *float64      `json:"margin,omitempty"`
	Confidence       float64       `json:"confidence"`
	AnswersMayDiffer bool          `json:"answers_may_differ,omitempty"`
	// Environments names what differs between those of the two sides, as in "cores:
	// 2 against 4"; any difference prevents a verdict.
	Environments []string `json:"environments_differ,omitempty"`
	// Results and Comparisons are not stored: Derive computes them.
	Results     []Cell       `json:"-"`
	Comparisons []Comparison `json:"-"`
}

// A Side is one of two arms measured apart.
type Side struct {
	Arm string `json:"arm"`
	// Rounds are its replications: the rounds of a comparison, the visits of a
	// sweep; a single run is one. They may be of several levels.
	Rounds []Cell `json:"rounds"`
}

// fewestApart is how many rounds each side needs for a verdict: as many as a
// comparison in interleaved blocks, though the test alone would do with fewer.
const fewestApart = 6

// Check returns every mistake of Metrics, Margin and Confidence at once.
func (a *Apart) Check() error { return a.trials().Design.Validate() }

// Validate returns every mistake at once.
func (a *Apart) Validate() error {
	err := a.Check()
	if a.Baseline.Arm == a.Candidate.Arm {
		err = errors.Join(err, fmt.Errorf("apart: both variants are called %q", a.Baseline.Arm))
	}
	return err
}

// trials is what decides about comparisons.
func (a *Apart) trials() *Trials {
	return &Trials{Arms: []string{a.Baseline.Arm, a.Candidate.Arm}, Design: Design{
		Rounds: 1, Pairs: 1, // of no consequence here
		Metrics: a.Metrics, MaxErrors: finding.Errors.Refuses, Margin: a.Margin, Confidence: a.Confidence,
		AnswersMayDiffer: a.AnswersMayDiffer,
	}}
}

// Derive computes every figure that follows from the counts and histograms of
// the rounds: theirs, Results and Comparisons.
func (a *Apart) Derive() {
	a.Results, a.Comparisons = nil, nil
	for _, side := range []Side{a.Baseline, a.Candidate} {
		for i := range side.Rounds {
			side.Rounds[i].Arm = side.Arm
			side.Rounds[i].Derive()
		}
		for _, level := range side.levels() {
			a.Results = append(a.Results, MergeCells(side.at(level)))
		}
	}
	for _, levels := range a.levels() {
		a.Comparisons = append(a.Comparisons, a.compare(a.Baseline.at(levels[0]), a.Candidate.at(levels[1]))...)
	}
}

// levels returns the levels that are compared with each other: those that both
// sides have, or where each has but one, these.
func (a *Apart) levels() [][2]int {
	base, cand := a.Baseline.levels(), a.Candidate.levels()
	if len(base) == 1 && len(cand) == 1 {
		return [][2]int{{base[0], cand[0]}}
	}
	var both [][2]int
	for _, n := range base {
		if slices.Contains(cand, n) {
			both = append(both, [2]int{n, n})
		}
	}
	return both
}

func (s Side) levels() []int {
	var list []int
	for _, c := range s.Rounds {
		list = append(list, c.Concurrency)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// at returns the rounds at a level.
func (s Side) at(level int) []Cell {
	return slices.DeleteFunc(slices.Clone(s.Rounds), func(c Cell) bool { return c.Concurrency != level })
}

// compare compares in each metric that both sides have; the primary one is never
// left out.
func (a *Apart) compare(base, cand []Cell) []Comparison {
	sum, candSum := MergeCells(base), MergeCells(cand)
	found := findingsOf(sum, candSum)
	t := a.trials()
	differ := t.answersDiffer(sum, candSum)
	t.Rounds = slices.Concat(base, cand)
	var list []Comparison
	for i, m := range a.Metrics {
		c := Comparison{Baseline: sum.Arm, Candidate: candSum.Arm, Concurrency: candSum.Concurrency,
			Metric: m, Primary: i == 0, Margin: t.Design.MarginOf(m), RoundLogRatios: []float64{}}
		c.BaselineValue, _ = m.Beside(sum.Result)
		c.CandidateValue, _ = m.Beside(candSum.Result)
		few := t.fewSamples(m, candSum.Arm, candSum.Concurrency)
		if few != nil && !c.Primary {
			found = append(found, *few)
			continue
		}
		known := len(logs(base, m)) > 0 && len(logs(cand, m)) > 0
		if !known && !c.Primary {
			continue
		}
		c.Reason = cmp.Or(differ, cmp.Or(refusals(sum, candSum, m)...), few)
		if !known {
			c.Reason = cmp.Or(c.Reason, noFigure(m))
		}
		list = append(list, c)
	}
	t.decide(list, found, func(c *Comparison, confidence float64) (stat.Effect, error) {
		return stat.Unpaired(logs(base, c.Metric), logs(cand, c.Metric), confidence)
	})
	a.withhold(list, a.unlike(base, cand))
	return list
}

func logs(rounds []Cell, m metric.Name) []float64 {
	var list []float64
	for _, c := range rounds {
		if value, ok := m.Of(c.Result); ok && value > 0 {
			list = append(list, math.Log(value))
		}
	}
	return list
}

// withhold says of each comparison how it was made, and leaves it undecided
// where there is a reason.
func (a *Apart) withhold(list []Comparison, reason *finding.Warning) {
	for i := range list {
		c := &list[i]
		c.RoundsNeeded, c.TimeNeeded = 0, 0 // further rounds would be of another time again
		c.Warnings = append([]finding.Warning{finding.NotInterleaved.Warning(
			"the two were measured at different times: machine drift is in the difference")}, c.Warnings...)
		if reason == nil {
			continue
		}
		c.Warnings = slices.DeleteFunc(c.Warnings, func(w finding.Warning) bool { return w.Code == reason.Code })
		if c.Verdict == stat.Invalid {
			c.Warnings = append(c.Warnings, *reason) // refused anyway, and no better for it
			continue
		}
		if c.Reason != nil && c.Reason.Code != reason.Code {
			c.Warnings = append(c.Warnings, *c.Reason)
		}
		c.Verdict, c.Reason = stat.Inconclusive, reason
	}
}

// unlike returns why the rounds of the sides decide nothing, or nil.
func (a *Apart) unlike(base, cand []Cell) *finding.Warning {
	plans := plansDiffer(base[0], cand[0])
	switch {
	case len(plans) > 0:
		return finding.PlansDiffer.Refusal("the two were measured under different loads: %s", strings.Join(plans, "; "))
	case len(a.Environments) > 0:
		return finding.EnvironmentsDiffer.Refusal("the two were measured in different environments: %s", strings.Join(a.Environments, "; "))
	case min(len(base), len(cand)) < fewestApart:
		return finding.TooFewRounds.Refusal("%d and %d rounds, but each side needs at least %d", len(base), len(cand), fewestApart)
	}
	return nil
}

// plansDiffer names what a difference between two plans would measure instead of
// the server.
func plansDiffer(base, cand Cell) []string {
	var list []string
	differ := func(what string, a, b any) {
		if a != b {
			list = append(list, fmt.Sprintf("%s: %v against %v", what, a, b))
		}
	}
	differ("model", base.Model, cand.Model)
	differ("concurrency", base.Concurrency, cand.Concurrency)
	differ("rate", rate(base), rate(cand))
	differ("think time", base.Plan.Think, cand.Plan.Think)
	differ("target", form(base.Target), form(cand.Target))
	differ("generator", cmp.Or(string(base.Engine), "unknown"), cmp.Or(string(cand.Engine), "unknown"))
	return list
}

func rate(c Cell) string {
	if c.Plan.Pacer == nil {
		return "none"
	}
	return c.Plan.Pacer.String()
}

// form is a target's scheme: addresses and paths are what two servers may
// differ in.
func form(target string) string {
	scheme, _, _ := strings.Cut(target, ":")
	return scheme
}
