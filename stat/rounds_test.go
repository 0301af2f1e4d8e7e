package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// pilot is n log-ratios with exactly normal quantiles around d: no luck in it.
func pilot(n int, d, sd float64) []float64 {
	logs := make([]float64, n)
	for i := range logs {
		p := (float64(i) + 0.5) / float64(n)
		logs[i] = d + sd*math.Sqrt2*math.Erfinv(2*p-1)
	}
	return logs
}

// With spread s and effect d: to exclude 1 at 95% with power 90% a normal sample
// needs (1.960+1.282)² = 10.51 times (s/d)², the signed-rank test π/3 as many (its
// efficiency is 3/π), plus 1.96²/2 = 1.92.
func TestRoundsNeeded(t *testing.T) {
	const have = 400 // the interval of so many normal rounds gives s·√(π/3) within 2%
	tests := []struct {
		name          string
		effect, sd    float64
		margin, power float64
		want          float64 // in all
	}{
		// 10.51·(3/2)²·1.047 + 1.92 = 26.7
		{"2% at 3%", 0.02, 0.03, 0, 0.9, 26.7},
		// 7.85·(5/2)²·1.047 + 1.92 = 53.3
		{"2% at 5%, power 80%", 0.02, 0.05, 0, 0.8, 53.3},
		// within: z(0.9) = 1.645, (1.960+1.645)² = 13.0, L = ln 1.02 = 0.0198:
		// 13.0·(2/1.98)²·1.047 + 1.92 = 15.8
		{"no effect, margin 2%", 0, 0.02, 0.02, 0.9, 15.8},
		// exclude: 10.51·(3/0.5)²·1.047 = 396; within: 13.0·(3/1.48)²·1.047 + 1.92 = 57.8
		// 13.0·(30/1.98)²·1.047 + 1.92 = 3,127, more than can be run
		{"equal but noisy, margin 2%", 0, 0.3, 0.02, 0.9, 3127},
		{"small effect, margin 2%", 0.005, 0.03, 0.02, 0.9, 57.8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			logs := pilot(have, tt.effect, tt.sd)
			w := newWalsh(logs, nil)
			if got, want := w.spread(0.05), tt.sd*math.Sqrt(math.Pi/3); math.Abs(got/want-1) > 0.02 {
				t.Errorf("spread %g, want %g within 2%%", got, want)
			}
			// fewer rounds with the same spread: what is asked for is a total
			more, ok := RoundsNeeded(pilot(12, tt.effect, tt.sd*1.03), nil, tt.margin, 0.95, tt.power)
			if !ok || math.Abs(float64(12+more)/tt.want-1) > 0.25 {
				t.Errorf("12 rounds and %d more (%v), want %g in all within a quarter", more, ok, tt.want)
			}
		})
	}
}

func TestRoundsNeededEdges(t *testing.T) {
	tests := []struct {
		name     string
		logs     []float64
		margin   float64
		power    float64
		wantMore int
		wantOK   bool
	}{
		{"one round tells no spread", []float64{0.1}, 0.02, 0.9, 0, false},
		{"no rounds", nil, 0.02, 0.9, 0, false},
		{"not finite", []float64{1, math.NaN()}, 0.02, 0.9, 0, false},
		{"power is not a probability", []float64{1, 2}, 0.02, 90, 0, false},
		// two rounds without spread: the floor of six rounds remains
		{"identical", []float64{0.1, 0.1}, 0.02, 0.9, 4, true},
		{"identical, no effect, no margin", []float64{0, 0}, 0, 0.9, 4, true},
		// no effect and nothing counts as equal: no number of rounds will do
		{"hopeless", []float64{-0.1, 0.1, -0.2, 0.2}, 0, 0.9, 0, false},
		// 3.24·0.05/0 is more than any limit
		{"too many", []float64{-0.05, 0.05, -0.05, 0.05, 0.05, -0.05, 0.006}, 0, 0.9, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			more, ok := RoundsNeeded(tt.logs, nil, tt.margin, 0.95, tt.power)
			if more != tt.wantMore || ok != tt.wantOK {
				t.Errorf("got %d, %v; want %d, %v", more, ok, tt.wantMore, tt.wantOK)
			}
		})
	}
}

// A wider margin never asks for more rounds; the answer is at least 1 and reaches the
// least number of rounds that can have a verdict.
func TestRoundsNeededProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawRounds(t)
		narrow, okNarrow := RoundsNeeded(logs, nil, 0.01, 0.95, 0.9)
		wide, okWide := RoundsNeeded(logs, nil, 0.05, 0.95, 0.9)
		if okNarrow && (!okWide || wide > narrow) {
			t.Fatalf("%d rounds (%v) for 1%%, %d (%v) for 5%%", narrow, okNarrow, wide, okWide)
		}
		if okWide && (wide < 1 || len(logs)+wide < 6 || len(logs)+wide > maxPlannedRounds+len(logs)) {
			t.Fatalf("%d rounds and %d more", len(logs), wide)
		}
	})
}

