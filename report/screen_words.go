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

// size says how large a difference is, without its direction: 5.3 %, or 32 times.
func size(ratio float64) string {
	if factor := max(ratio, 1/ratio); factor >= asFactor {
		return metric.Digits(factor) + " times"
	}
	return percentOf(ratio) + " %"
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
	}
	return "more", "less"
}

// change says a ratio with its direction: 5.3 % slower, 32 times as fast.
func change(m metric.Name, ratio float64) string {
	more, less := directions(m)
	factor := max(ratio, 1/ratio)
	switch {
	case percentOf(ratio) == "0.0":
		return "0.0 %"
	case factor < asFactor:
		return size(ratio) + " " + either(ratio > 1, more, less)
	case m == metric.Throughput:
		return size(ratio) + " as " + either(ratio > 1, "fast", "slow")
	case ratio > 1:
		return size(ratio)
	}
	return "1/" + metric.Digits(factor)
}

// interval says where the true ratio lies: 4.1 to 6.4 %, or in both directions.
func interval(m metric.Name, e stat.Effect) string {
	near, far := e.Low, e.High
	switch {
	case !e.Bounded():
		return "no interval"
	case e.Low > 1 || e.High < 1:
		if math.Abs(math.Log(near)) > math.Abs(math.Log(far)) {
			near, far = far, near
		}
		if max(near, 1/near) >= asFactor {
			return fmt.Sprintf("%s to %s times", metric.Digits(max(near, 1/near)), metric.Digits(max(far, 1/far)))
		}
		if max(far, 1/far) < asFactor || percentOf(near) == percentOf(far) {
			return fmt.Sprintf("%s to %s %%", percentOf(near), percentOf(far))
		}
	}
	return change(m, near) + " to " + change(m, far)
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
		return fmt.Sprintf("Not decided whether %s is faster than %s: %s (%s)", b, a, change(c.Metric, c.Ratio), interval(c.Metric, c.Effect))
	case c.Verdict == stat.Inconclusive:
		return fmt.Sprintf("Not decided whether the %s of %s and %s differ: %s (%s)", what, b, a, change(c.Metric, c.Ratio), interval(c.Metric, c.Effect))
	case c.Verdict == stat.Equivalent && speed:
		return fmt.Sprintf("%s is as fast as %s, within ±%.3g %% (%s)", b, a, 100*c.Margin, interval(c.Metric, c.Effect))
	case c.Verdict == stat.Equivalent:
		return fmt.Sprintf("The %s of %s is that of %s, within ±%.3g %% (%s)", what, b, a, 100*c.Margin, interval(c.Metric, c.Effect))
	}
	return differs(c)
}

// differs is the sentence of a difference.
func differs(c trial.Comparison) string {
	a, b, what, within := c.Baseline, c.Candidate, c.Metric.Words(), interval(c.Metric, c.Effect)
	factor := max(c.Ratio, 1/c.Ratio) >= asFactor
	switch {
	case c.Metric == metric.Throughput && factor:
		return fmt.Sprintf("%s is %s as %s (%s)", b, change(c.Metric, c.Ratio), a, within)
	case c.Metric == metric.Throughput:
		return fmt.Sprintf("%s is %s than %s (%s)", b, change(c.Metric, c.Ratio), a, within)
	case factor && c.Ratio < 1:
		a, b = b, a
		fallthrough
	case factor:
		return fmt.Sprintf("%s has %s the %s of %s (%s)", b, size(c.Ratio), what, a, within)
	}
	return fmt.Sprintf("%s has %s %s than %s (%s)", b, change(c.Metric, c.Ratio), what, a, within)
}
