package trial

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/metric"
	"contend/setting"
	"contend/stat"
)

// A Comparison compares one candidate with the baseline, in one metric at one
// level of concurrency.
type Comparison struct {
	Baseline    string       `json:"baseline"`
	Candidate   string       `json:"candidate"`
	Concurrency int          `json:"concurrency"`
	Metric      metric.Name  `json:"metric"`
	Primary     bool         `json:"primary,omitempty"`
	Verdict     stat.Verdict `json:"verdict"`
	// Reason says why the verdict is INVALID, or INCONCLUSIVE for another cause
	// than the spread of the rounds.
	Reason *finding.Warning `json:"reason,omitempty"`
	stat.Effect
	// BaselineValue is the metric over all rounds, and CandidateValue that times the
	// Ratio; without a verdict (INVALID) or an effect both are over all rounds.
	BaselineValue  float64 `json:"baseline_value"`
	CandidateValue float64 `json:"candidate_value"`
	Margin         float64 `json:"margin"`
	// ChangedOver is set where the arms were compared at a constant rate, because without
	// one the generator was the limit.
	ChangedOver *AtRate `json:"changed_over,omitempty"`
	// RoundLogRatios are the data: ln(candidate ÷ baseline), one per round.
	RoundLogRatios []float64 `json:"round_log_ratios"`
	// RoundWeights are those of a percentile's log-ratios (stat.Weighted): 1 ÷ the standard error
	// of each. nil: all are equal.
	RoundWeights []float64 `json:"round_weights,omitempty"`
	// Spread says how much of the scatter is that of rounds, which only more rounds
	// average out, and how much that of blocks; primary metric only, where blocks
	// have it.
	Spread *stat.Variance `json:"spread,omitempty"`
	// Requests compares the named requests, if the target has several; primary metric only.
	Requests []RequestEffect `json:"requests,omitempty"`
	// Factors are what CPU time per operation is made of; nil: not known, or another
	// metric.
	Factors *Factors `json:"factors,omitempty"`
	// MachineShare is the share of the variance of the two arms' blocks that is due
	// to states of the machine which the probes distinguish, 0 to 1; primary metric
	// only.
	MachineShare float64 `json:"machine_share,omitempty"`
	// RoundsNeeded estimates how many further rounds would settle an INCONCLUSIVE
	// verdict; 0 if that is not known.
	RoundsNeeded int `json:"rounds_needed,omitempty"`
	// TimeNeeded is how long these would take; 0 if that is not known.
	TimeNeeded time.Duration `json:"time_needed_ns,omitempty"`
	// slowed is set where nothing is wrong but that others took too much of the machine.
	slowed *slowed
	named  int // how many requests both have answered; of the primary metric
}

// OutOfReach reports whether more rounds would be needed than can be run.
func (c Comparison) OutOfReach() bool {
	return c.RoundsNeeded > 0 && c.Rounds+c.RoundsNeeded > MostRounds
}

// Power is the chance at which RoundsNeeded aims.
const Power = 0.9

// Derive computes every figure that follows from the counts and histograms of
// the rounds and blocks: theirs, Results and Comparisons.
func (t *Trials) Derive() {
	t.Results, t.Comparisons = nil, nil
	t.machine = readMachine(t.Probes)
	if len(t.Arms) == 0 {
		return
	}
	for _, c := range t.Rounds {
		c.Derive()
	}
	for _, level := range t.Design.Levels {
		for _, arm := range t.Arms {
			if cells := t.cells(arm, level); len(cells) > 0 {
				t.Results = append(t.Results, t.Design.judged(MergeCells(cells)))
			}
		}
		for _, candidate := range t.Arms[1:] {
			t.Comparisons = append(t.Comparisons, t.compare(candidate, level)...)
		}
	}
	t.replace()
	if t.Why != nil {
		t.Why.explain(t.Arms, t.Design.Levels, t.Design.Confidence)
	}
}

func (t *Trials) cells(arm string, level int) []Cell {
	var cells []Cell
	for _, c := range t.Rounds {
		if c.Arm == arm && c.Concurrency == level {
			cells = append(cells, c)
		}
	}
	return cells
}

// Result returns the sum over all rounds of an arm at a level.
func (t *Trials) Result(arm string, level int) (Cell, bool) {
	i := slices.IndexFunc(t.Results, func(c Cell) bool { return c.Arm == arm && c.Concurrency == level })
	if i < 0 {
		return Cell{}, false
	}
	return t.Results[i], true
}

