package stat

import (
	"math"
	"testing"
)

// The score S is the number of pairs that rise less that of those that fall, its
// variance n(n−1)(2n+5)/18 without t(t−1)(2t+5)/18 for t equal values, and z, corrected
// for continuity, (|S|−1)/√variance.
func TestMannKendall(t *testing.T) {
	tests := []struct {
		series []float64
		z, tau float64
	}{
		{[]float64{1, 3, 2, 4}, 3 / math.Sqrt(156.0/18), 4.0 / 6},      // 5 rise, 1 falls
		{[]float64{4, 2, 3, 1}, 3 / math.Sqrt(156.0/18), -4.0 / 6},     //
		{[]float64{3, 2, 1}, 2 / math.Sqrt(66.0/18), -1},               // all 3 fall
		{[]float64{1, 1, 2, 3}, 4 / math.Sqrt((156.0-18)/18), 5.0 / 6}, // 5 rise, 1 is tied: 2·1·9 less
		{[]float64{1, 2, 1}, 0, 0},                                     // 1 rises, 1 falls, 1 is tied
		{[]float64{5, 5, 5, 5}, 0, 0},
	}
	for _, tt := range tests {
		p, tau := mannKendall(tt.series)
		if want := math.Erfc(tt.z / math.Sqrt2); math.Abs(p-want) > 1e-12 || math.Abs(tau-tt.tau) > 1e-12 {
			t.Errorf("%v: p %v, τ %v; want %v, %v", tt.series, p, tau, want, tt.tau)
		}
	}
}

// The slopes of 0 1 2 10 are 1, 1, 10/3, 1, 9/2 and 8: the middle is (1 + 10/3)/2 = 13/6.
func TestTheilSen(t *testing.T) {
	if change := theilSen([]float64{0, 1, 2, 10}); math.Abs(change-13.0/6*3) > 1e-12 {
		t.Errorf("changed by %v, want 6.5", change)
	}
}
