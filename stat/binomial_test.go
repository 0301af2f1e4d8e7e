package stat

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestBinomial(t *testing.T) {
	tests := []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.3085},      // 1 − 0.025^(1/10)
		{10, 10, 0.6915, 1},     // 0.025^(1/10)
		{1, 1, 0.025, 1},        // 0.025
		{4, 20, 0.0573, 0.4366}, // printed example of Clopper and Pearson's limits
		{5, 100, 0.0164, 0.1128},
		{0, 0, 0, 1},
		{3, 2, 0, 1},
		{-1, 2, 0, 1},
	}
	for _, tt := range tests {
		low, high := Binomial(tt.k, tt.n, 0.95)
		if math.Abs(low-tt.low) > 5e-5 || math.Abs(high-tt.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", tt.k, tt.n, low, high, tt.low, tt.high)
		}
	}
}

// Whatever the true chance, the intervals of all outcomes that hold it have together
// at least the confidence.
func TestBinomialCovers(t *testing.T) {
	for _, n := range []int{1, 7, 30, 100} {
		for p := 0.01; p < 1; p += 0.01 {
			covered := 0.0
			for k := range n + 1 {
				if low, high := Binomial(k, n, 0.95); low <= p && p <= high {
					covered += distuv.Binomial{N: float64(n), P: p}.Prob(float64(k))
				}
			}
			if covered < 0.95-1e-9 {
				t.Errorf("n=%d, p=%.2f: covers in %.4f", n, p, covered)
			}
		}
	}
}