// compare returns the candidate's comparisons at a level, one per metric that
// both arms have; the primary one is never left out.
func (t *Trials) compare(candidate string, level int) []Comparison {
	base, ok1 := t.Result(t.Arms[0], level)
	cand, ok2 := t.Result(candidate, level)
	if t.TimeUp != nil {
		return []Comparison{t.outOfTime(candidate, level)}
	}
	if !ok1 || !ok2 {
		return nil
	}
	found := slices.Concat(t.findings(candidate, level), findingsOf(base, cand))
	differ := t.answersDiffer(base, cand)
	unsteady := t.notSteady(candidate, level)
	var list []Comparison
	for i, m := range t.Design.Metrics {
		c := Comparison{Baseline: t.Arms[0], Candidate: candidate, Concurrency: level,
			Metric: m, Primary: i == 0, Margin: t.Design.MarginOf(m)}
		var has1, has2 bool
		c.BaselineValue, has1 = m.Beside(base.Result)
		c.CandidateValue, has2 = m.Beside(cand.Result)
		pairs := t.PairLogRatios(m, candidate, level)
		c.RoundLogRatios, c.RoundWeights = t.logRatios(m, candidate, level, pairs)
		reasons := slices.Concat([]*finding.Warning{differ}, refusals(base, cand, m), []*finding.Warning{unsteady, t.fewSamples(m, candidate, level)})
		c.Reason = cmp.Or(reasons...)
		if onlyOthers(reasons) {
			c.slowed = t.slowedBy(m, candidate, level, pairs)
		}
		if c.Reason == nil && !(has1 && has2 && len(c.RoundLogRatios) > 0) {
			c.Reason = noFigure(m)
		}
		if !c.Primary && (c.Reason.Is(finding.NoFigure) || c.Reason.Is(finding.FewSamples)) {
			if c.Reason.Is(finding.FewSamples) {
				found = append(found, finding.NotCompared.Warning("%s", c.Reason.Text))
			}
			continue
		}
		if c.Primary {
			c.Spread = spread(pairs)
			c.named, c.Requests = len(namedByBoth(base, cand)), t.requests(base, cand, candidate, level)
			c.MachineShare = t.machine.share(t.blocks(candidate, level))
			found = append(found, t.aloneFindings(&c)...)
		}
		if m == metric.ServerCPUPerOp {
			c.Factors = t.factors(candidate, level)
		}
		list = append(list, c)
	}
	t.decide(list, found, func(c *Comparison, confidence float64) (stat.Effect, error) {
		return stat.Weighted(c.RoundLogRatios, c.RoundWeights, confidence)
	})
	return list
}

// outOfTime is the comparison of arms whose responses take too long for the time that there was, in which not all may have been driven.
func (t *Trials) outOfTime(candidate string, level int) Comparison {
	m := t.Design.Metrics[0]
	c := Comparison{Baseline: t.Arms[0], Candidate: candidate, Concurrency: level, Metric: m, Primary: true, Margin: t.Design.MarginOf(m),
		Verdict: stat.Inconclusive, TimeNeeded: t.TimeUp.Needs}
	slowest, starved := time.Duration(0), (*finding.Warning)(nil)
	for arm, value := range map[string]*float64{c.Baseline: &c.BaselineValue, candidate: &c.CandidateValue} {
		if cell, seen := t.Result(arm, level); seen {
			*value, _ = m.Beside(cell.Result)
			slowest = max(slowest, cell.Response.Quantile(0.5))
			if why := cell.RefusalOf(m); why.Is(finding.Starved) && (starved == nil || arm == c.Baseline) {
				starved = why
			}
		}
	}
	if starved != nil { // more time would not help
		c.Verdict, c.Reason, c.TimeNeeded = stat.Invalid, starved, 0
		return c
	}
	responses := ""
	if slowest > 0 {
		responses = "responses take " + unit.Duration(float64(slowest)) + ": "
	}
	c.Reason = finding.TooFewRounds.Refusal("%s%s has no room for %s", responses, setting.Duration(t.Design.Duration), t.TimeUp.Lacks)
	return c
}

// noFigure says that there is nothing to compare.
func noFigure(m metric.Name) *finding.Warning {
	return finding.NoFigure.Refusal("%s was not measured on both sides, or was 0", m)
}

// RefusalOf returns why no verdict on the metric may rest on the cell, or nil.
func (c Cell) RefusalOf(m metric.Name) *finding.Warning {
	refusal := c.Refusal(m.Kind().Verdict())
	if _, counted := m.Event(); counted {
		refusal = c.CountedRefusal()
	}
	if refusal != nil {
		return refusal.About(c.Arm)
	}
	return nil
}

