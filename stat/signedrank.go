package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// exactRounds is the largest number of rounds for which the null distribution is
// counted exactly, in n³/12 steps. There the normal approximation is off by less than
// 0.0003 in any p up to 0.1 (tested).
const exactRounds = 200

// walsh holds the geometric means of all pairs of rounds, each round also paired
// with itself: in logarithms these are the Walsh averages of Hodges and Lehmann.
// The signed-rank statistic equals the number of them on the thinner side (Tukey;
// Hollander, Wolfe and Chicken, section 3.1).
type walsh struct {
	inversion
	logs   []float64 // of the ratios
	rounds int
}

func newWalsh(logRatios, weights []float64) walsh {
	logs := walshAverages(logRatios, weights)
	ratios := make([]float64, len(logs))
	for i, log := range logs {
		ratios[i] = math.Exp(log)
	}
	n := len(logRatios)
	return walsh{inversion: inversion{values: ratios, tail: signedRankTail(n)}, logs: logs, rounds: n}
}

// walshAverages returns the weighted means of all pairs of values, each also paired with
// itself, sorted; nil weights are 1.
func walshAverages(values, weights []float64) []float64 {
	n := len(values)
	means := make([]float64, 0, n*(n+1)/2)
	for i, a := range values {
		for j, b := range values[i:] {
			mean := (a + b) / 2
			if weights != nil {
				mean = a + (b-a)*(weights[i+j]/(weights[i]+weights[i+j])) // exactly a where both are
			}
			means = append(means, mean)
		}
	}
	slices.Sort(means)
	return means
}

// Center is the Hodges–Lehmann estimate of log-ratios, the logarithm of the Ratio
// of Paired: one wild value does not decide it. 0 for none.
func Center(logRatios []float64) float64 {
	if len(logRatios) == 0 {
		return 0
	}
	return medianOf(walshAverages(logRatios, nil))
}

// signedRankTail returns P(W ≤ w), w = 0 … n(n+1)/4, where W is the sum of those
// ranks 1 … n that were given a plus by fair coins: the sign-flip permutation
// distribution of the signed-rank statistic (Wilcoxon 1945). Up to 52 rounds every
// entry is an exact binary fraction.
func signedRankTail(n int) []float64 {
	if n > exactRounds {
		return normalSignedRankTail(n)
	}
	return exactTail(n)
}

// signedRankTailAt returns how many entries signedRankTail(n) has, and a function that returns one: of many rounds there are
// hundreds of thousands, which take milliseconds.
func signedRankTailAt(n int) (size int, at func(w int) float64) {
	if n <= exactRounds {
		tail := exactTail(n)
		return len(tail), func(w int) float64 { return tail[w] }
	}
	mean, variance := signedRankMoments(n)
	return n*(n+1)/4 + 1, func(w int) float64 { return normalAt(w, mean, variance) }
}

func normalSignedRankTail(n int) []float64 {
	mean, variance := signedRankMoments(n)
	return normalTail(n*(n+1)/4+1, mean, variance)
}

func signedRankMoments(n int) (mean, variance float64) {
	ranks := float64(n)
	return ranks * (ranks + 1) / 4, ranks * (ranks + 1) * (2*ranks + 1) / 24
}

func exactTail(n int) []float64 {
	tail := make([]float64, n*(n+1)/4+1)
	tail[0] = 1
	for rank := 1; rank <= n; rank++ {
		for w := len(tail) - 1; w >= 0; w-- {
			if w >= rank {
				tail[w] += tail[w-rank]
			}
			tail[w] /= 2
		}
	}
	for w := range tail[1:] {
		tail[w+1] += tail[w]
	}
	return tail
}

// normalTail approximates size entries of a distribution of whole numbers by the
// normal one, with a continuity correction.
func normalTail(size int, mean, variance float64) []float64 {
	tail := make([]float64, size)
	for w := range tail {
		tail[w] = normalAt(w, mean, variance)
	}
	return tail
}

func normalAt(w int, mean, variance float64) float64 {
	return distuv.UnitNormal.CDF((float64(w) + 0.5 - mean) / math.Sqrt(variance))
}
