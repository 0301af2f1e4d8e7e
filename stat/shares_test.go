package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestShares(t *testing.T) {
	tests := []struct {
		name   string
		rounds [][]float64
		want   Variance
		wantOK bool
	}{
		// means 2 and 6 around 4; within: (1+1 + 1+1)/(4−2) = 2; between: 2·(4+4)/1 = 16;
		// n₀ = (4 − 8/4)/1 = 2; Round² = (16−2)/2 = 7; share = 7/(7 + 2/2) = 0.875
		{"balanced", [][]float64{{1, 3}, {5, 7}}, Variance{math.Sqrt2, math.Sqrt(7), 0.875}, true},
		{"an empty round is left out", [][]float64{{1, 3}, nil, {5, 7}}, Variance{math.Sqrt2, math.Sqrt(7), 0.875}, true},
		// means 2 and 8, grand (1+3+8)/3 = 4; within: 2/(3−2) = 2; between: 2·4 + 1·16 = 24;
		// n₀ = (3 − 5/3)/1 = 4/3; Round² = 22·3/4 = 16.5; mean of 1/n = 0.75: 16.5/(16.5+1.5) = 0.9167
		{"unequal", [][]float64{{1, 3}, {8}}, Variance{math.Sqrt2, math.Sqrt(16.5), 16.5 / 18}, true},
		// means equal: between 0 < within 2, so Round² is 0 and not −1
		{"rounds alike", [][]float64{{1, 3}, {3, 1}}, Variance{Block: math.Sqrt2}, true},
		{"pairs alike", [][]float64{{1, 1}, {3, 3}}, Variance{0, math.Sqrt2, 1}, true},
		{"no scatter at all", [][]float64{{1, 1}, {1, 1}}, Variance{}, true},
		{"one round", [][]float64{{1, 2, 3}}, Variance{}, false},
		{"one pair each", [][]float64{{1}, {2}, {3}}, Variance{}, false},
		{"nothing", nil, Variance{}, false},
		{"not finite", [][]float64{{1, 2}, {math.Inf(1), 3}}, Variance{}, false},
		{"not a number", [][]float64{{1, 2}, {math.NaN(), 3}}, Variance{}, false},
	}
	for _, tt := range tests {
		got, ok := Shares(tt.rounds)
		if ok != tt.wantOK || !closeTo(got.Block, tt.want.Block) || !closeTo(got.Round, tt.want.Round) ||
			!closeTo(got.RoundShare, tt.want.RoundShare) {
			t.Errorf("%s: %+v, %v, want %+v, %v", tt.name, got, ok, tt.want, tt.wantOK)
		}
	}
}

// Planted components come out on average: 200 experiments of 12 rounds of 4 to 8 pairs.
func TestSharesFindsWhatWasPlanted(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	var block, round float64
	const experiments = 200
	for range experiments {
		rounds := make([][]float64, 12)
		for i := range rounds {
			common := 0.02 * r.NormFloat64()
			for range 4 + r.IntN(5) {
				rounds[i] = append(rounds[i], common+0.03*r.NormFloat64())
			}
		}
		v, ok := Shares(rounds)
		if !ok {
			t.Fatal("not ok")
		}
		block += squared(v.Block) / experiments
		round += squared(v.Round) / experiments
	}
	if math.Abs(math.Sqrt(block)-0.03) > 0.001 || math.Abs(math.Sqrt(round)-0.02) > 0.001 {
		t.Errorf("block %.4f and round %.4f, want 0.03 and 0.02", math.Sqrt(block), math.Sqrt(round))
	}
}
