package stat

import (
	"math/rand/v2"
	"testing"
)

// Of n answers without a slow one the ratio is B(½, n+49½) ÷ B(½, 49½) ÷ 0.99ⁿ, about √(49.5 ÷ (n+49.5)) · e^(0.01005·n):
// 18.9 at 400 and 23.0 at 422.
func TestBeyond(t *testing.T) {
	for _, tt := range []struct {
		k, n float64
		want int
	}{
		{0, 0, 0}, {0, 400, 0}, {0, 425, -1},
		{1, 1, 0}, {3, 10, 0}, {4, 10, 1}, // 9.7 and 60
		{3, 300, 0},  // as the share says
		{10, 100, 1}, //
		{1.5, 150, 0},
	} {
		if got := Beyond(tt.k, tt.n, 0.01, 0.05); got != tt.want {
			t.Errorf("%g of %g: %d, want %d", tt.k, tt.n, got, tt.want)
		}
	}
}

// Asked after each of 2000 answers, it errs ever in no more than 5% of the series whose chance is the share, and finds a
// chance of half or twice as much in nearly all.
func TestBeyondMayBeAskedAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const series, answers, share = 1000, 2000, 0.05
	for _, tt := range []struct {
		chance       float64
		below, above [2]int // at least and at most so many series end there
	}{{share, [2]int{0, 35}, [2]int{0, 35}}, {share / 2, [2]int{970, series}, [2]int{0, 5}}, {2 * share, [2]int{0, 5}, [2]int{990, series}}} {
		ended := map[int]int{} // by side
		for range series {
			k, side := 0.0, 0
			for n := 1.0; n <= answers && side == 0; n++ {
				if random.Float64() < tt.chance {
					k++
				}
				side = Beyond(k, n, share, 0.05)
			}
			ended[side]++
		}
		for side, want := range map[int][2]int{-1: tt.below, 1: tt.above} {
			if n := ended[side]; n < want[0] || n > want[1] {
				t.Errorf("chance %g: %d of %d series end at %d, want %d to %d", tt.chance, n, series, side, want[0], want[1])
			}
		}
	}
}
