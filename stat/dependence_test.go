package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// On independent rounds each warning comes in at most 1%. 1000 series of each noise have
// a standard deviation of 0.0031 at 0.01, three of them are 0.0095; over all seven noises
// it is 0.0012, and 0.0036. The noise with three modes may be called bimodal.
func TestCalibrationOfDependence(t *testing.T) {
	simulated(t)
	const experiments = 1000
	for _, n := range []int{12, 24, 60} {
		total := map[string]int{}
		for seed, noise := range noises {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
			alarms := map[string]int{}
			logs := make([]float64, n)
			for range experiments {
				for i := range logs {
					logs[i] = noise.draw(r)
				}
				for _, w := range Dependence(logs) {
					alarms[w.Code]++
					total[w.Code]++
				}
			}
			for code, count := range alarms {
				if code == "bimodal" && noise.name == "bimodal" {
					total[code] -= count
				} else if share := float64(count) / experiments; share > 0.0195 {
					t.Errorf("%d rounds, %s: %s in %.4f, want at most 0.01", n, noise.name, code, share)
				}
			}
		}
		for code, count := range total {
			share := float64(count) / float64(experiments*len(noises))
			t.Logf("%d independent rounds: %s in %.2f%%", n, code, 100*share)
			if share > 0.0136 {
				t.Errorf("%d rounds: %s in %.4f of all series, want at most 0.01", n, code, share)
			}
		}
	}
}

// A dependence that exists is found in nine of ten cases.
func TestDependenceFinds(t *testing.T) {
	tests := []struct {
		name, want string
		rounds     int
		draw       func(r *rand.Rand, n int) []float64
	}{
		{"neighbours correlate by 0.8", "autocorrelated", 32, func(r *rand.Rand, n int) []float64 {
			return moods(r, n, 0.8)
		}},
		{"the ratio grows by four spreads", "drifting_rounds", 20, func(r *rand.Rand, n int) []float64 {
			return drawn(n, func(i int) float64 { return 0.12*float64(i)/float64(n-1) + 0.03*r.NormFloat64() })
		}},
		{"two placements, eight spreads apart", "bimodal", 20, func(r *rand.Rand, n int) []float64 {
			return drawn(n, func(i int) float64 { return 0.08*float64(i*7%n*2/n) + 0.01*r.NormFloat64() })
		}},
	}
	for _, tt := range tests {
		r := rand.New(rand.NewPCG(13, 13))
		found := 0
		for range 200 {
			if strings.Contains(codes(Dependence(tt.draw(r, tt.rounds))), tt.want) {
				found++
			}
		}
		t.Logf("%s, %d rounds: found in %d of 200", tt.name, tt.rounds, found)
		if found < 180 {
			t.Errorf("%s, %d rounds: found in %d of 200", tt.name, tt.rounds, found)
		}
	}
}

func drawn(n int, draw func(i int) float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = draw(i)
	}
	return values
}

// moods is normal noise with a standard deviation of 1 in which neighbours correlate.
func moods(r *rand.Rand, n int, correlation float64) []float64 {
	x := r.NormFloat64()
	return drawn(n, func(int) float64 {
		value := x
		x = correlation*x + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
		return value
	})
}

func TestDependenceText(t *testing.T) {
	rising := drawn(12, func(i int) float64 { return 0.01 * float64(i) }) // 11 steps: e^0.11 = 1.116
	ws := Dependence(rising)
	if codes(ws) != "autocorrelated drifting_rounds" || !strings.Contains(ws[1].Text, "by +11.6% from") {
		t.Errorf("rising: %v", ws)
	}
	// alternation is not likeness, and two groups of 6: ln 1.1 and ln 1.3 with 0.1% of scatter
	two := drawn(12, func(i int) float64 { return math.Log(1.1+0.2*float64(i%2)) + 0.001*float64(i%3) })
	ws = Dependence(two)
	if codes(ws) != "bimodal" || !strings.Contains(ws[0].Text, "ratios of 1.10 and 1.30") {
		t.Errorf("two groups: %v", ws)
	}
	if ws = Dependence(two[:11]); ws != nil {
		t.Errorf("11 rounds: %v", ws)
	}
	if ws = Dependence(slices.Repeat([]float64{0.5}, 30)); ws != nil {
		t.Errorf("constant: %v", ws)
	}
	two[3] = math.NaN()
	if ws = Dependence(two); ws != nil {
		t.Errorf("not a number: %v", ws)
	}
	wild := slices.Repeat([]float64{0.01, -0.02, 0.015, -0.005, 0}, 4)
	wild[7] = 5 // one wild round is not a second group
	if ws = Dependence(wild); ws != nil {
		t.Errorf("one wild round: %v", ws)
	}
}

// Order and its opposite: the ranks 1 … n have Σ steps² = n−1 and Σ(R−R̄)² = n(n²−1)/12, so 12/(n(n+1)).
func TestBartels(t *testing.T) {
	rising := drawn(20, func(i int) float64 { return float64(i) })
	correlation, p := bartels(rising) // ratio 12/420 = 0.0286, correlation 1 − 0.0143
	if math.Abs(correlation-(1-6.0/420)) > 1e-12 || p > 1e-6 {
		t.Errorf("rising: %g, p %g", correlation, p)
	}
	zigzag := drawn(20, func(i int) float64 { return float64(i%2*20 + i/2) })
	if correlation, p = bartels(zigzag); correlation > -0.2 || p < 0.9 {
		t.Errorf("zigzag: %g, p %g", correlation, p)
	}
}
