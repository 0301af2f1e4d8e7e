package stat

import "math"

// Variance says where the scatter of paired log-ratios comes from. The zero value
// means none.
type Variance struct {
	// Block is the standard deviation of one pair of blocks within its round, in
	// logarithms: 0.03 is about 3%.
	Block float64 `json:"block"`
	// Round is the standard deviation of what all pairs of a round have in common.
	// More pairs do not lessen it, more rounds do.
	Round float64 `json:"round"`
	// RoundShare is the part of the variance of a round's estimate that is due to the
	// round itself, in [0, 1].
	RoundShare float64 `json:"round_share"`
}

// Shares splits the variance of log-ratios into that of pairs within a round and that
// of rounds: one-way random-effects analysis of variance, groups of unequal size allowed
// (Searle, Casella and McCulloch, "Variance Components", 1992, section 3.6; Kalibera and
// Jones 2013, "Rigorous benchmarking in reasonable time", ISMM, for the use). With k
// rounds of nᵢ pairs, N in all, and mean squares within and between rounds
//
//	n₀     = (N − Σnᵢ²/N) ÷ (k − 1)
//	Block² = within
//	Round² = (between − within) ÷ n₀, at least 0
//	share  = Round² ÷ (Round² + Block² · mean of 1/nᵢ)
//
// The argument holds one slice per round; empty ones are left out. ok is false with
// fewer than 2 rounds, without a round of at least 2 pairs, and for values that are not
// finite.
func Shares(rounds [][]float64) (v Variance, ok bool) {
	var k, all, squares, inverse, within, total float64
	for _, pairs := range rounds {
		n := float64(len(pairs))
		if n == 0 {
			continue
		}
		mean, sd := meanSD(pairs)
		k++
		all += n
		squares += n * n
		inverse += 1 / n
		within += squared(sd) * (n - 1)
		total += n * mean
	}
	if k < 2 || all == k {
		return Variance{}, false
	}
	between, grand := 0.0, total/all
	for _, pairs := range rounds {
		mean, _ := meanSD(pairs)
		between += float64(len(pairs)) * squared(mean-grand)
	}
	within /= all - k
	between /= k - 1
	round := max(0, (between-within)/((all-squares/all)/(k-1)))
	v = Variance{Block: math.Sqrt(within), Round: math.Sqrt(round)}
	if round > 0 {
		v.RoundShare = round / (round + within*inverse/k)
	}
	if math.IsNaN(between) || math.IsInf(between, 0) {
		return Variance{}, false
	}
	return v, true
}
