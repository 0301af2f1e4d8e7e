package fleet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestWeights(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		limits []float64
		want   []int
	}{
		{"nobody", nil, []int{}},
		{"one", []float64{9}, []int{1}},
		{"equal machines, as far as a measurement tells", []float64{100, 120, 149}, []int{1, 1, 1}},
		{"twice as much", []float64{100, 200}, []int{1, 2}},
		{"twice as much, with noise", []float64{90, 110, 210}, []int{1, 1, 2}},
		{"1.67 times as much: 1 and 2 are 1.2 times off", []float64{60, 100}, []int{1, 2}},
		{"three sizes: 1, 2, 3 leave the greatest 1.33 times less than the others", []float64{100, 200, 400}, []int{1, 2, 3}},
		{"no weight is over 8: the greatest has a third of what it could", []float64{100, 2400}, []int{1, 8}},
		{"one is not known", []float64{100, 0, 400}, []int{1, 1, 1}},
	} {
		workers := make([]Worker, len(tt.limits))
		for i, limit := range tt.limits {
			workers[i].LimitPerSec = limit
		}
		if got := Weights(workers); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Any limits get weights of 1 to 8, and a thousand equal machines, each measured with an error of 5%, equal
// ones: the extremes of so many are 3.2 standard deviations off (exp(2 · 3.2 · 0.05) = 1.38 times apart).
func TestWeightsOfMany(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	workers := make([]Worker, 1000)
	for i := range workers {
		workers[i].LimitPerSec = 50_000 * math.Exp(0.05*random.NormFloat64())
	}
	if got := Weights(workers); slices.Max(got) != 1 {
		t.Errorf("equal machines have weights up to %d", slices.Max(got))
	}
	for range 100 {
		for i := range workers {
			workers[i].LimitPerSec = math.Exp(5 * random.NormFloat64())
		}
		if got := Weights(workers); slices.Min(got) < 1 || slices.Max(got) > mostWeight {
			t.Fatalf("weights %d to %d", slices.Min(got), slices.Max(got))
		}
	}
}
