package stat

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
)

func mustWeighted(t testenv.T, logRatios, weights []float64, confidence float64) Effect {
	e, err := Weighted(logRatios, weights, confidence)
	testenv.Must(t, err)
	return e
}

// signedRankOf is the rank sum on the thinner side of |w · (r − supposed)|, without ties.
func signedRankOf(logRatios, weights []float64, supposed float64) int {
	z := make([]float64, len(logRatios))
	for i, r := range logRatios {
		z[i] = weights[i] * (r - supposed)
	}
	slices.SortFunc(z, func(a, b float64) int {
		if math.Abs(a) < math.Abs(b) {
			return -1
		}
		return 1
	})
	sum := 0
	for i, x := range z {
		if x > 0 {
			sum += i + 1
		}
	}
	return min(sum, len(z)*(len(z)+1)/2-sum)
}

// tiesIn reports whether two rounds are as many standard errors from a ratio of 1, or one is at it, nearly.
func tiesIn(logRatios, weights []float64) bool {
	z := []float64{0}
	for i, r := range logRatios {
		z = append(z, math.Abs(weights[i]*r))
	}
	slices.Sort(z)
	for i := range z[1:] {
		if z[i+1]-z[i] < 1e-9 {
			return true
		}
	}
	return false
}

// The statistic is that of Wilcoxon's ranks, the interval excludes 1 if and only if p is at most the
// level, and neither depends on the unit of the weights; weights that are all equal change nothing.
func TestWeightedIsTheSignedRankOfStandardErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(6, 14).Draw(t, "rounds")
		logs, weights, double, alike := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			logs[i] = rapid.Float64Range(-1, 1.5).Draw(t, "log")
			weights[i] = rapid.Float64Range(0.1, 10).Draw(t, "weight")
			double[i], alike[i] = 2*weights[i], 3
		}
		e := mustWeighted(t, logs, weights, 0.95)
		want, tied := 2*signedRankTail(n)[signedRankOf(logs, weights, 0)], tiesIn(logs, weights)
		if e.P < min(1, want)-1e-9 || !tied && !closeTo(e.P, min(1, want)) { // ties count against a difference
			t.Fatalf("p %g, want %g", e.P, want)
		}
		if excludes := e.Low > 1 || e.High < 1; excludes != (e.P <= e.Level) || !(e.Low <= e.Ratio && e.Ratio <= e.High) {
			t.Fatalf("%+v", e)
		}
		if other := mustWeighted(t, logs, double, 0.95); !sameEffect(e, other) {
			t.Fatalf("%+v, of doubled weights %+v", e, other)
		}
		if plain, other := mustPaired(t, logs, 0.95), mustWeighted(t, logs, alike, 0.95); !sameEffect(plain, other) {
			t.Fatalf("%+v, of weights that are all alike %+v", plain, other)
		}
	})
}

// Six rounds that are known well agree on 1%; six that are hardly known say anything. With weights of
// 100 and 1 the means of one of each are within 1/101 of the well-known one.
func TestWeightedTrustsWhatIsKnown(t *testing.T) {
	logs := []float64{0.010, 0.011, 0.009, 0.0105, 0.0095, 0.010, 0.9, -0.8, 0.7, -0.9, 0.6, -0.5}
	weights := []float64{100, 100, 100, 100, 100, 100, 1, 1, 1, 1, 1, 1}
	e, plain := mustWeighted(t, logs, weights, 0.95), mustPaired(t, logs, 0.95)
	if math.Abs(math.Log(e.Ratio)-0.01) > 0.002 || math.Log(e.High/e.Low) > 0.1*math.Log(plain.High/plain.Low) {
		t.Errorf("%g [%g, %g], without weights %g [%g, %g]", e.Ratio, e.Low, e.High, plain.Ratio, plain.Low, plain.High)
	}
}

func TestWeightedRejects(t *testing.T) {
	for _, weights := range [][]float64{{1}, {1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := Weighted([]float64{0.1, 0.2}, weights, 0.95); err == nil {
			t.Errorf("weights %v were accepted", weights)
		}
		if _, ok := RoundsNeeded([]float64{0.1, 0.2}, weights, 0, 0.95, 0.9); ok {
			t.Errorf("RoundsNeeded accepted weights %v", weights)
		}
	}
}
