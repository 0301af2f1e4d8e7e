package guard

import (
	"math"
	"testing"
)

func TestFairness(t *testing.T) {
	for _, test := range []struct {
		give         []int64
		jain, minMax float64
	}{
		{nil, 0, 0},
		{[]int64{0, 0}, 0, 0},
		{[]int64{5}, 1, 1},
		{[]int64{3, 3, 3}, 1, 1},
		{[]int64{9, 0, 0}, 1.0 / 3, 0}, // 81 / (3·81)
		{[]int64{1, 2, 3}, 36.0 / 42, 1.0 / 3},
	} {
		jain, minMax := fairness(test.give)
		if math.Abs(jain-test.jain) > 1e-12 || math.Abs(minMax-test.minMax) > 1e-12 {
			t.Errorf("fairness(%v) = %v, %v: want %v, %v", test.give, jain, minMax, test.jain, test.minMax)
		}
	}
}

func TestTurnsForIsAtLeastOne(t *testing.T) {
	if n, noise := turnsFor(0); n != 1 || noise == 0 {
		t.Errorf("turnsFor(0) = %d, %d", n, noise)
	}
}
