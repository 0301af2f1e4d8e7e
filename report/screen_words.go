package report

import (
	"fmt"
	"math"
	"slices"

	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// primary are the comparisons that were asked for.
func (d *Document) primary() []Comparison {
	return slices.DeleteFunc(slices.Clone(d.Comparisons), func(c Comparison) bool { return !c.Primary })
}

// asFactor is the ratio at and above which a difference is printed as a factor.
const asFactor = 2

// asFactors says whether a difference and its interval are printed as factors: if any of them
// is one. All three have the same unit.
func asFactors(e stat.Effect) bool {
	is := func(ratio float64) bool { return max(ratio, 1/ratio) >= asFactor }
	return is(e.Ratio) || e.Bounded() && (is(e.Low) || is(e.High))
}

// percentOf is the size of a difference in per cent.
func percentOf(ratio float64) string {
	return fmt.Sprintf("%.1f%%", 100*math.Abs(ratio-1))
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
	size := percentOf(ratio)
	if size == "0.0%" {
		return size
	}
	return size + " " + either(ratio > 1, w.more, w.less)
}

// factor is the candidate's value ÷ the baseline's: 0.260×.
func factor(ratio float64) string { return metric.Digits(ratio) + "×" }

// change is a difference: 5.3% slower, 32.1×.
func (w wording) change(e stat.Effect) string {
	if asFactors(e) {
		return factor(e.Ratio)
	}
	return w.percentage(e.Ratio)
}

// interval is where the true ratio lies, in the unit of change: 4.1% to 6.4%, or in both
// directions.
func (w wording) interval(e stat.Effect) string {
	switch {
	case !e.Bounded():
		return "no interval"
	case asFactors(e):
		return factor(e.Low) + " to " + factor(e.High)
	case e.Low > 1:
		return percentOf(e.Low) + " to " + percentOf(e.High)
	case e.High < 1:
		return percentOf(e.High) + " to " + percentOf(e.Low)
	}
	return w.percentage(e.Low) + " to " + w.percentage(e.High)
}

// changed is a difference with its interval: 5.3% slower (4.1% to 6.4%).
func (w wording) changed(e stat.Effect) string {
	return fmt.Sprintf("%s (%s)", w.change(e), w.interval(e))
}

// ci names an interval by 1 − its confidence: 95% CI.
func ci(level float64) string { return fmt.Sprintf("%.3g%% CI", 100*(1-level)) }

// at says under which load a candidate was compared.
func at(c trial.Comparison) string {
	text := atConcurrency(c.Concurrency)
	if c.ChangedOver != nil {
		text += " and a constant " + perSec(c.ChangedOver.RatePerSec)
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

// briefly is the sentence where the confidence is said elsewhere on the page.
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
	case c.Verdict == stat.Invalid || c.Rounds == 0:
		return fmt.Sprintf("No result: the %s of %s and %s cannot be compared", what, b, a)
	case c.Verdict == stat.Inconclusive && speed:
		return fmt.Sprintf("Cannot tell yet whether %s is faster than %s: %s (%s)", b, a, change, within)
	case c.Verdict == stat.Inconclusive:
		return fmt.Sprintf("Cannot tell yet whether the %s of %s and %s differ: %s (%s)", what, b, a, change, within)
	case c.Verdict == stat.Equivalent && speed:
		return fmt.Sprintf("%s is as fast as %s, within ±%.3g%% (%s)", b, a, 100*c.Margin, within)
	case c.Verdict == stat.Equivalent:
		return fmt.Sprintf("The %s of %s equals that of %s, within ±%.3g%% (%s)", what, b, a, 100*c.Margin, within)
	case speed && asFactors(c.Effect):
		return fmt.Sprintf("%s has %s of %s (%s)", b, change, a, within)
	case speed:
		return fmt.Sprintf("%s is %s than %s (%s)", b, change, a, within)
	case asFactors(c.Effect):
		return fmt.Sprintf("%s has %s the %s of %s (%s)", b, change, what, a, within)
	}
	return fmt.Sprintf("%s has %s %s than %s (%s)", b, change, what, a, within)
}
