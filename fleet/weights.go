package fleet

import (
	"math"
	"slices"
)

// mostWeight bounds weights, so that arrivals are spread finely. uneven is by how much more than
// another a worker may be asked for, relative to what each can do: about what two measurements of
// equal machines with other programs running differ by.
const (
	mostWeight = 8
	uneven     = 1.5
)

func sum(weights []int) (all int) {
	for _, w := range weights {
		all += w
	}
	return all
}

// Weights returns what share of a load workers are given, each at least 1: the smallest numbers with
// which no worker is asked for over 1.5 times as much as another, relative to what each can do; if
// no numbers up to 8 achieve that, those that come closest. If it is not known for all, they are
// equal.
func Weights(workers []Worker) []int {
	most := 0.0
	for _, w := range workers {
		most = max(most, w.LimitPerSec)
	}
	equal := slices.Repeat([]int{1}, len(workers))
	best, least := equal, math.Inf(1)
	for scale := 1; scale <= mostWeight; scale++ {
		weights := slices.Clone(equal)
		low, high := math.Inf(1), 0.0
		for i, w := range workers {
			if w.LimitPerSec <= 0 {
				return equal
			}
			weights[i] = max(1, int(math.Round(float64(scale)*w.LimitPerSec/most)))
			asked := float64(weights[i]) / w.LimitPerSec
			low, high = min(low, asked), max(high, asked)
		}
		if high <= uneven*low {
			return weights
		}
		if high/low < least {
			best, least = weights, high/low
		}
	}
	return best
}
