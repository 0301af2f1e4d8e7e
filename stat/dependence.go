package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"contend/finding"
	"contend/internal/unit"
)

const (
	// dependenceLevel is the chance of a false alarm of each test of Dependence.
	dependenceLevel = 0.01
	// fewestDependent is the least number of rounds for a statement.
	fewestDependent = 12
)

// Dependence looks for what Paired must assume to be absent: rounds, in the order in which
// they were run, that depend on each other or come in two kinds. It returns a warning for
// each that it finds.
//
//   - autocorrelated: neighbouring rounds resemble each other; the rank version of von Neumann's
//     ratio (Bartels 1982, "The rank version of von Neumann's ratio test for randomness",
//     JASA 77, with his beta approximation), one-sided.
//   - drifting_rounds: the effect itself rises or falls over the rounds; Mann–Kendall, as
//     in Steady.
//   - bimodal: rounds fall into two groups, each of at least a fifth of them; the share of
//     the variance that the best split explains (Engelman and Hartigan 1969, "Percentage
//     points of a test for clusters", JASA 64), compared with that of uniform noise, which
//     of all noises with one mode is the easiest to split.
//
// Each raises a false alarm in at most 1% of sets of independent rounds. Fewer than 12
// rounds, or input that Paired refuses, say nothing either way: no warning.
func Dependence(logRatios []float64) []finding.Warning {
	if len(logRatios) < fewestDependent || checkLogRatios(logRatios) != nil {
		return nil
	}
	var ws []finding.Warning
	if correlation, p := bartels(logRatios); p <= dependenceLevel {
		ws = append(ws, finding.Autocorrelated.Warning("neighbouring rounds are correlated (%.2f): the machine changes more slowly than a round, "+
			"so the interval is too narrow", correlation))
	}
	if p, _ := mannKendall(logRatios); p <= dependenceLevel {
		ws = append(ws, finding.DriftingRounds.Warning("the ratio changed by %+.1f%% from the first round to the last: no one number describes it",
			100*math.Expm1(theilSen(logRatios))))
	}
	if split, low, high := twoGroups(logRatios); split > mostSplit(len(logRatios)) {
		ws = append(ws, finding.Bimodal.Warning("rounds fall into two groups, around ratios of %s and %s: one ratio describes neither",
			unit.Digits(math.Exp(low)), unit.Digits(math.Exp(high))))
	}
	return ws
}

// bartels returns the lag-one correlation of the ranks and the one-sided p-value of
// the rank von Neumann ratio against likeness of neighbours.
func bartels(values []float64) (correlation, p float64) {
	correlation = rankCorrelation(values)
	n := float64(len(values))
	shape := 5*n*(n+1)*squared(n-1)/(2*(n-2)*(5*n*n-2*n-9)) - 0.5
	// the ratio is 2·(1 − correlation), from 0 to about 4, and a quarter of it beta-distributed
	return correlation, distuv.Beta{Alpha: shape, Beta: shape}.CDF(min(1, (1-correlation)/2))
}

// rankCorrelation is that of neighbours: 1 less half the rank von Neumann ratio, the sum
// of the squared steps between ranks over that of their squared distances from the
// mean. It is 0 when all values are equal.
func rankCorrelation(values []float64) float64 {
	ranks, _ := midranks(values)
	n := float64(len(ranks))
	var steps, squares float64
	for i, r := range ranks {
		squares += squared(r - (n+1)/2)
		if i > 0 {
			steps += squared(r - ranks[i-1])
		}
	}
	if squares == 0 {
		return 0
	}
	return 1 - steps/squares/2
}

// twoGroups splits the sorted values in two, neither smaller than a fifth, so that the
// split explains most of the variance; it returns that share and both medians.
func twoGroups(values []float64) (share, low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	mean, sd := meanSD(sorted)
	total := squared(sd) * float64(n-1)
	if total == 0 {
		return 0, mean, mean
	}
	fewest := (n + 4) / 5
	sum, best, split := 0.0, 0.0, fewest
	for i, v := range sorted[:n-fewest] {
		sum += v - mean
		size := float64(i + 1)
		between := squared(sum) * float64(n) / (size * (float64(n) - size))
		if i+1 >= fewest && between > best {
			best, split = between, i+1
		}
	}
	return best / total, medianOf(sorted[:split]), medianOf(sorted[split:])
}

// mostSplit is the share of the variance that the best split of n uniform values
// explains in all but 1% of cases: 3/4 for very many, and a term for few that was
// fitted from above to 20000 simulations each of 12 to 200 values.
func mostSplit(n int) float64 {
	return 0.75 + 0.65/math.Sqrt(float64(n))
}
