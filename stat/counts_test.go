package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Differences 1 and 3 with variances 1 and 1: mean 2 with the variance ½, factor (1 + 1) ÷ 1 = 2; alone, with one
// degree of freedom, t = 2 ÷ √(2 · ½) = 2, and P = 1 − 2·atan(2)/π = 0.2952. The second varies less than counting.
func TestCounts(t *testing.T) {
	shifts, err := Counts([][]Counted{{{0, 1, 1}, {-1, 2, 1}}, {{0, 2, 1}, {0, 2, 1}}}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if s := shifts[0]; s.Value != 2 || math.Abs(s.P-0.29517) > 1e-5 || math.Abs(s.Low-1) > 1e-9 || math.Abs(s.High-3) > 1e-9 || s.Rounds != 2 {
		t.Errorf("%+v, want 2, P 0.29517 and 2 ± tan(π/4)·1", s)
	}
	if s := shifts[1]; s.Value != 2 || math.Abs(s.High-2-math.Sqrt(0.5)) > 1e-9 {
		t.Errorf("%+v, want a factor of 1: 2 ± √½", s)
	}
}

func TestCountsRejects(t *testing.T) {
	for name, counts := range map[string][][]Counted{
		"one round": {{{0, 1, 1}}}, "other rounds": {{{0, 1, 1}, {0, 1, 1}}, {{0, 1, 1}}}, "no variance": {{{0, 1, 0}, {0, 1, 1}}},
		"not finite": {{{0, math.NaN(), 1}, {0, 1, 1}}},
	} {
		if _, err := Counts(counts, 0.95); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Counts([][]Counted{{{0, 1, 1}, {0, 1, 1}}}, 1); err == nil {
		t.Error("a confidence of 1: no error")
	}
	if shifts, err := Counts(nil, 0.95); shifts != nil || err != nil {
		t.Errorf("nothing: %v, %v", shifts, err)
	}
}

// trigamma(1) is π²/6, and its inverse leads back.
func TestTrigamma(t *testing.T) {
	if got := trigamma(1); math.Abs(got-math.Pi*math.Pi/6) > 1e-9 {
		t.Errorf("trigamma(1) = %v", got)
	}
	for _, x := range []float64{0.3, 1, 5.5, 40} {
		if got := trigammaInverse(trigamma(x)); math.Abs(got-x) > 1e-6*x {
			t.Errorf("%v leads back to %v", x, got)
		}
	}
}

// dealt are 12 rounds of samples in functions of some shares, with the candidate's share of the last one, where each
// process has a factor of its own for each function that varies by spread. In further rounds there are four times as many
// samples, each worth a quarter.
func dealt(random *rand.Rand, shares []float64, last, spread float64, further int) [][]Counted {
	const rounds = 12
	counts := make([][]Counted, len(shares))
	for i, share := range shares {
		theirs := share
		if i == len(shares)-1 {
			theirs = last
		}
		for round := range rounds + further {
			samples, each := 500., 1.
			if round >= rounds {
				samples, each = 4*samples, each/4
			}
			n := func(share float64) float64 {
				return each * distuv.Poisson{Lambda: samples * share * math.Exp(spread*random.NormFloat64()), Src: random}.Rand()
			}
			counts[i] = append(counts[i], Counted{n(share), n(theirs), each * each * samples * (share + theirs)})
		}
	}
	return counts
}

// Of functions that do not differ one in 1% of the comparisons may be named, whatever else varies; a function of 1%
// that becomes one of 2% is found in most: 60 samples against 120, √180 = 13.4, are 4.5 standard errors, and 3.9 are
// asked for (1% ÷ 40, t with 61 degrees of freedom): 72% before rounds vary. With further rounds, of more samples, one of 1% that
// becomes one of 1.3% is found as often.
func TestCalibrationOfCounts(t *testing.T) {
	shares := make([]float64, 40)
	for i := range shares {
		shares[i] = 0.3 * math.Pow(0.85, float64(i))
	}
	shares[39] = 0.01
	const trials = 400
	for _, tt := range []struct {
		spread, last float64
		further      int
	}{{0, 0.02, 0}, {0.1, 0.02, 0}, {0.3, 0.02, 0}, {0, 0.013, 24}, {0.1, 0.013, 24}, {0.3, 0.013, 24}} {
		spread := tt.spread
		random := rand.New(rand.NewPCG(3, 4))
		named, found := 0, 0
		for range trials {
			counts := dealt(random, shares, 0.01, spread, tt.further)
			equal, err := Counts(counts, 1-0.01/40)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range equal {
				if s.Excludes0() {
					named++
					break
				}
			}
			counts[39] = dealt(random, shares[39:], tt.last, spread, tt.further)[0] // the others may be the same
			unlike, err := Counts(counts, 1-0.01/40)
			if err != nil {
				t.Fatal(err)
			}
			if unlike[39].Excludes0() {
				found++
			}
		}
		t.Logf("spread %v, %d further rounds: named %d of %d, found %d", spread, tt.further, named, trials, found)
		if named > 10 || spread < 0.2 && found < 220 {
			t.Errorf("spread %v, %d further rounds: named in %d of %d (allowed 10), found in %d", spread, tt.further, named, trials, found)
		}
	}
}

// Of 1, 2 and 9 with the weights 1, 1 and 3 the last has half of 5; with 3, 1 and 1 the first.
func TestWeightedMedian(t *testing.T) {
	for _, tt := range []struct {
		values, weights []float64
		want            float64
	}{
		{[]float64{9, 1, 2}, []float64{3, 1, 1}, 9},
		{[]float64{9, 1, 2}, []float64{1, 3, 1}, 1},
		{[]float64{4, 3}, []float64{1, 1}, 3},
		{[]float64{7}, []float64{0}, 7},
	} {
		if got := WeightedMedian(tt.values, tt.weights); got != tt.want {
			t.Errorf("of %v by %v: %v, want %v", tt.values, tt.weights, got, tt.want)
		}
	}
}
