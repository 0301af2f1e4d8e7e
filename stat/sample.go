// Package stat summarises and compares repeated trials. It is pure: no I/O,
// no clock, no goroutines. Results carry warnings, which are not errors: read them
// before you rely on a number.
package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"contend/finding"
	"contend/internal/unit"
)

// Sample is a set of repeated measurements of one thing. The zero value is empty and
// has no summary; use NewSample. A Sample is immutable and safe for concurrent use.
type Sample struct {
	sorted []float64
}

// NewSample copies the values. It refuses an empty set and values that are not finite.
func NewSample(values []float64) (Sample, error) {
	if len(values) == 0 {
		return Sample{}, fmt.Errorf("stat: sample is empty; at least one value is needed")
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Sample{}, fmt.Errorf("stat: value %d of the sample is %g; expected finite numbers", i+1, v)
		}
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return Sample{sorted: sorted}, nil
}

// Summary describes a Sample in the sample's own unit.
type Summary struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	// SD is the standard deviation with n−1; absent (0) for a single value.
	SD float64 `json:"sd,omitzero"`
	// CV is SD ÷ |Mean|; absent (0) for a single value or a mean of 0.
	CV     float64 `json:"cv,omitzero"`
	Median float64 `json:"median"`
	// MedianLow and MedianHigh are the ends of an interval for the median of what was
	// sampled; they mean nothing unless Confidence is above 0.
	MedianLow  float64 `json:"median_low,omitzero"`
	MedianHigh float64 `json:"median_high,omitzero"`
	// Confidence is that of the interval as it is, at least the requested one; 0 when
	// there are too few values for an interval.
	Confidence float64           `json:"confidence,omitzero"`
	Min        float64           `json:"min"`
	Max        float64           `json:"max"`
	Warnings   []finding.Warning `json:"warnings,omitempty"`
}

// Summary summarises the sample. confidence, between 0 and 1, is asked of the interval
// for the median, which runs from the k-th smallest to the k-th largest value and so
// assumes nothing about the distribution: each value is below the median with chance
// ½, hence the binomial distribution says which k will do (David and Nagaraja, "Order
// Statistics", 3rd ed., section 7.1; the same as benchmath's AssumeNothing).
// Too few values for it: warning too_few_values. All equal: warning identical_values.
// An error means an empty sample or a confidence out of range.
func (s Sample) Summary(confidence float64) (Summary, error) {
	if err := checkConfidence(confidence); err != nil {
		return Summary{}, err
	}
	n := len(s.sorted)
	if n == 0 {
		return Summary{}, fmt.Errorf("stat: sample is empty; at least one value is needed")
	}
	sum := Summary{N: n, Median: medianOf(s.sorted), Min: s.sorted[0], Max: s.sorted[n-1]}
	sum.Mean, sum.SD = meanSD(s.sorted)
	if sum.Mean != 0 {
		sum.CV = sum.SD / math.Abs(sum.Mean)
	}
	s.bound(&sum, 1-confidence)
	if sum.Confidence == 0 {
		sum.Warnings = append(sum.Warnings, finding.TooFewValues.Warning("%d values are too few for an interval of the median at %s confidence, which needs at least %d",
			n, unit.Percent(confidence), FewestRounds(1-confidence)))
	}
	if n > 1 && sum.Min == sum.Max {
		sum.Warnings = append(sum.Warnings, finding.IdenticalValues.Warning("all %d values are the same: the measurement is too coarse to vary, or was not repeated", n))
	}
	return sum, nil
}

// bound sets the narrowest order-statistic interval whose two tails together have at
// most the level.
func (s Sample) bound(sum *Summary, level float64) {
	n := len(s.sorted)
	for k, tail := range coinTail(n) {
		if 2*tail > level {
			return
		}
		sum.MedianLow, sum.MedianHigh, sum.Confidence = s.sorted[k], s.sorted[n-1-k], 1-2*tail
	}
}

// coinTail returns the chance of at most k heads in n tosses of a fair coin for
// k < n/2; up to 52 tosses exactly, and beyond 1000, where 2⁻ⁿ underflows, by way
// of the incomplete beta function.
func coinTail(n int) []float64 {
	tail := make([]float64, n/2)
	if n > 1000 {
		for k := range tail {
			tail[k] = distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(k))
		}
		return tail
	}
	term, sum := math.Ldexp(1, -n), 0.0
	for k := range tail {
		sum += term
		tail[k] = sum
		term = term * float64(n-k) / float64(k+1)
	}
	return tail
}

// MeanWithin is half the interval that Student's t gives of the mean; false for fewer than two values.
func MeanWithin(values []float64, confidence float64) (half float64, ok bool) {
	if len(values) < 2 || checkConfidence(confidence) != nil {
		return 0, false
	}
	_, sd := meanSD(values)
	n := float64(len(values))
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}
	return t.Quantile((1+confidence)/2) * sd / math.Sqrt(n), true
}

// meanSD is Welford's algorithm ("Note on a method for calculating corrected sums of
// squares and products", Technometrics 4, 1962), which does not cancel.
func meanSD(values []float64) (mean, sd float64) {
	var squares float64
	for i, v := range values {
		delta := v - mean
		mean += delta / float64(i+1)
		squares += delta * (v - mean)
	}
	if len(values) < 2 {
		return mean, 0
	}
	return mean, math.Sqrt(squares / float64(len(values)-1))
}

// WeightedMedian returns the least of the values, in any order, that has half of the weight together with those below it. It needs
// a value, and a weight for each, at least 0.
func WeightedMedian(values, weights []float64) float64 {
	order := make([]int, len(values))
	rest := 0.0
	for i := range order {
		order[i] = i
		rest += weights[i]
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	for _, i := range order {
		if rest -= 2 * weights[i]; rest <= 0 {
			return values[i]
		}
	}
	return values[order[len(order)-1]] // but for rounding
}

// Median returns the middle of the values, in any order, or of an even number the mean of the two. It needs a value.
func Median(values []float64) float64 { return medianOf(slices.Sorted(slices.Values(values))) }

func medianOf(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2
}
