package stat

import (
	"cmp"
	"slices"
)

// Holm corrects the p-values of m questions that are asked of the same data, so that
// the chance of even one false alarm among them stays at the level: the smallest p is
// multiplied by m, the next by m−1 and so on, none may fall below its predecessor, and
// none exceeds 1 (Holm 1979, "A simple sequentially rejective multiple test procedure",
// Scand. J. Statist. 6). The result is in the order of the input, which is not changed.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	adjusted := make([]float64, len(ps))
	floor := 0.0
	for rank, i := range order {
		floor = max(floor, min(1, ps[i]*float64(len(ps)-rank)))
		adjusted[i] = floor
	}
	return adjusted
}
