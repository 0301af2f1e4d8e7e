package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// courses draws one slice of blocks per round: 1000 with noise of the given size in which
// neighbours correlate by 0.7, bent by a shape that is drawn for each round.
func courses(r *rand.Rand, rounds, blocks int, noise float64, draw func(*rand.Rand) func(at float64) float64) [][]float64 {
	all := make([][]float64, rounds)
	for i := range all {
		shape := draw(r)
		all[i] = moods(r, blocks, 0.7)
		for b, x := range all[i] {
			all[i][b] = 1000 * shape(float64(b)/float64(blocks)) * math.Exp(noise*x)
		}
	}
	return all
}

func always(shape func(float64) float64) func(*rand.Rand) func(float64) float64 {
	return func(*rand.Rand) func(float64) float64 { return shape }
}

// Strongly correlated noise of 10% is called unsteady in at most 1% by each of the two
// tests. 150 courses each of nine sizes; at 0.01 that is 0.01 + 4·√(0.01·0.99/1350) = 0.0208.
func TestCalibrationOfCourse(t *testing.T) {
	simulated(t)
	const experiments = 150
	alarms, all := 0, 0
	for _, rounds := range []int{4, 8, 12} {
		for _, blocks := range []int{8, 20, 30} {
			r := rand.New(rand.NewPCG(uint64(rounds), uint64(blocks)))
			for range experiments {
				alarms += len(Course(courses(r, rounds, blocks, 0.1, always(flat)), 0.05))
				all++
			}
		}
	}
	share := float64(alarms) / float64(all)
	t.Logf("steady courses with noise of 10%%, correlated by 0.7: called unsteady in %.2f%% of %d", 100*share, all)
	if share > 0.0208 {
		t.Errorf("false alarms in %.4f, want at most 0.01", share)
	}
}

func TestCourseFinds(t *testing.T) {
	simulated(t)
	tests := []struct {
		name, want     string
		rounds, blocks int
		noise          float64
		draw           func(r *rand.Rand) func(float64) float64
	}{
		{"leak of 15% in each round", "which repeats over 12 rounds", 12, 8, 0.05, always(ramp(-0.15))},
		{"warm-up of the first third", "which repeats over 12 rounds", 12, 16, 0.05, always(func(at float64) float64 {
			return 1 - 0.5*math.Exp(-6*at)
		})},
		{"oscillation of ±30%", "an oscillation", 8, 40, 0.05, func(r *rand.Rand) func(float64) float64 {
			periods, phase := 2+4*r.Float64(), r.Float64()
			return func(at float64) float64 { return 1 + 0.3*math.Sin(2*math.Pi*(periods*at+phase)) }
		}},
		{"step of 30%, up or down", "rounds changed within themselves", 8, 30, 0.1, func(r *rand.Rand) func(float64) float64 {
			return step(0.3*float64(1-2*r.IntN(2)), 0.3+0.4*r.Float64())
		}},
	}
	for _, tt := range tests {
		r := rand.New(rand.NewPCG(14, 14))
		found := 0
		for range 50 {
			ws := Course(courses(r, tt.rounds, tt.blocks, tt.noise, tt.draw), 0.05)
			if len(ws) == 1 && ws[0].Code == "not_steady" && strings.Contains(ws[0].Text, tt.want) {
				found++
			}
		}
		t.Logf("%s, %d rounds of %d blocks: found in %d of 50", tt.name, tt.rounds, tt.blocks, found)
		if found < 45 {
			t.Errorf("%s: found in %d of 50", tt.name, found)
		}
	}
}

// A machine that loses 15% over the whole experiment, 1% in each of 15 rounds, is not the
// arm's doing and is removed by pairing.
func TestCourseIgnoresTheDriftOfTheMachine(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	rounds := courses(r, 15, 16, 0.02, always(flat))
	for i, blocks := range rounds {
		for b := range blocks {
			blocks[b] *= 1 - 0.01*(float64(i)+float64(b)/16)
		}
	}
	if ws := Course(rounds, 0.05); ws != nil {
		t.Errorf("%v", ws)
	}
}

func TestCourseText(t *testing.T) {
	// 1.1 times per block over 5 blocks: 1.1⁴ = 1.4641
	rising := slices.Repeat([][]float64{{1, 1.1, 1.21, 1.331, 1.4641}}, 8)
	ws := Course(rising, 0.05)
	if len(ws) != 1 || ws[0].Text != "not steady: a change of +46.4% from the start of a round to its end, which repeats over 8 rounds" {
		t.Errorf("%v", ws)
	}
	if ws = Course(rising, 0.47); ws != nil {
		t.Errorf("tolerance 0.47: %v", ws)
	}
	if ws = Course(rising[:7], 0.05); len(ws) != 1 { // all 7 agree, 2/2⁷ = 0.016
		t.Errorf("7 rounds: %v", ws)
	}
	if ws = Course(rising[:6], 0.05); ws != nil {
		t.Errorf("6 rounds: %v", ws)
	}
	square := make([]float64, 40)
	for i := range square {
		square[i] = 90 + 40*float64(i/20)
	}
	falling := slices.Clone(square)
	slices.Reverse(falling)
	// 3 of 3 is chance at 0.25³ = 0.016, 4 of 4 is not at 0.004
	if ws = Course([][]float64{square, falling, square}, 0.05); ws != nil {
		t.Errorf("3 rounds: %v", ws)
	}
	ws = Course([][]float64{square, falling, square, falling}, 0.05)
	if len(ws) != 1 || !strings.HasPrefix(ws[0].Text, "not steady: 4 of 4 rounds changed within themselves, the last with a ") {
		t.Errorf("4 rounds: %v", ws)
	}
}

func TestCourseCannotJudge(t *testing.T) {
	for name, rounds := range map[string][][]float64{
		"nothing":      nil,
		"empty rounds": make([][]float64, 20),
		"too short":    slices.Repeat([][]float64{{1, 2, 3}}, 20),
		"zero":         slices.Repeat([][]float64{make([]float64, 20)}, 20),
		"not finite":   slices.Repeat([][]float64{append(slices.Repeat([]float64{1}, 20), math.Inf(1))}, 20),
		"too many":     slices.Repeat([][]float64{{1, 2, 3, 4}}, 3000),
	} {
		if ws := Course(rounds, 0.05); ws != nil {
			t.Errorf("%s: %v", name, ws)
		}
	}
}
