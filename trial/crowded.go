package trial

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"contend/finding"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// slowed says by how much others on the machine can have slowed the arms of a comparison: logarithms of
// factors, one per round.
type slowed struct{ base, cand []float64 }

// onlyOthers reports whether no more is wrong than that others used too much of the machine.
func onlyOthers(reasons []*finding.Warning) bool {
	return slices.ContainsFunc(reasons, func(w *finding.Warning) bool { return w.Is(finding.MachineBusy) }) &&
		!slices.ContainsFunc(reasons, func(w *finding.Warning) bool { return w != nil && !w.Is(finding.MachineBusy) })
}

// slowedBy is the most that other processes explain of the throughput of the closed model at a
// level, in the rounds of these pairs; nil: another metric or model, or not known of all
// rounds.
//
// Without the others an arm would not be slower than it was, and it would be faster by at most
// the CPU time that they took: nothing serves more than all cores do at the CPU time that an
// operation takes, whatever else it waited for. Percentiles have no such bound: a wait for a
// core is as long as somebody else's turn, and that is many short answers long.
func (t *Trials) slowedBy(m metric.Name, candidate string, level int, pairs map[int][]float64) *slowed {
	if m != metric.Throughput {
		return nil
	}
	s := new(slowed)
	for _, n := range slices.Sorted(maps.Keys(pairs)) {
		for _, c := range t.Rounds {
			if c.Round != n || c.Concurrency != level {
				continue
			}
			if c.Model != load.ClosedModel {
				return nil
			}
			factor, known := c.Squeezed()
			switch {
			case !known:
				return nil
			case c.Arm == t.Arms[0]:
				s.base = append(s.base, math.Log(factor))
			case c.Arm == candidate:
				s.cand = append(s.cand, math.Log(factor))
			}
		}
	}
	if len(s.base) != len(pairs) || len(s.cand) != len(pairs) {
		return nil
	}
	return s
}

// beyondOthers returns the effect with an interval that has room for all that others explain, and
// whether there is a difference all the same: its low end is that of rounds in which the baseline
// alone was slowed, its high end that of rounds in which the candidate was.
func (s *slowed) beyondOthers(e stat.Effect, logRatios []float64, confidence float64) (stat.Effect, bool) {
	if s == nil || len(s.base) != len(logRatios) || !e.Bounded() {
		return e, false
	}
	low, high := slices.Clone(logRatios), slices.Clone(logRatios)
	for i := range logRatios {
		low[i] -= s.base[i]
		high[i] += s.cand[i]
	}
	lowest, err1 := stat.Paired(low, confidence)
	highest, err2 := stat.Paired(high, confidence)
	if err1 != nil || err2 != nil {
		return e, false
	}
	e.Low, e.High = lowest.Low, highest.High
	return e, e.Low > 1 || e.High < 1
}

// inSpiteOfOthers gives a comparison that is refused for others on the machine alone its verdict
// where the difference is too large to be theirs, and else says how large it would have to be.
func (c *Comparison) inSpiteOfOthers(confidence float64) {
	if c.slowed == nil || !c.Reason.Is(finding.MachineBusy) {
		return
	}
	if wide, sure := c.slowed.beyondOthers(c.Effect, c.RoundLogRatios, confidence); sure {
		c.Effect, c.Reason, c.Verdict = wide, nil, stat.Decide(wide, c.Margin, c.Metric.Kind().Verdict())
		c.Warnings = append(c.Warnings, finding.MachineBusy.Warning("the interval allows for the CPU that other programs took: the direction is certain, the size is not"))
		return
	}
	most := math.Exp(max(stat.Center(c.slowed.base), stat.Center(c.slowed.cand)))
	c.Reason.Text += fmt.Sprintf("; they may explain a difference of up to %s×", unit.Digits(most))
	if c.Rounds > 0 {
		c.Reason.Text += fmt.Sprintf(" (seen: %s times)", unit.Digits(max(c.Ratio, 1/c.Ratio)))
	}
}