// The table of docs/statistics.md, as far as it is cheap to play through: with so many
// normal rounds a true difference is found with a power of 90%. 1000 experiments at a
// chance of 0.9 have a standard deviation of √(0.9·0.1/1000) = 0.0095; three are 0.028.
func TestTableOfRounds(t *testing.T) {
	simulated(t)
	r := rand.New(rand.NewPCG(7, 7))
	for _, tt := range []struct {
		effect, spread float64
		rounds         int
	}{
		{0.01, 0.01, 14}, {0.01, 0.02, 46},
		{0.02, 0.01, 7}, {0.02, 0.02, 14}, {0.02, 0.03, 27},
		{0.05, 0.01, 6}, {0.05, 0.02, 6}, {0.05, 0.03, 7}, {0.05, 0.05, 14},
	} {
		found := 0
		logs := make([]float64, tt.rounds)
		for range 1000 {
			for i := range logs {
				logs[i] = tt.effect + tt.spread*r.NormFloat64()
			}
			if Decide(mustPaired(t, logs, 0.95), 0, HigherIsFaster) == Faster {
				found++
			}
		}
		if share := float64(found) / 1000; share < 0.9-0.028 {
			t.Errorf("%g at a spread of %g: found in %.3f with %d rounds, want 0.9", tt.effect, tt.spread, share, tt.rounds)
		}
	}
}

// The rounds needed for 2% at a spread of 3% are those of the table, and enough at
// least nine times in ten there.
func TestRoundsNeededAgreesWithTheTable(t *testing.T) {
	more, ok := RoundsNeeded(pilot(24, 0.02, 0.03*1.015), nil, 0, 0.95, 0.9)
	if !ok || 24+more < 26 || 24+more > 28 {
		t.Errorf("24 rounds and %d more (%v), want 27 in all", more, ok)
	}
}

// Spread ÷ √rounds is the standard error of the ratio: for many normal rounds s·√(π/3).
func TestSpread(t *testing.T) {
	if got, want := Spread(pilot(400, 0.02, 0.03), 0.95), 0.03*math.Sqrt(math.Pi/3); math.Abs(got/want-1) > 0.02 {
		t.Errorf("spread %g, want %g", got, want)
	}
	for name, got := range map[string]float64{
		"one round":  Spread([]float64{1}, 0.95),
		"no round":   Spread(nil, 0.95),
		"not finite": Spread([]float64{1, math.NaN()}, 0.95),
		"confidence": Spread([]float64{1, 2}, 95),
		"constant":   Spread([]float64{1, 1, 1}, 0.95),
	} {
		if got != 0 {
			t.Errorf("%s: %g, want 0", name, got)
		}
	}
	if got := Spread([]float64{0.01, 0.02, 0.03}, 0.95); !(got > 0) {
		t.Errorf("3 rounds: %g", got)
	}
}

func TestSmallest(t *testing.T) {
	tests := []struct {
		spread            float64
		rounds            int
		confidence, power float64
		want              float64
	}{
		{0.03, 30, 0.95, 0.9, 0.01852},    // 95.01%: (1.961+1.282)·0.03/√(30−1.92) = 0.01836
		{0.03, 12, 0.95, 0.9, 0.03200},    // 95.75%: (2.029+1.282)·0.03/√(12−2.06) = 0.03150
		{0.03, 6, 0.95, 0.9, 0.06535},     // all six agree: z₁(0.9^(1/6) = 0.98259) = 2.110: 0.0633
		{0.03, 6, 0.95, 0.5, 0.03729},     // z₁(0.5^(1/6) = 0.8909) = 1.2313: 0.03694; not 1.96·0.03/√4.08 = 0.029
		{0, 12, 0.95, 0.9, 0},             // nothing scatters
		{0.03, 5, 0.95, 0.9, math.Inf(1)}, // 2/2⁵ = 0.063
		{0.03, 7, 0.99, 0.9, math.Inf(1)}, // 2/2⁷ = 0.016
	}
	for _, tt := range tests {
		got := Smallest(tt.spread, tt.rounds, tt.confidence, tt.power)
		if got != tt.want && !(math.Abs(got-tt.want) < 0.0005) {
			t.Errorf("%+v: %.5f", tt, got)
		}
	}
}

// A difference of that size is found as often as promised. 2000 experiments at 0.9 have
// a standard deviation of 0.0067; three are 0.02. The signed-rank test needs π/3 as
// many rounds as a normal sample, which Spread includes and this spread does not.
func TestSmallestIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 16))
	for _, rounds := range []int{6, 7, 8, 12, 30} {
		effect := math.Log1p(Smallest(0.03*math.Sqrt(math.Pi/3), rounds, 0.95, 0.9))
		found := 0
		logs := make([]float64, rounds)
		for range 2000 {
			for i := range logs {
				logs[i] = effect + 0.03*r.NormFloat64()
			}
			if e := mustPaired(t, logs, 0.95); e.Low > 1 {
				found++
			}
		}
		share := float64(found) / 2000
		t.Logf("%d rounds, spread 3%%: %.2f%% is found in %.1f%%", rounds, 100*math.Expm1(effect), 100*share)
		if share < 0.88 || share > 0.96 {
			t.Errorf("%d rounds: found in %.3f, want 0.9", rounds, share)
		}
	}
}

// Smallest inverts RoundsNeeded, up to the steps of the confidence.
func TestSmallestInvertsRoundsNeeded(t *testing.T) {
	logs := pilot(12, 0.02, 0.03)
	more, ok := RoundsNeeded(logs, nil, 0, 0.95, 0.9)
	if !ok {
		t.Fatal("not ok")
	}
	effect := newWalsh(logs, nil).medianRatio() - 1
	if got := Smallest(Spread(logs, 0.95), 12+more, 0.95, 0.9); math.Abs(got/effect-1) > 0.03 {
		t.Errorf("%d rounds are asked for %g and find %g", 12+more, effect, got)
	}
}
