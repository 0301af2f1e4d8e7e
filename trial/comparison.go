package trial

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"contend/stat"
)

// A Comparison is one candidate beside the baseline, in one metric at one
// level of concurrency.
type Comparison struct {
	Baseline    string       `json:"baseline"`
	Candidate   string       `json:"candidate"`
	Concurrency int          `json:"concurrency"`
	Metric      Metric       `json:"metric"`
	Primary     bool         `json:"primary,omitempty"`
	Verdict     stat.Verdict `json:"verdict"`
	// Reason says why the verdict is INVALID, or INCONCLUSIVE for another cause
	// than the spread of the rounds.
	Reason *stat.Warning `json:"reason,omitempty"`
	stat.Effect
	// BaselineValue and CandidateValue are the metric over all rounds.
	BaselineValue  float64 `json:"baseline_value"`
	CandidateValue float64 `json:"candidate_value"`
	Margin         float64 `json:"margin"`
	// RoundLogRatios are the data: ln(candidate ÷ baseline), one per round.
	RoundLogRatios []float64 `json:"round_log_ratios"`
	// RoundsNeeded estimates how many further rounds would settle an
	// INCONCLUSIVE verdict; 0 when that cannot be said.
	RoundsNeeded int `json:"rounds_needed,omitempty"`
}

// power is the chance at which RoundsNeeded aims.
const power = 0.9

// Derive computes every figure that follows from the counts and histograms of
// the rounds and blocks: theirs, Results and Comparisons.
func (t *Trials) Derive() {
	t.Results, t.Comparisons = nil, nil
	if len(t.Arms) == 0 {
		return
	}
	for _, c := range t.Rounds {
		c.Derive()
	}
	for i := range t.Blocks {
		t.Blocks[i].derive()
	}
	for _, level := range t.Design.Levels {
		for _, arm := range t.Arms {
			if cells := t.cells(arm, level); len(cells) > 0 {
				t.Results = append(t.Results, MergeCells(cells))
			}
		}
		for _, candidate := range t.Arms[1:] {
			t.Comparisons = append(t.Comparisons, t.compare(candidate, level)...)
		}
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
	if !ok1 || !ok2 {
		return nil
	}
	var list []Comparison
	for i, m := range t.Design.Metrics {
		c := Comparison{Baseline: t.Arms[0], Candidate: candidate, Concurrency: level,
			Metric: m, Primary: i == 0, Margin: t.Design.Margin}
		var has1, has2 bool
		c.BaselineValue, has1 = m.Of(base)
		c.CandidateValue, has2 = m.Of(cand)
		if c.Reason = refuse(base, m); c.Reason == nil {
			c.Reason = refuse(cand, m)
		}
		if c.RoundLogRatios = t.logRatios(m, candidate, level); c.Reason == nil && !(has1 && has2 && len(c.RoundLogRatios) > 0) {
			if !c.Primary {
				continue
			}
			c.Reason = &stat.Warning{Code: "no_figure", Text: fmt.Sprintf("%s was not measured for both arms, or was 0", m)}
		}
		if effect, err := stat.Paired(c.RoundLogRatios, t.Design.Confidence); err == nil {
			c.Effect = effect
		}
		list = append(list, c)
	}
	t.decide(list, findings(base, cand))
	return list
}

// decide corrects the secondary metrics for their number and gives each
// comparison its verdict and warnings.
func (t *Trials) decide(list []Comparison, found []stat.Warning) {
	var secondary []*Comparison
	var ps []float64
	for i := range list {
		if c := &list[i]; !c.Primary && c.Rounds > 0 {
			secondary, ps = append(secondary, c), append(ps, c.P)
		}
	}
	for i, p := range stat.Holm(ps) {
		secondary[i].P = p
	}
	for i := range list {
		c := &list[i]
		c.Verdict = stat.Decide(c.Effect, c.Margin, c.Metric.Kind())
		if c.Reason != nil {
			c.Verdict = stat.Invalid
		}
		if c.Verdict == stat.Inconclusive {
			c.RoundsNeeded, _ = stat.RoundsNeeded(c.RoundLogRatios, c.Margin, t.confidence(c, len(ps)), power)
		}
		if c.Primary {
			c.Warnings = append(c.Warnings, found...)
			if t.InProcess {
				c.Warnings = append(c.Warnings, stat.Warning{Code: "rounds_not_fresh",
					Text: "an arm's process was not restarted between rounds, so an effect that lasts as long as a process is in every round alike"})
			}
		}
	}
}

// confidence is what a comparison must reach: that of the design, made
// stricter for one of several secondary metrics.
func (t *Trials) confidence(c *Comparison, secondaries int) float64 {
	if c.Primary {
		return t.Design.Confidence
	}
	return 1 - (1-t.Design.Confidence)/float64(max(1, secondaries))
}

// logRatios returns ln(candidate ÷ baseline) of the metric, one per round: the
// Hodges–Lehmann estimate over the round's pairs where each block has the
// figure, so that one disturbed block does not decide the round, and otherwise
// (percentiles) the ratio of the round's merged histograms.
func (t *Trials) logRatios(m Metric, candidate string, level int) []float64 {
	var logs []float64
	byRound := map[int][]Block{}
	for _, b := range t.Blocks {
		if b.Concurrency == level && (b.Arm == t.Arms[0] || b.Arm == candidate) {
			byRound[b.Round] = append(byRound[b.Round], b)
		}
	}
	for n := 1; n <= t.Design.Rounds; n++ {
		log, ok := t.pairedLog(m, candidate, byRound[n])
		if !ok {
			log, ok = t.mergedLog(m, candidate, level, n)
		}
		if ok {
			logs = append(logs, log)
		}
	}
	return logs
}

// pairedLog reads one round's blocks of the baseline and the candidate.
func (t *Trials) pairedLog(m Metric, candidate string, blocks []Block) (float64, bool) {
	type pair struct{ base, cand float64 }
	pairs := map[int]pair{}
	for _, b := range blocks {
		value, ok := b.value(m)
		if !ok {
			continue
		}
		p := pairs[b.Pair]
		switch b.Arm {
		case t.Arms[0]:
			p.base = value
		case candidate:
			p.cand = value
		}
		pairs[b.Pair] = p
	}
	var logs []float64
	for _, i := range slices.Sorted(maps.Keys(pairs)) {
		if p := pairs[i]; p.base > 0 && p.cand > 0 {
			logs = append(logs, math.Log(p.cand/p.base))
		}
	}
	effect, err := stat.Paired(logs, t.Design.Confidence)
	return math.Log(effect.Ratio), err == nil
}

// value reads the metrics that a single block has.
func (b Block) value(m Metric) (float64, bool) {
	switch {
	case m == Throughput:
		return b.ThroughputPerSec, true
	case m == ServerCPUPerOp && b.Ops > 0 && b.ServerCPUSec > 0:
		return b.ServerCPUSec / float64(b.Ops), true
	case m == GeneratorCPUPerOp && b.Ops > 0 && b.GeneratorCPUSec > 0:
		return b.GeneratorCPUSec / float64(b.Ops), true
	}
	return 0, false
}

func (t *Trials) mergedLog(m Metric, candidate string, level, round int) (float64, bool) {
	var base, cand float64
	for _, c := range t.Rounds {
		if c.Round != round || c.Concurrency != level {
			continue
		}
		switch value, _ := m.Of(c); c.Arm {
		case t.Arms[0]:
			base = value
		case candidate:
			cand = value
		}
	}
	return math.Log(cand / base), base > 0 && cand > 0
}
