package stat

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
)

// The same nine patients as in TestPairedAgreesWithHollanderWolfe, in the units of the
// scale: W = 5, two-sided p = 20/512, estimate −0.46, interval (−0.786, −0.010) at 96.1%.
func TestDifferencesAgreeWithHollanderWolfe(t *testing.T) {
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	for i := range after {
		after[i] -= before[i]
	}
	s, err := Differences(after, 0.95)
	testenv.Must(t, err)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"p", s.P, 20.0 / 512}, {"estimate", s.Value, -0.46}, {"low", s.Low, -0.786}, {"high", s.High, -0.010},
		{"confidence", s.Confidence, 1 - 20.0/512},
	} {
		if !closeTo(c.got, c.want) {
			t.Errorf("%s = %g, want %g", c.name, c.got, c.want)
		}
	}
	if !s.Excludes0() {
		t.Error("the interval does not exclude 0")
	}
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name     string
		give     []float64
		want     Shift
		excludes bool
	}{
		// p = 2/2⁶; the 21 means of pairs of 1 … 6: the 11th is 3.5.
		{"six rounds all above", []float64{1, 2, 3, 4, 5, 6}, Shift{Value: 3.5, Low: 1, High: 6, P: 0.03125, Confidence: 0.96875, Rounds: 6}, true},
		{"five rounds", []float64{1, 2, 3, 4, 5}, Shift{Value: 3, P: 0.0625, Rounds: 5}, false},
		{"in neither arm", make([]float64, 12), Shift{P: 1, Confidence: 0.95751953125, Rounds: 12}, false}, // 1 − 2·87/4096
		{"nanoseconds that no ratio could hold", []float64{-1e6, -2e6, -3e6, -4e6, -5e6, -6e6},
			Shift{Value: -3.5e6, Low: -6e6, High: -1e6, P: 0.03125, Confidence: 0.96875, Rounds: 6}, true},
	} {
		got, err := Differences(c.give, 0.95)
		c.want.Level = got.Level
		if err != nil || !closeTo(got.Level, 0.05) || !closeTo(got.Value, c.want.Value) || got.Low != c.want.Low || got.High != c.want.High ||
			!closeTo(got.P, c.want.P) || !closeTo(got.Confidence, c.want.Confidence) || got.Rounds != c.want.Rounds || got.Excludes0() != c.excludes {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
	for _, bad := range [][]float64{nil, {math.NaN()}, {math.Inf(1)}, make([]float64, maxRounds+1)} {
		if _, err := Differences(bad, 0.95); err == nil {
			t.Errorf("%d differences, the first %v, were taken", len(bad), bad[:min(1, len(bad))])
		}
	}
}

// A constant added to all differences is added to the estimate and to the ends; the
// interval excludes 0 exactly when p says so.
func TestDifferencesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		give := rapid.SliceOfN(rapid.Map(rapid.IntRange(-1000, 1000), func(i int) float64 { return float64(i) }), 1, 40).Draw(t, "differences")
		by := float64(rapid.IntRange(-5000, 5000).Draw(t, "by"))
		confidence := rapid.Float64Range(0.5, 0.999).Draw(t, "confidence")
		moved := make([]float64, len(give))
		for i, x := range give {
			moved[i] = x + by
		}
		a, err := Differences(give, confidence)
		b, err2 := Differences(moved, confidence)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if b.Value != a.Value+by || a.Bounded() && (b.Low != a.Low+by || b.High != a.High+by) {
			t.Fatalf("%+v moved by %g is %+v", a, by, b)
		}
		if a.Excludes0() != (a.P <= a.Level) {
			t.Fatalf("%+v: p and interval contradict each other", a)
		}
	})
}
