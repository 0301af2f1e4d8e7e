package stat

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHolm(t *testing.T) {
	tests := []struct {
		name     string
		ps, want []float64
	}{
		{"none", nil, []float64{}},
		{"one", []float64{0.04}, []float64{0.04}},
		// sorted 0.005·4, 0.01·3, 0.03·2, 0.04·1 → 0.06 by its predecessor
		{"textbook", []float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{"capped", []float64{0.6, 0.5}, []float64{1, 1}},
		{"equal", []float64{0.02, 0.02}, []float64{0.04, 0.04}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Holm(tt.ps)
			if !slices.EqualFunc(got, tt.want, closeTo) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Holm never lowers a p, keeps their order, and is at most Bonferroni.
func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "ps")
		given := slices.Clone(ps)
		got := Holm(ps)
		if !slices.Equal(ps, given) {
			t.Fatal("the input was changed")
		}
		for i := range ps {
			if got[i] < ps[i] || got[i] > min(1, ps[i]*float64(len(ps))) {
				t.Fatalf("%g became %g", ps[i], got[i])
			}
			for j := range ps {
				if ps[i] < ps[j] && got[i] > got[j] {
					t.Fatalf("order of %g and %g was lost: %g, %g", ps[i], ps[j], got[i], got[j])
				}
			}
		}
	})
}
