package sweep

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"contend/usl"
)

func TestLevelsAreChosenAroundThePeak(t *testing.T) {
	for _, tt := range []struct {
		name             string
		law              usl.Model
		limit            int
		explored, levels []int
	}{
		// No step is wider than 4 times, so 4 is between 1 and 16. X(32) and X(64) are 94% of X(45), and
		// X(16) and X(128) 63%: from 16 to 128 in six steps of √2.
		{"peak at 45", usl.Model{Beta: 1. / 45 / 45, Gamma: 1}, 1024,
			[]int{1, 2, 4, 8, 16, 32, 64, 128}, []int{1, 4, 16, 23, 32, 45, 64, 91, 128}},
		// 6 levels are explored at least; X(2) = 1.64 and X(4) = 1.71 are near, from 1 to 8.
		{"peak at 3", usl.Model{Beta: 1. / 9, Gamma: 1}, 1024, []int{1, 2, 4, 8, 16, 32}, []int{1, 2, 3, 4, 6, 8}},
		{"falls from the first", usl.Model{Alpha: 2, Beta: 1, Gamma: 1}, 1024, []int{1, 2, 4, 8, 16, 32}, []int{1, 2, 4, 8, 16, 32}},
		// Near the limit at 64 and above (2 · 64 > 0.85 · 100): from 32 to the limit.
		{"rises to the limit", usl.Model{Gamma: 1}, 100, []int{1, 2, 4, 8, 16, 32, 64, 100}, []int{1, 4, 16, 64, 69, 74, 80, 86, 93, 100}},
		{"a small limit", usl.Model{Gamma: 1}, 3, []int{1, 2, 3}, []int{1, 2, 3}},
		// X(512) = 3.98 is 4% more than X(64) = 3.82; X(32) = 3.66 is near, X(16) = 3.368 just not.
		{"flat", usl.Model{Alpha: 0.25, Gamma: 1}, 1024, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, []int{1, 4, 16, 29, 51, 91, 161, 287, 512}},
	} {
		var explored []int
		levels, err := Design{Within: WithinBest, ExtendTo: tt.limit}.Explore(0, func(n int) (float64, bool, error) {
			explored = append(explored, n)
			return tt.law.Throughput(float64(n)), true, nil
		})
		if err != nil || !slices.Equal(explored, tt.explored) || !slices.Equal(levels, tt.levels) {
			t.Errorf("%s: explored %v, chose %v (%v); want %v and %v", tt.name, explored, levels, err, tt.explored, tt.levels)
		}
	}
}

// Whatever the throughputs, levels ascend from 1, stay within the limit, and are
// 6 where there are as many numbers.
func TestChosenLevelsAreInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, within := rapid.IntRange(1, 5000).Draw(t, "limit"), rapid.SampledFrom([]float64{0, WithinBest}).Draw(t, "within")
		levels, err := Design{Within: within, ExtendTo: limit}.Explore(0, func(int) (float64, bool, error) {
			return rapid.Float64Range(0, 10).Draw(t, "x"), rapid.IntRange(0, 9).Draw(t, "believed") > 0, nil
		})
		if err != nil || !slices.IsSorted(levels) || levels[0] != 1 || levels[len(levels)-1] > limit {
			t.Fatalf("%v, %v", levels, err)
		}
		if len(slices.Compact(slices.Clone(levels))) != len(levels) || len(levels) > regionLevels+2+6 { // 4^6 = 4096
			t.Fatalf("%v", levels)
		}
		for i := range levels[1:] {
			if levels[i+1] > widestStep*levels[i]+1 && levels[i+1] <= limit/2 {
				t.Fatalf("%v: a wide step from %d to %d", levels, levels[i], levels[i+1])
			}
		}
	})
}

func TestExploringEndsWithAnError(t *testing.T) {
	broken := errors.New("broken")
	if levels, err := (Design{ExtendTo: 10}).Explore(0, func(n int) (float64, bool, error) { return 1, true, broken }); err != broken || levels != nil {
		t.Errorf("%v, %v", levels, err)
	}
}
