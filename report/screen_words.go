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

// asFactor is the ratio from which on a difference is said as a factor.
const asFactor = 2

// asFactors says whether a difference and its interval are said as factors: if any of them
// is one. All three have the same unit.
func asFactors(e stat.Effect) bool {
	is := func(ratio float64) bool { return max(ratio, 1/ratio) >= asFactor }
	return is(e.Ratio) || e.Bounded() && (is(e.Low) || is(e.High))
}

// below says that the whole of a difference is less than 1.
func below(e stat.Effect) bool { return e.Ratio < 1 && (!e.Bounded() || e.High < 1) }

// inverse is the difference of the baseline from the candidate.
func inverse(e stat.Effect) stat.Effect {
	e.Ratio = 1 / e.Ratio
	if e.Bounded() {
		e.Low, e.High = 1/e.High, 1/e.Low
	}
	return e
}

// percentOf is the size of a difference in per cent.
func percentOf(ratio float64) string {
	return fmt.Sprintf("%.1f", 100*math.Abs(ratio-1))
}

// directions are the words for more and less of a metric.
func directions(m metric.Name) (more, less string) {
	switch {
	case m == metric.Throughput:
		return "faster", "slower"
	case m.Kind() == metric.Time:
		return "longer", "shorter"
	case m.Kind() == metric.Events:
		return "more", "fewer"
	}
	return "more", "less"
}

// percentage says a ratio in per cent with its direction: 5.3 % slower.
func percentage(m metric.Name, ratio float64) string {
	size := percentOf(ratio)
	if size == "0.0" {
		return "0.0 %"
	}
	more, less := directions(m)
	return size + " % " + either(ratio > 1, more, less)
}

// change says a difference: 5.3 % slower, 32.1 times as fast, 0.260 times.
func change(m metric.Name, e stat.Effect) string {
	switch {
	case !asFactors(e):
		return percentage(m, e.Ratio)
	case m != metric.Throughput:
		return metric.Digits(e.Ratio) + " times"
	case below(e):
		return metric.Digits(1/e.Ratio) + " times as slow"
	}
	return metric.Digits(e.Ratio) + " times as fast"
}

// interval says where the true ratio lies, in the unit of change: 4.1 to 6.4 %, or in both
// directions.
func interval(m metric.Name, e stat.Effect) string {
	switch {
	case !e.Bounded():
		return "no interval"
	case asFactors(e):
		if m == metric.Throughput && below(e) {
			e = inverse(e)
		}
		return fmt.Sprintf("%s to %s times", metric.Digits(e.Low), metric.Digits(e.High))
	case e.Low > 1:
		return fmt.Sprintf("%s to %s %%", percentOf(e.Low), percentOf(e.High))
	case e.High < 1:
		return fmt.Sprintf("%s to %s %%", percentOf(e.High), percentOf(e.Low))
	}
	return percentage(m, e.Low) + " to " + percentage(m, e.High)
}

// at says under which load a candidate was compared.
func at(c trial.Comparison) string {
	text := atConcurrency(c.Concurrency)
	if c.ChangedOver != nil {
		text += " and a constant " + perSec(c.ChangedOver.RatePerSec)
	}
	return text
}

// sentence answers what was asked of one comparison: B is 5.3 % slower than A (4.1 to 6.4 %).
func sentence(c trial.Comparison) string {
	a, b, what := c.Baseline, c.Candidate, c.Metric.Words()
	speed := c.Metric == metric.Throughput
	switch {
	case c.Verdict == stat.Invalid || c.Rounds == 0:
		return fmt.Sprintf("Do not believe any difference in %s between %s and %s", what, b, a)
	case c.Verdict == stat.Inconclusive && speed:
		return fmt.Sprintf("Not decided whether %s is faster than %s: %s (%s)", b, a, change(c.Metric, c.Effect), interval(c.Metric, c.Effect))
	case c.Verdict == stat.Inconclusive:
		return fmt.Sprintf("Not decided whether the %s of %s and %s differ: %s (%s)", what, b, a, change(c.Metric, c.Effect), interval(c.Metric, c.Effect))
	case c.Verdict == stat.Equivalent && speed:
		return fmt.Sprintf("%s is as fast as %s, within ±%.3g %% (%s)", b, a, 100*c.Margin, interval(c.Metric, c.Effect))
	case c.Verdict == stat.Equivalent:
		return fmt.Sprintf("The %s of %s is that of %s, within ±%.3g %% (%s)", what, b, a, 100*c.Margin, interval(c.Metric, c.Effect))
	}
	return differs(c)
}

// differs is the sentence of a difference. Of what is a factor, the larger one is named first.
func differs(c trial.Comparison) string {
	a, b, what, e := c.Baseline, c.Candidate, c.Metric.Words(), c.Effect
	factor := asFactors(e)
	switch {
	case c.Metric == metric.Throughput:
		return fmt.Sprintf("%s is %s %s %s (%s)", b, change(c.Metric, e), either(factor, "as", "than"), a, interval(c.Metric, e))
	case !factor:
		return fmt.Sprintf("%s has %s %s than %s (%s)", b, change(c.Metric, e), what, a, interval(c.Metric, e))
	case below(e):
		a, b, e = b, a, inverse(e)
	}
	return fmt.Sprintf("%s has %s the %s of %s (%s)", b, change(c.Metric, e), what, a, interval(c.Metric, e))
}