// refusals returns why no verdict on the metric may rest on either of two cells, nil for one on
// which it may: what was wrong with the answers of one comes before what the machine did to the other.
func refusals(base, cand Cell, m metric.Name) []*finding.Warning {
	rank := func(w *finding.Warning) int {
		if w == nil {
			return -1
		}
		return finding.Rank(w.Code)
	}
	list := []*finding.Warning{base.RefusalOf(m), cand.RefusalOf(m)}
	slices.SortStableFunc(list, func(a, b *finding.Warning) int { return rank(a) - rank(b) })
	return list
}

// findingsOf collects the warnings of two arms.
func findingsOf(base, cand Cell) []finding.Warning {
	var all []finding.Warning
	for _, c := range []Cell{base, cand} {
		for _, w := range c.Warnings {
			all = append(all, *w.About(c.Arm))
		}
	}
	return all
}

// confidenceAmong is what each of n effects that share the level must reach, so that all
// do at the confidence of the design (Bonferroni); if the design looks before the end it
// is what is left for the look at the current number of rounds.
func (t *Trials) confidenceAmong(n int) float64 {
	level := (1 - t.Design.Confidence) / float64(n)
	if levels := t.levelsAmong(n); levels != nil {
		done := t.roundsDone()
		for i, look := range t.Looks {
			if look.Rounds <= done {
				level = levels[i]
			}
		}
	}
	return 1 - level
}

// levelsAmong returns the level of each look for one of n effects; nil without looks.
func (t *Trials) levelsAmong(n int) []float64 {
	if len(t.Looks) == 0 {
		return nil
	}
	if levels, ok := t.levels[n]; ok {
		return levels
	}
	levels := make([]float64, len(t.Looks))
	for i, look := range t.Looks {
		levels[i] = look.Level
	}
	if n > 1 {
		var err error
		if levels, err = stat.SequentialLevels(t.spending(), (1-t.Design.Confidence)/float64(n)); err != nil {
			levels = make([]float64, len(t.Looks)) // looks of no design: nothing is significant
		}
	}
	if t.levels == nil {
		t.levels = map[int][]float64{}
	}
	t.levels[n] = levels
	return levels
}

func (t *Trials) roundsDone() int {
	done := 0
	for _, c := range t.Rounds {
		done = max(done, c.Round)
	}
	return done
}

// decide gives each comparison of a candidate at a level, the primary one first, its
// effect at a confidence, its verdict and its warnings. The others share the level.
func (t *Trials) decide(list []Comparison, found []finding.Warning, effect func(c *Comparison, confidence float64) (stat.Effect, error)) {
	for i := range list {
		c, among := &list[i], max(1, len(list)-1)
		if c.Primary {
			among = 1
		}
		confidence := t.confidenceAmong(among)
		if e, err := effect(c, confidence); err == nil && !c.Reason.Is(finding.Incomplete) {
			c.Effect = e.Among(among)
		}
		c.Verdict = stat.Decide(c.Effect, c.Margin, c.Metric.Kind().Verdict())
		c.inSpiteOfOthers(confidence)
		if c.Reason != nil {
			c.Verdict = stat.Invalid
		} else if c.Rounds > 0 {
			c.CandidateValue = c.BaselineValue * c.Ratio
			c.undecidable(among)
		}
		if c.Verdict == stat.Inconclusive {
			more, ok := stat.RoundsNeeded(c.RoundLogRatios, c.RoundWeights, c.Margin, confidence, Power)
			if c.RoundsNeeded = more; ok || c.Rounds < 2 {
				c.RoundsNeeded = max(more, t.Design.leastRounds()-c.Rounds)
			}
			each := float64(t.Elapsed) / float64(max(1, t.roundsDone()))
			c.TimeNeeded = time.Duration(min(math.MaxInt64/2, float64(c.RoundsNeeded)*each))
		}
		if c.Primary {
			c.Warnings = slices.Concat(c.Warnings, found, stat.Dependence(c.RoundLogRatios))
		}
	}
}

// undecidable makes too few rounds for a verdict, on one of several metrics, the
// reason why it is missing, whatever they showed.
func (c *Comparison) undecidable(among int) {
	c.Warnings = slices.DeleteFunc(c.Warnings, func(w finding.Warning) bool {
		if !w.Is(finding.TooFewRounds) {
			return false
		}
		if among > 1 {
			w.Text = fmt.Sprintf("for one of %d further metrics: %s", among, w.Text)
		}
		c.Reason = &w
		return true
	})
}
