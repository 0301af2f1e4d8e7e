package stat

import (
	"errors"
	"math"
	"slices"

	"contend/finding"
	"contend/internal/unit"
)

const (
	// exactPairs is the largest product of both numbers of rounds for which the null
	// distribution is counted exactly, in product²/2 steps. There the normal
	// approximation is off in any p up to 0.1 by at most 0.0003 with as many rounds of
	// each arm, and by 0.0017 with 10 against 1000 (tested).
	exactPairs = 10000
	// maxLogValue keeps the ratio of two values within ±maxLogRatio.
	maxLogValue = maxLogRatio / 2
)

// Unpaired compares two arms that were not interleaved, from one value per round of
// each: the natural logarithm of the metric. The numbers of rounds may differ.
// confidence is as for Paired, and so are the guarantees: P ≤ Level if and only if 1
// is outside the interval, and ties count against a difference.
//
//   - The ratio is the Hodges–Lehmann shift, the median of candidate ÷ baseline over all
//     pairs of a round of the one and a round of the other (Hodges and Lehmann 1963,
//     Ann. Math. Statist. 34).
//   - P is the exact permutation test of the rank sum (Mann and Whitney 1947, Ann. Math.
//     Statist. 18): were the arms equal, every way to deal out the values to both would
//     be as likely.
//   - The interval holds exactly the ratios that this test does not reject (Hollander,
//     Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., section 4.3).
//
// It assumes that rounds of both arms scatter in the same way. Whatever else changed
// between the two measurements, the machine's mood above all, is in the ratio and not
// in the interval: interleaved rounds and Paired are better in every respect.
//
// The smallest possible P is 2 ÷ C(n+m, n), so a level of 0.05 needs 4 rounds of each
// (2/70); with fewer there is no interval but a warning too_few_rounds. Values that are
// all equal get the warning identical_values. Where the numbers of rounds multiply to
// more than 10000 the permutation distribution is approximated by the normal one.
//
// An error means that the input is not logarithms (none, more than 2000, not finite,
// beyond ±175) or that confidence is out of range.
func Unpaired(baseline, candidate []float64, confidence float64) (Effect, error) {
	if err := errors.Join(checkLogs("logarithm of the baseline", baseline, maxLogValue),
		checkLogs("logarithm of the candidate", candidate, maxLogValue), checkConfidence(confidence)); err != nil {
		return Effect{}, err
	}
	e := newDifferences(baseline, candidate).effect(min(len(baseline), len(candidate)), confidence)
	if !e.Bounded() {
		e.Warnings = append(e.Warnings, finding.TooFewRounds.Warning("%d and %d rounds are too few for an interval at %s confidence, which needs at least %d of each",
			len(baseline), len(candidate), unit.Percent(confidence), fewestUnpaired(e.Level)))
	}
	if identical(baseline) && identical(candidate) && e.Rounds > 1 {
		e.Warnings = append(e.Warnings, finding.IdenticalValues.Warning("all %d and %d rounds gave exactly the same value: the measurement is too coarse to vary, or was not repeated",
			len(baseline), len(candidate)))
	}
	return e, nil
}

func newDifferences(baseline, candidate []float64) inversion {
	ratios := make([]float64, 0, len(baseline)*len(candidate))
	for _, b := range baseline {
		for _, c := range candidate {
			ratios = append(ratios, math.Exp(c-b))
		}
	}
	slices.Sort(ratios)
	return inversion{values: ratios, tail: rankSumTail(len(baseline), len(candidate))}
}

// rankSumTail returns P(U ≤ u), u = 0 … m·n/2, where U is the number of pairs in which
// a value of the one group exceeds one of the other and all orders are equally likely.
func rankSumTail(m, n int) []float64 {
	if m*n > exactPairs {
		return normalRankSumTail(m, n)
	}
	return exactRankSumTail(min(m, n), max(m, n))
}

// exactRankSumTail uses the recursion of Mann and Whitney: the largest of all i+j
// values belongs to the group of i with probability i/(i+j), and then exceeds all j.
func exactRankSumTail(m, n int) []float64 {
	size := m*n/2 + 1
	rows := make([][]float64, m+1) // rows[i][u] = P(U = u) for i and the current j values
	for i := range rows {
		rows[i] = make([]float64, size)
		rows[i][0] = 1
	}
	for j := 1; j <= n; j++ {
		for i := 1; i <= m; i++ {
			own := float64(i) / float64(i+j)
			for u := range min(size, i*j+1) {
				p := (1 - own) * rows[i][u]
				if u >= j {
					p += own * rows[i-1][u-j]
				}
				rows[i][u] = p
			}
		}
	}
	tail := rows[m]
	for u := range tail[1:] {
		tail[u+1] += tail[u]
	}
	return tail
}

func normalRankSumTail(m, n int) []float64 {
	pairs := float64(m * n)
	return normalTail(m*n/2+1, pairs/2, pairs*float64(m+n+1)/12)
}

// fewestUnpaired is the least number of rounds of each arm that can reject at the
// level at all: the smallest n with 2 ÷ C(2n, n) ≤ level.
func fewestUnpaired(level float64) int {
	n, ways := 1, 2.0
	for 2/ways > level {
		n++
		ways *= 2 * float64(2*n-1) / float64(n)
	}
	return n
}

func identical(values []float64) bool { return slices.Min(values) == slices.Max(values) }
