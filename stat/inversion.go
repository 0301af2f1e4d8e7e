package stat

import (
	"math"
	"sort"
)

// inversion is a rank test together with the interval and the estimate that invert
// it: the statistic is the number of ratios on the thinner side of a hypothesis.
// Working with ratios, and not with their logarithms, makes test and interval agree
// to the last bit.
type inversion struct {
	ratios []float64 // sorted
	tail   []float64 // tail[w] = P(statistic of one side ≤ w) when the arms do not differ, w ≤ len(ratios)/2
}

// median is the Hodges–Lehmann estimate of the ratio.
func (v inversion) median() float64 {
	m := len(v.ratios)
	if m%2 == 1 {
		return v.ratios[m/2]
	}
	low, high := v.ratios[m/2-1], v.ratios[m/2]
	return low * math.Sqrt(high/low)
}

// p is the two-sided p-value of the ratio 1. A ratio of exactly 1 (a tie) is counted
// on the thinner side, against a difference.
func (v inversion) p() float64 {
	below := sort.SearchFloat64s(v.ratios, 1)
	notAbove := sort.Search(len(v.ratios), func(i int) bool { return v.ratios[i] > 1 })
	statistic := min(notAbove, len(v.ratios)-below)
	if statistic >= len(v.tail) {
		return 1
	}
	return min(1, 2*v.tail[statistic])
}

// depth is how many ratios the interval may leave out at either end, plus one, so
// that both tails together have at most the given level; 0 when even the widest
// interval, from the least ratio to the greatest, exceeds it.
func (v inversion) depth(level float64) int {
	return sort.Search(len(v.tail), func(i int) bool { return 2*v.tail[i] > level })
}

// interval returns the depth-th ratio from either end (depth ≥ 1) and the probability
// that this interval covers the true ratio.
func (v inversion) interval(depth int) (low, high, confidence float64) {
	return v.ratios[depth-1], v.ratios[len(v.ratios)-depth], 1 - 2*v.tail[depth-1]
}

// effect is what the test and its inversion say about so many rounds, without warnings.
func (v inversion) effect(rounds int, confidence float64) Effect {
	e := Effect{Ratio: v.median(), P: v.p(), Level: 1 - confidence, Rounds: rounds}
	if depth := v.depth(e.Level); depth > 0 {
		e.Low, e.High, e.Confidence = v.interval(depth)
	}
	return e
}
