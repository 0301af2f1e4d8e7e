package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Counted is one round of something that is counted, such as samples in a function: what baseline and candidate have
// of it, in any unit, and, in its square, how much the difference would vary if nothing but counting made it vary
// (Poisson). Variance is more than 0.
type Counted struct{ Baseline, Candidate, Variance float64 }

// Counts compares many counts over the same rounds, each with its own Shift: Value is the mean of candidate − baseline,
// weighted by Variance. From process to process counts vary by more than counting explains: by a share of themselves
// that all have in common, and each by a factor of its own, which a dozen rounds hardly show. So the factor of one is
// moderated by those of all, as G. Smyth, Linear Models and Empirical Bayes Methods for Assessing Differential
// Expression (2004), does; it is at least 1. P is that of Student's t. Unlike ranks, it can be as small as levels that
// hundreds of counts share.
//
// For n shifts that share a level, ask at the confidence 1 − level/n.
//
// An error means that counts do not have the same number of rounds, at least 2, that a figure is not finite or a
// variance not more than 0, or that confidence is out of range.
func Counts(counts [][]Counted, confidence float64) ([]Shift, error) {
	if err := errors.Join(checkCounts(counts), checkConfidence(confidence)); err != nil || len(counts) == 0 {
		return nil, err
	}
	rounds := len(counts[0])
	freedom := -1.0
	all := make([]varying, len(counts))
	for i, count := range counts {
		all[i] = vary(count)
		freedom += all[i].rounds / float64(len(counts))
	}
	expected := expectedFactors(all)
	ratios := make([]float64, len(all))
	for i, v := range all {
		ratios[i] = v.factor / expected[i]
	}
	prior, weight := usualFactor(ratios, freedom)
	student := distuv.StudentsT{Sigma: 1, Nu: freedom + weight}
	far := student.Quantile(0.5 + confidence/2)
	shifts := make([]Shift, len(all))
	for i, v := range all {
		factor := max(1, (weight*prior*expected[i]+freedom*v.factor)/(weight+freedom))
		within := math.Sqrt(factor * v.variance)
		shifts[i] = Shift{Value: v.mean, Low: v.mean - far*within, High: v.mean + far*within, P: 2 * student.Survival(math.Abs(v.mean)/within),
			Level: 1 - confidence, Confidence: confidence, Rounds: rounds}
	}
	return shifts, nil
}

func checkCounts(counts [][]Counted) error {
	for i, count := range counts {
		if len(count) != len(counts[0]) || len(count) < 2 {
			return fmt.Errorf("stat: count %d has %d rounds, want as many as the first, %d, and at least 2", i, len(count), len(counts[0]))
		}
		for _, c := range count {
			if sum := c.Variance + math.Abs(c.Baseline) + math.Abs(c.Candidate); !(c.Variance > 0) || math.IsInf(sum, 0) || math.IsNaN(sum) {
				return fmt.Errorf("stat: count %d is %v and %v with the variance %v, want finite ones, and a variance above 0", i, c.Baseline, c.Candidate, c.Variance)
			}
		}
	}
	return nil
}

// varying is a count over rounds: the weighted mean of its differences, the variance that counting gives that mean, the
// factor by which rounds vary more than counting explains, what that factor grows by if each side varies by its
// own size: its square, twice, in units of Variance; and how many rounds of equal weight are worth as much (Kish 1965, Survey
// Sampling, 11.7). A round with a smaller variance has a larger factor if it varies by its size, and as much more weight, so
// that the factor is weighted, too.
type varying struct{ mean, variance, factor, grows, rounds float64 }

func vary(count []Counted) (v varying) {
	weights, squares, level := 0.0, 0.0, 0.0
	for _, c := range count {
		v.mean += (c.Candidate - c.Baseline) / c.Variance
		weights += 1 / c.Variance
		squares += 1 / c.Variance / c.Variance
	}
	v.mean /= weights
	v.rounds = max(weights*weights/squares, 1+1e-9)
	for _, c := range count {
		off := c.Candidate - c.Baseline - v.mean
		v.factor += off * off / c.Variance / c.Variance / weights * v.rounds / (v.rounds - 1)
		level += (c.Candidate + c.Baseline) / 2 / float64(len(count))
	}
	v.variance, v.grows = 1/weights, 2*level*level*squares/weights
	return v
}

// expectedFactors are those if all vary by the same share of themselves in addition to counting, 1 + share² · grows: the
// share is the median of those that each has, so that a few that vary more do not make all vary.
func expectedFactors(all []varying) []float64 {
	squares, weights := make([]float64, len(all)), make([]float64, len(all))
	for i, v := range all {
		squares[i] = (v.factor - 1) / v.grows
		weights[i] = v.grows / (1 + v.grows) // one that hardly grows says little
	}
	usual := max(0, WeightedMedian(squares, weights))
	factors := make([]float64, len(all))
	for i, v := range all {
		factors[i] = 1 + usual*v.grows
	}
	return factors
}

// mostWeight bounds what the factors of all count against that of one, in degrees of freedom: that of one never counts
// for nothing. A convention.
const mostWeight = 50

// usualFactor fits how the ratios of factors to the expected ones are distributed, a scaled inverse χ²: its scale, and
// the degrees of freedom that it is worth, 0 to mostWeight (Smyth 2004, section 6.2, from the mean and variance of their logarithms).
func usualFactor(ratios []float64, freedom float64) (prior, weight float64) {
	if len(ratios) < 3 {
		return 1, 0
	}
	least := 1e-5 * medianOf(slices.Sorted(slices.Values(ratios)))
	var logs []float64
	for _, f := range ratios {
		logs = append(logs, math.Log(max(f, least, math.SmallestNonzeroFloat64))-mathext.Digamma(freedom/2)+math.Log(freedom/2))
	}
	mean, spread := 0.0, 0.0
	for _, l := range logs {
		mean += l / float64(len(logs))
	}
	for _, l := range logs {
		spread += (l - mean) * (l - mean) / float64(len(logs)-1)
	}
	spread -= trigamma(freedom / 2)
	weight = mostWeight
	if spread > trigamma(mostWeight/2.) {
		weight = 2 * trigammaInverse(spread)
	}
	return math.Exp(mean + mathext.Digamma(weight/2) - math.Log(weight/2)), weight
}

// trigamma is the second derivative of ln Γ: ζ(2, x).
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// trigammaInverse finds the x > 0 whose trigamma is y, by bisection of its logarithm: trigamma falls.
func trigammaInverse(y float64) float64 {
	low, high := 1e-8, 1e8
	for high/low > 1+1e-9 {
		if middle := math.Sqrt(low * high); trigamma(middle) > y {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
