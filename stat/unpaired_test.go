package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
)

func mustUnpaired(t testing.TB, baseline, candidate []float64, confidence float64) Effect {
	t.Helper()
	e, err := Unpaired(baseline, candidate, confidence)
	testenv.Must(t, err)
	return e
}

// Example 4.1 of Hollander, Wolfe and Chicken (permeability of the chorioamnion): with
// the 10 values at term as baseline and the 5 early ones as candidate, W = 30, so U =
// 30 − 5·6/2 = 15, one-sided P = 0.1272, shift −0.305, 96% interval (−0.76, 0.15).
func TestUnpairedPublishedExample(t *testing.T) {
	term := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	early := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	e := mustUnpaired(t, term, early, 0.95)
	for _, c := range []struct {
		name      string
		got, want float64
		tolerance float64
	}{
		{"p", e.P, 2 * 0.1272, 0.0001},
		{"shift", math.Log(e.Ratio), -0.305, 1e-12},
		{"low", math.Log(e.Low), -0.76, 1e-12},
		{"high", math.Log(e.High), 0.15, 1e-12},
		{"confidence", e.Confidence, 0.96, 0.005},
	} {
		if math.Abs(c.got-c.want) > c.tolerance {
			t.Errorf("%s is %g, want %g", c.name, c.got, c.want)
		}
	}
	if e.Rounds != 5 || e.Warnings != nil {
		t.Errorf("rounds %d, warnings %v", e.Rounds, e.Warnings)
	}
}

