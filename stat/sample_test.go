package stat

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
)

func TestSummary(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   Summary
		codes  string
	}{
		{
			// mean 5, squares 9+1+1+1+0+0+4+16 = 32, 32/7; the tails of x₍₁₎ … x₍₈₎ are 2/256,
			// those of x₍₂₎ … x₍₇₎ 18/256 > 0.05
			name:   "eight",
			values: []float64{9, 2, 4, 4, 5, 7, 4, 5},
			want: Summary{N: 8, Mean: 5, SD: math.Sqrt(32.0 / 7), CV: math.Sqrt(32.0/7) / 5, Median: 4.5,
				MedianLow: 2, MedianHigh: 9, Confidence: 1 - 2.0/256, Min: 2, Max: 9},
		},
		{
			// 2·(1+9)/512 = 0.039: x₍₂₎ … x₍₈₎
			name:   "nine",
			values: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9},
			want: Summary{N: 9, Mean: 5, SD: math.Sqrt(7.5), CV: math.Sqrt(7.5) / 5, Median: 5,
				MedianLow: 2, MedianHigh: 8, Confidence: 1 - 20.0/512, Min: 1, Max: 9},
		},
		{
			name:   "one",
			values: []float64{3},
			want:   Summary{N: 1, Mean: 3, Median: 3, Min: 3, Max: 3},
			codes:  "too_few_values",
		},
		{
			// a naive sum of squares cancels to 0 here: 1e9 ± 1 has SD √2
			name:   "far from zero",
			values: []float64{1e9 - 1, 1e9 + 1},
			want: Summary{N: 2, Mean: 1e9, SD: math.Sqrt2, CV: math.Sqrt2 / 1e9, Median: 1e9,
				Min: 1e9 - 1, Max: 1e9 + 1},
			codes: "too_few_values",
		},
		{
			name:   "mean zero has no CV",
			values: []float64{-1, 1},
			want:   Summary{N: 2, SD: math.Sqrt2, Min: -1, Max: 1},
			codes:  "too_few_values",
		},
		{
			name:   "identical",
			values: []float64{7, 7, 7, 7, 7, 7},
			want: Summary{N: 6, Mean: 7, Median: 7, MedianLow: 7, MedianHigh: 7,
				Confidence: 1 - 2.0/64, Min: 7, Max: 7},
			codes: "identical_values",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewSample(tt.values)
			testenv.Must(t, err)
			got, err := s.Summary(0.95)
			testenv.Must(t, err)
			if c := codes(got.Warnings); c != tt.codes {
				t.Errorf("warnings %q, want %q", c, tt.codes)
			}
			if g, w := figures(got), figures(tt.want); !slices.EqualFunc(g, w, closeTo) {
				t.Errorf("got  %v\nwant %v", g, w)
			}
		})
	}
}

func figures(s Summary) []float64 {
	return []float64{float64(s.N), s.Mean, s.SD, s.CV, s.Median, s.MedianLow, s.MedianHigh, s.Confidence, s.Min, s.Max}
}

// 1, 2 and 3 have the standard deviation 1, and of two degrees of freedom 95% are within 4.3027: 4.3027 ÷ √3.
func TestMeanWithin(t *testing.T) {
	if half, ok := MeanWithin([]float64{1, 2, 3}, 0.95); !ok || math.Abs(half-2.4842) > 1e-3 {
		t.Errorf("%v, %v", half, ok)
	}
	if half, ok := MeanWithin([]float64{2, 2}, 0.95); !ok || half != 0 {
		t.Errorf("of equal values: %v, %v", half, ok)
	}
	if _, ok := MeanWithin([]float64{1}, 0.95); ok {
		t.Error("one value has an interval")
	}
}

func TestSampleRefuses(t *testing.T) {
	for _, values := range [][]float64{nil, {1, math.NaN()}, {math.Inf(1)}} {
		if _, err := NewSample(values); err == nil || !strings.HasPrefix(err.Error(), "stat: ") {
			t.Errorf("%v: error %v", values, err)
		}
	}
	if _, err := (Sample{}).Summary(0.95); err == nil {
		t.Error("the zero Sample was summarised")
	}
	s, _ := NewSample([]float64{1})
	if _, err := s.Summary(95); err == nil {
		t.Error("a confidence of 95 was accepted")
	}
}

func TestSummaryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 60).Draw(t, "values")
		given := slices.Clone(values)
		s, err := NewSample(values)
		testenv.Must(t, err)
		if !slices.Equal(values, given) {
			t.Fatal("the input was changed")
		}
		confidence := drawConfidence(t)
		first, _ := s.Summary(confidence)
		for i := range values {
			values[i] = math.NaN() // the sample must hold a copy
		}
		got, _ := s.Summary(confidence)
		if !slices.Equal(figures(first), figures(got)) {
			t.Fatal("the sample changed with its input")
		}
		slack := 1e-9 * max(1, math.Abs(got.Min), math.Abs(got.Max))
		if got.Mean < got.Min-slack || got.Mean > got.Max+slack || got.SD < 0 || got.SD > (got.Max-got.Min)+slack {
			t.Fatalf("impossible: %+v", got)
		}
		bounded := got.Confidence > 0
		if bounded != (got.N >= FewestRounds(1-confidence)) || bounded == strings.Contains(codes(got.Warnings), "too_few_values") {
			t.Fatalf("interval and warning do not fit: %+v", got)
		}
		if bounded && (got.Confidence < confidence || got.MedianLow > got.Median || got.Median > got.MedianHigh) {
			t.Fatalf("interval: %+v", got)
		}
	})
}

// Both ways to the binomial distribution give the same tails on either side of 1000
// values, where the interval is about √1000 = 32 places either side of the median.
func TestCoinTailMeetsItself(t *testing.T) {
	at1000, at1001 := coinTail(1000), coinTail(1001)
	// P(≤ k of n+1) = (P(≤ k of n) + P(≤ k−1 of n)) / 2
	for k := 400; k < 500; k++ {
		if want := (at1000[k] + at1000[k-1]) / 2; math.Abs(at1001[k]/want-1) > 1e-9 {
			t.Fatalf("P(≤ %d of 1001) = %g, want %g", k, at1001[k], want)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{3: {5, 1, 3}, 2.5: {4, 1, 3, 2}, 7: {7}} {
		if got := Median(values); got != want {
			t.Errorf("%v: %g, want %g", values, got, want)
		}
	}
}
