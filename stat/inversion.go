package stat

import (
	"math"
	"sort"
)

// inversion is a rank test together with the interval and the estimate that invert
// it: the statistic is the number of values, ratios or differences, on the thinner side of a
// hypothesis. Working with ratios, and not with their logarithms, makes test and interval
// agree to the last bit.
type inversion struct {
	values []float64 // sorted
	tail   []float64 // tail[w] = P(statistic of one side ≤ w) when the arms do not differ, w ≤ len(values)/2
}

// medianRatio is the Hodges–Lehmann estimate of the ratio.
func (v inversion) medianRatio() float64 {
	m := len(v.values)
	if m%2 == 1 {
		return v.values[m/2]
	}
	low, high := v.values[m/2-1], v.values[m/2]
	return low * math.Sqrt(high/low)
}

// p is the two-sided p-value of the value that equal arms have. One exactly there (a tie)
// is counted on the thinner side, against a difference.
func (v inversion) p(equal float64) float64 {
	below := sort.SearchFloat64s(v.values, equal)
	notAbove := sort.Search(len(v.values), func(i int) bool { return v.values[i] > equal })
	statistic := min(notAbove, len(v.values)-below)
	if statistic >= len(v.tail) {
		return 1
	}
	return min(1, 2*v.tail[statistic])
}

// depth is how many values the interval may leave out at either end, plus one, so
// that both tails together have at most the given level; 0 when even the widest
// interval, from the least value to the greatest, exceeds it.
func (v inversion) depth(level float64) int {
	return sort.Search(len(v.tail), func(i int) bool { return 2*v.tail[i] > level })
}

// interval returns the depth-th value from either end (depth ≥ 1) and the probability
// that this interval covers the true one.
func (v inversion) interval(depth int) (low, high, confidence float64) {
	return v.values[depth-1], v.values[len(v.values)-depth], 1 - 2*v.tail[depth-1]
}

// effect is what the test of ratios and its inversion say about so many rounds, without
// warnings.
func (v inversion) effect(rounds int, confidence float64) Effect {
	e := Effect{Ratio: v.medianRatio(), P: v.p(1), Level: 1 - confidence, Rounds: rounds}
	if depth := v.depth(e.Level); depth > 0 {
		e.Low, e.High, e.Confidence = v.interval(depth)
	}
	return e
}
