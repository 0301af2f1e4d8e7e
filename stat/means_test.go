package stat

import (
	"math"
	"testing"

	"contend/internal/testenv"
)

func TestMeans(t *testing.T) {
	tests := []struct {
		name                string
		baseline, candidate []float64
		want                Shift
	}{
		// Means 2 and 6, squares around them 2 and 2: the variance is 4/4, se = √(1 · 2/3), t(0.975; 4) = 2.776445.
		{"by hand", []float64{1, 2, 3}, []float64{5, 6, 7}, Shift{Value: 4, Low: 4 - 2.776445*math.Sqrt(2./3), High: 4 + 2.776445*math.Sqrt(2./3), P: 0.008050}},
		{"exact", []float64{7, 7}, []float64{9, 9}, Shift{Value: 2, Low: 2, High: 2, P: 0}},
		{"equal", []float64{7, 7}, []float64{7, 7}, Shift{P: 1}},
		{"one alone", []float64{7}, []float64{9}, Shift{Value: 2, P: 1}},
	}
	for _, tt := range tests {
		got, err := Means(tt.baseline, tt.candidate, 0.95)
		testenv.Must(t, err)
		for what, pair := range map[string][2]float64{"value": {got.Value, tt.want.Value}, "low": {got.Low, tt.want.Low}, "high": {got.High, tt.want.High}, "p": {got.P, tt.want.P}} {
			if math.Abs(pair[0]-pair[1]) > 1e-5 {
				t.Errorf("%s: %s is %g, want %g", tt.name, what, pair[0], pair[1])
			}
		}
		if got.Bounded() != (len(tt.baseline) > 1) {
			t.Errorf("%s: bounded: %v", tt.name, got.Bounded())
		}
	}
	for _, bad := range [][]float64{nil, {math.NaN()}, {math.Inf(1)}} {
		if _, err := Means(bad, []float64{1}, 0.95); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}
