package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"contend/internal/testenv"
)

// simulated skips a test of thousands of seeded experiments where the race detector
// watches: it makes each ten times as long, and has nothing to find in a package that
// starts no goroutine.
func simulated(t *testing.T) {
	t.Helper()
	if testenv.Race {
		t.Skip("a simulation in one goroutine: for a run without the race detector")
	}
}

// noises are ways in which rounds of two equal arms may scatter, all symmetric (an
// exchange of equal arms flips the sign) and from light to very heavy tails.
var noises = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"normal", func(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() }},
	{"uniform", func(r *rand.Rand) float64 { return 0.1 * (r.Float64() - 0.5) }},
	{"laplace", func(r *rand.Rand) float64 { return 0.03 * (r.ExpFloat64() - r.ExpFloat64()) }},
	{"cauchy", func(r *rand.Rand) float64 { return max(-9, min(9, 0.01*math.Tan(math.Pi*(r.Float64()-0.5)))) }},
	{"bimodal", func(r *rand.Rand) float64 {
		return 0.2*float64(r.IntN(3)-1) + 0.01*r.NormFloat64()
	}},
	{"one round in ten is wild", func(r *rand.Rand) float64 {
		if r.IntN(10) == 0 {
			return 0.5 * r.NormFloat64()
		}
		return 0.01 * r.NormFloat64()
	}},
	{"coarse", func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()) / 64 }},
}

// A/A: the test rejects as often as its attainable level says (1 − Confidence: 0.031
// at 6 rounds, 0.042 at 12, 0.049 at 24) and never more often, whatever the noise;
// the interval covers the true ratio in all other cases. With 2000 experiments at a
// chance q ≤ 0.05 the standard deviation is √(q(1−q)/2000) ≤ 0.0049; four are 0.0195.
func TestCalibrationOfPaired(t *testing.T) {
	simulated(t)
	const experiments, tolerance = 2000, 0.0195
	for _, noise := range noises {
		for _, rounds := range []int{6, 12, 24} {
			t.Run(fmt.Sprintf("%s/%d", noise.name, rounds), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(rounds)))
				rejected, covered, level := 0, 0, 0.0
				logs := make([]float64, rounds)
				for range experiments {
					for i := range logs {
						logs[i] = noise.draw(r)
					}
					e := mustPaired(t, logs, 0.95)
					level = 1 - e.Confidence
					if v := Decide(e, 0, HigherIsFaster); v == Faster || v == Slower {
						rejected++
					}
					if e.Low <= 1 && 1 <= e.High {
						covered++
					}
				}
				share := float64(rejected) / experiments
				if share > level+tolerance {
					t.Errorf("false alarms in %.4f, want at most %.4f", share, level)
				}
				if share < level-tolerance && noise.name != "coarse" { // ties make it cautious
					t.Errorf("false alarms in only %.4f, want %.4f", share, level)
				}
				if got := float64(covered) / experiments; got < 0.95-tolerance {
					t.Errorf("the interval covers in %.4f, want 0.95", got)
				}
			})
		}
	}
}

// The interval of a sample's median covers the true median at least as often as it
// says, also for skewed values. Tolerance as above.
func TestCalibrationOfSummary(t *testing.T) {
	const experiments, tolerance = 2000, 0.0195
	for _, n := range []int{6, 9, 20} {
		r := rand.New(rand.NewPCG(2, uint64(n)))
		covered, confidence := 0, 0.0
		values := make([]float64, n)
		for range experiments {
			for i := range values {
				values[i] = r.ExpFloat64() // median ln 2
			}
			s, err := NewSample(values)
			testenv.Must(t, err)
			sum, err := s.Summary(0.95)
			testenv.Must(t, err)
			confidence = sum.Confidence
			if sum.MedianLow <= math.Ln2 && math.Ln2 <= sum.MedianHigh {
				covered++
			}
		}
		if got := float64(covered) / experiments; math.Abs(got-confidence) > tolerance {
			t.Errorf("n=%d: covers in %.4f, want %.4f", n, got, confidence)
		}
	}
}

// The intervals of five metrics together hold all true ratios in at least 95% of the
// experiments, where five at 95% each, 95.8% at 12 rounds, would in 0.958⁵ = 81%.
func TestCalibrationOfAmong(t *testing.T) {
	simulated(t)
	const experiments, metrics, tolerance = 2000, 5, 0.0195 // four times √(0.05·0.95/2000)
	r := rand.New(rand.NewPCG(3, 3))
	all := 0
	for range experiments {
		held := true
		for range metrics {
			logs := make([]float64, 12)
			for i := range logs {
				logs[i] = r.NormFloat64()
			}
			e := mustPaired(t, logs, 1-0.05/metrics)
			held = held && e.Low <= 1 && 1 <= e.High
		}
		if held {
			all++
		}
	}
	if share := float64(all) / experiments; share < 0.95-tolerance {
		t.Errorf("all intervals hold the ratio in %.4f of the experiments, want 0.95", share)
	}
}
