package report

import (
	"fmt"
	"slices"

	"contend/internal/unit"
	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// primary are the comparisons that were asked for.
func (d *Document) primary() []Comparison {
	return slices.DeleteFunc(slices.Clone(d.Comparisons), func(c Comparison) bool { return !c.Primary })
}

// unreadable is the ratio at and above which a percentage says little, also of the end of an interval.
const unreadable = 10

// asFactors reports whether a difference and its interval are written as factors, all three alike.
func asFactors(e stat.Effect) bool {
	return unit.AsFactor(e.Ratio) || e.Bounded() && e.High >= unreadable
}

// signedAs writes the ratio of an effect, or an end of its interval, for a table.
func signedAs(e stat.Effect) func(ratio float64) string {
	if asFactors(e) {
		return unit.Factor
	}
	return unit.SignedDifference
}

// A wording has the words for more and for less.
type wording struct{ more, less string }

// ofServers is the wording of sentences about servers, which are faster or slower.
func ofServers(m metric.Name) wording {
	if m == metric.Throughput {
		return wording{"faster", "slower"}
	}
	return ofMetric(m)
}

// ofMetric is the wording of the metric's own rows.
func ofMetric(m metric.Name) wording {
	switch {
	case m == metric.Throughput:
		return wording{"higher", "lower"}
	case m.Kind() == metric.Time:
		return wording{"longer", "shorter"}
	case m.Kind() == metric.Events:
		return wording{"more", "fewer"}
	}
	return wording{"more", "less"}
}

// percentage is a ratio in per cent with its direction: 5.3% slower.
func (w wording) percentage(ratio float64) string {
	size := unit.Difference(ratio)
	if size == "0.0%" {
		return size
	}
	return size + " " + either(ratio > 1, w.more, w.less)
}

// change is a difference: 5.3% slower, 32.1×.
func (w wording) change(e stat.Effect) string {
	if asFactors(e) {
		return unit.Factor(e.Ratio)
	}
	return w.percentage(e.Ratio)
}

// interval is the interval of the true ratio, in the unit of change: 4.1% to 6.4%, or in
// both directions.
func (w wording) interval(e stat.Effect) string {
	switch {
	case !e.Bounded():
		return "no interval"
	case asFactors(e):
		return unit.Factor(e.Low) + " to " + unit.Factor(e.High)
	case e.Low > 1:
		return unit.Difference(e.Low) + " to " + unit.Difference(e.High)
	case e.High < 1:
		return unit.Difference(e.High) + " to " + unit.Difference(e.Low)
	}
	return w.percentage(e.Low) + " to " + w.percentage(e.High)
}

// changed is a difference with its interval: 5.3% slower (4.1% to 6.4%).
func (w wording) changed(e stat.Effect) string {
	return fmt.Sprintf("%s (%s)", w.change(e), w.interval(e))
}

// ci names an interval by 1 − its confidence: 95% CI.
func ci(level float64) string { return unit.Percent(1-level) + " CI" }

// at says under which load a candidate was compared.
func at(c trial.Comparison) string {
	text := atConcurrency(c.Concurrency)
	if c.ChangedOver != nil {
		text += " and a constant " + unit.Rate(c.ChangedOver.RatePerSec)
	}
	return text
}

// sentence answers what was asked of one comparison: B is 5.3% slower than A (95% CI 4.1% to 6.4%).
func sentence(c trial.Comparison) string {
	within := ofServers(c.Metric).interval(c.Effect)
	if c.Bounded() {
		within = ci(c.Level) + " " + within
	}
	return sentenceWith(c, within)
}

// briefly is the sentence for a page that gives the confidence in another place.
func briefly(c trial.Comparison) string {
	return sentenceWith(c, ofServers(c.Metric).interval(c.Effect))
}

func sentenceWith(c trial.Comparison, within string) string {
	a, b, what := c.Baseline, c.Candidate, c.Metric.Words()
	change, speed := ofServers(c.Metric).change(c.Effect), c.Metric == metric.Throughput
	if speed && asFactors(c.Effect) {
		change += " the throughput"
	}
	switch {
	case c.Verdict == stat.Inconclusive && c.Rounds == 0 && c.TimeNeeded > 0:
		return fmt.Sprintf("Too little time to compare %s with %s: a verdict takes about %s", b, a, roughly(c.TimeNeeded))
	case c.Verdict == stat.Invalid || c.Rounds == 0:
		return fmt.Sprintf("No result: the %s of %s and %s cannot be compared", what, b, a)
	case c.Verdict == stat.Inconclusive && speed:
		return fmt.Sprintf("Cannot tell yet whether %s is faster than %s: %s (%s)", b, a, change, within)
	case c.Verdict == stat.Inconclusive:
		return fmt.Sprintf("Cannot tell yet whether the %s of %s and %s differ: %s (%s)", what, b, a, change, within)
	case c.Verdict == stat.Equivalent && speed:
		return fmt.Sprintf("%s is as fast as %s, within ±%s (%s)", b, a, unit.Percent(c.Margin), within)
	case c.Verdict == stat.Equivalent:
		return fmt.Sprintf("The %s of %s equals that of %s, within ±%s (%s)", what, b, a, unit.Percent(c.Margin), within)
	case speed && asFactors(c.Effect):
		return fmt.Sprintf("%s has %s of %s (%s)", b, change, a, within)
	case speed:
		return fmt.Sprintf("%s is %s than %s (%s)", b, change, a, within)
	case asFactors(c.Effect):
		return fmt.Sprintf("%s has %s the %s of %s (%s)", b, change, what, a, within)
	}
	return fmt.Sprintf("%s has %s %s than %s (%s)", b, change, what, a, within)
}