// Printed two-sided critical values at 5%: the largest U that is significant.
func TestRankSumCriticalValues(t *testing.T) {
	for _, c := range []struct{ m, n, want int }{
		{4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {8, 8, 13}, {10, 10, 23}, {5, 10, 8}, {8, 15, 29}, {20, 20, 127},
	} {
		tail := rankSumTail(c.m, c.n)
		if !(2*tail[c.want] <= 0.05 && 2*tail[c.want+1] > 0.05) {
			t.Errorf("%d and %d: 2·P(U ≤ %d) = %g, ≤ %d: %g", c.m, c.n, c.want, 2*tail[c.want], c.want+1, 2*tail[c.want+1])
		}
	}
}

// All ways to choose which m of the ranks 1 … m+n belong to the first group.
func TestRankSumTailCountsEverySplit(t *testing.T) {
	for m := 1; m <= 5; m++ {
		for n := 1; n <= 6; n++ {
			counts := make([]float64, m*n+1)
			all := 0.0
			for set := range 1 << (m + n) {
				u, members, others := 0, 0, 0
				for i := range m + n {
					if set>>i&1 == 1 {
						members++
						u += others
					} else {
						others++
					}
				}
				if members == m {
					counts[u]++
					all++
				}
			}
			sum := 0.0
			for u, got := range rankSumTail(m, n) {
				sum += counts[u]
				if math.Abs(got-sum/all) > 1e-12 {
					t.Fatalf("%d and %d: P(U ≤ %d) = %g, want %g", m, n, u, got, sum/all)
				}
			}
		}
	}
}

// Where counting ends the normal approximation is good enough.
func TestRankSumApproximation(t *testing.T) {
	simulated(t)
	for _, c := range []struct {
		m, n  int
		worst float64
	}{{100, 100, 0.0003}, {50, 200, 0.0004}, {20, 500, 0.0008}, {10, 1000, 0.0017}} {
		exact, normal := exactRankSumTail(c.m, c.n), normalRankSumTail(c.m, c.n)
		worst := 0.0
		for u := range exact {
			if p := 2 * exact[u]; p <= 0.1 {
				worst = max(worst, math.Abs(2*normal[u]-p))
			}
		}
		if worst > c.worst {
			t.Errorf("%d and %d: p is off by %.5f, want at most %g", c.m, c.n, worst, c.worst)
		}
	}
}

// With more pairs than are counted the tail is that of the normal distribution.
func TestRankSumTailOfMany(t *testing.T) {
	if got, want := rankSumTail(100, 101), normalRankSumTail(100, 101); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestUnpairedTooFewRounds(t *testing.T) {
	tests := []struct {
		baseline, candidate int
		confidence          float64
		want                string // "" is bounded
	}{
		{3, 3, 0.95, "3 and 3 rounds are too few for an interval at 95% confidence, which needs at least 4 of each"}, // 2/20
		{4, 4, 0.95, ""},                    // 2/70 = 0.029
		{3, 5, 0.95, ""},                    // 2/56 = 0.036
		{2, 8, 0.95, ""},                    // 2/45 = 0.044
		{1, 20, 0.95, "at least 4 of each"}, // 2/21
		{4, 4, 0.99, "at least 5 of each"},  // 2/252 = 0.008
		{6, 6, 0.95, ""},
	}
	for _, tt := range tests {
		e := mustUnpaired(t, pilot(tt.baseline, 0, 1), pilot(tt.candidate, 1, 1), tt.confidence)
		if got := codes(e.Warnings); (got == "too_few_rounds") != (tt.want != "") || e.Bounded() == (tt.want != "") {
			t.Errorf("%+v: bounded %v, warnings %v", tt, e.Bounded(), e.Warnings)
		}
		if tt.want != "" && !strings.Contains(e.Warnings[0].Text, tt.want) {
			t.Errorf("%q, want %q", e.Warnings[0].Text, tt.want)
		}
		if e.Bounded() && e.Confidence < tt.confidence {
			t.Errorf("%+v: confidence %g", tt, e.Confidence)
		}
	}
}

func TestUnpairedRefuses(t *testing.T) {
	good := []float64{1, 2, 3}
	for name, call := range map[string]func() (Effect, error){
		"no baseline":       func() (Effect, error) { return Unpaired(nil, good, 0.95) },
		"no candidate":      func() (Effect, error) { return Unpaired(good, nil, 0.95) },
		"NaN":               func() (Effect, error) { return Unpaired(good, []float64{math.NaN()}, 0.95) },
		"metric of zero":    func() (Effect, error) { return Unpaired([]float64{math.Inf(-1)}, good, 0.95) },
		"not a logarithm":   func() (Effect, error) { return Unpaired([]float64{5000}, good, 0.95) },
		"too many":          func() (Effect, error) { return Unpaired(make([]float64, 2001), good, 0.95) },
		"confidence in per": func() (Effect, error) { return Unpaired(good, good, 95) },
	} {
		if _, err := call(); err == nil || !strings.HasPrefix(err.Error(), "stat: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	e := mustUnpaired(t, slices.Repeat([]float64{1}, 6), slices.Repeat([]float64{2}, 6), 0.95)
	if codes(e.Warnings) != "identical_values" {
		t.Errorf("constant: %v", e.Warnings)
	}
}

// P ≤ Level exactly if 1 is outside the interval, also with ties; swapping the arms
// inverts the ratio and nothing else; the unit does not matter.
func TestUnpairedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// no differences that exp cannot tell from 0: below 1 it sees smaller ones than above
		steps := func(n int) *rapid.Generator[float64] {
			return rapid.Map(rapid.IntRange(-n, n), func(i int) float64 { return float64(i) / 1024 })
		}
		value := rapid.OneOf(steps(5000), steps(3))
		a := rapid.SliceOfN(value, 1, 12).Draw(t, "a")
		b := rapid.SliceOfN(value, 1, 12).Draw(t, "b")
		confidence := rapid.SampledFrom([]float64{0.5, 0.8, 0.95, 0.99}).Draw(t, "confidence")
		e, err := Unpaired(a, b, confidence)
		testenv.Must(t, err)
		swapped, _ := Unpaired(b, a, confidence)
		if e.P != swapped.P || math.Abs(e.Ratio*swapped.Ratio-1) > 1e-9 {
			t.Fatalf("%+v and swapped %+v", e, swapped)
		}
		if !(e.P > 0 && e.P <= 1) {
			t.Fatalf("p %g", e.P)
		}
		if !e.Bounded() {
			return
		}
		if outside := e.Low > 1 || e.High < 1; outside != (e.P <= e.Level) {
			t.Fatalf("p %g at %g, but [%g, %g]", e.P, e.Level, e.Low, e.High)
		}
		if !(e.Low <= e.Ratio*(1+1e-12) && e.Ratio <= e.High*(1+1e-12)) {
			t.Fatalf("%g outside [%g, %g]", e.Ratio, e.Low, e.High)
		}
	})
}

// As TestCalibrationOfPaired, with unequal numbers of rounds.
func TestCalibrationOfUnpaired(t *testing.T) {
	simulated(t)
	const experiments, tolerance = 1000, 0.0276 // four times √(0.05·0.95/1000)
	for _, noise := range noises {
		for _, n := range [][2]int{{4, 4}, {6, 6}, {6, 12}, {12, 12}} {
			t.Run(fmt.Sprintf("%s/%v", noise.name, n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(9, uint64(n[1])))
				rejected, level := 0, 0.0
				a, b := make([]float64, n[0]), make([]float64, n[1])
				for range experiments {
					for i := range a {
						a[i] = 7 + noise.draw(r)
					}
					for i := range b {
						b[i] = 7 + noise.draw(r)
					}
					e := mustUnpaired(t, a, b, 0.95)
					level = 1 - e.Confidence
					if e.P <= e.Level {
						rejected++
					}
				}
				share := float64(rejected) / experiments
				if share > level+tolerance || share < level-tolerance && noise.name != "coarse" {
					t.Errorf("false alarms in %.4f, want %.4f", share, level)
				}
			})
		}
	}
}
