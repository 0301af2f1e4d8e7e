package main

import (
	"slices"
	"testing"
)

// The bars, over few servers: coverage may miss its own by three standard errors,
// 3 · √(0.95 · 0.05 ÷ 120).
func TestBars(t *testing.T) {
	sum, err := simulate(120, 1)
	if err != nil {
		t.Fatal(err)
	}
	if sum.good < sum.servers || sum.mostRuns > runShare {
		t.Errorf("%d of %d recommendations are good, with up to %.2f of the runs", sum.good, sum.servers, sum.mostRuns)
	}
	if share, _, _ := sum.coverage(); share < covered-0.06 || sum.peaks < sum.servers*9/10 {
		t.Errorf("%d of %d sweeps show a peak, and %.3f of the intervals hold it", sum.peaks, sum.servers, share)
	}
}

func TestExhaustiveLevels(t *testing.T) {
	if got, want := exhaustiveLevels(25), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := exhaustiveLevels(100); got[len(got)-1] != 100 || got[30] != 32 { // 30 · 1.05 = 31.5
		t.Errorf("%v", got)
	}
}
