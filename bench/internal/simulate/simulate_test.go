package simulate

import (
	"math"
	"math/rand/v2"
	"testing"

	"contend/stat"
)

// seed of every figure here.
const seed = 1

func TestCoverage(t *testing.T) {
	for _, noise := range Noises() {
		for _, rounds := range []int{6, 12, 24} {
			got := Coverage(noise, rounds, 1000, seed)
			t.Logf("%s, %d rounds: the 95 %% interval covers in %.1f %% of 1000 (seed %d)", noise.Name, rounds, 100*got, seed)
			if got < 0.936 {
				t.Errorf("%s, %d rounds: covers in %.3f, want at least 0.936", noise.Name, rounds, got)
			}
		}
	}
}

func TestPower(t *testing.T) {
	for _, margin := range []float64{0, 0.02} {
		p := Planted{Difference: 0.02, Spread: 0.03, Rounds: 30, Margin: margin}
		got := Power(p, 1000, seed)
		t.Logf("%+v: found in %.1f %% of 1000 (seed %d)", p, 100*got, seed)
		if got < 0.9 {
			t.Errorf("found in %.3f, want at least 0.9", got)
		}
	}
}

func TestWidths(t *testing.T) {
	for _, rounds := range []int{6, 12, 24} {
		o := Widths(rounds, 300, seed)
		t.Logf("%d rounds: interleaved %.4f, blocked %.4f: %.2f of the width; they cover in %.1f and %.1f %% (seed %d)", rounds,
			o.Interleaved, o.Blocked, o.Interleaved/o.Blocked, 100*o.InterleavedCoverage, 100*o.BlockedCoverage, seed)
		if o.Interleaved > o.Blocked/2 {
			t.Errorf("%d rounds: interleaved intervals are %.2f of the blocked ones, want at most half", rounds, o.Interleaved/o.Blocked)
		}
	}
}

func TestSteady(t *testing.T) {
	right, all := 0, 0
	for _, s := range Shapes() {
		ten, many := SteadyRight(s, 10, seed), SteadyRight(s, 1000, seed+1)
		t.Logf("%s: %d of 10 right (seed %d), %d of 1000 (seed %d)", s.Name, ten, seed, many, seed+1)
		right += ten
		all += many
	}
	if right < 45 {
		t.Errorf("%d of 50 series right, want at least 45", right)
	}
	if all < 4500 {
		t.Errorf("%d of 5000 series right, want at least 4500", all)
	}
}

// looks are those at these rounds: of the level they may spend what a function of their share of 100
// rounds says, and all of it at the last.
func looks(spent func(share float64) float64, rounds ...int) (list []stat.Look) {
	for _, n := range rounds {
		list = append(list, stat.Look{Rounds: n, Spent: spent(float64(n) / 100)})
	}
	list[len(list)-1].Spent = 1
	return list
}

// A false alarm over all looks in at most 5 %, whatever the noise; 2000 experiments at
// 0.05 have a standard deviation of 0.0049, and three are granted.
func TestSequential(t *testing.T) {
	noises := map[string]func(*rand.Rand) float64{
		"normal": func(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() },
		"heavy":  func(r *rand.Rand) float64 { return 0.01 * r.NormFloat64() / math.Max(0.01, r.Float64()) },
		"coarse": func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()) / 64 },
	}
	evenly := func(share float64) float64 { return share * 100 / 24 }
	for _, looks := range [][]stat.Look{looks(evenly, 6, 8, 12, 16, 24), looks(math.Cbrt, 7, 8, 10, 13, 17, 22, 28, 34)} {
		for name, noise := range noises {
			l, err := Sequential(looks, noise, 2000, seed)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, looks at %v: false alarms in %.1f %%, all intervals cover in %.1f %%; at the full level each time %.1f %% (seed %d)",
				name, looks, 100*l.FalseAlarms, 100*l.Coverage, 100*l.Naive, seed)
			if l.FalseAlarms > 0.0647 || l.Coverage < 0.9353 {
				t.Errorf("%s, looks at %v: %+v, want at most 5 %% and at least 95 %%", name, looks, l)
			}
		}
	}
}

// Looking early finds nearly what a plan of 40 rounds finds, in fewer of them, and overstates it by less than a fifth of a
// round's spread.
func TestLookEarly(t *testing.T) {
	looks := looks(math.Cbrt, 7, 8, 10, 13, 17, 22, 28, 34, 40)
	for _, d := range []float64{0.3, 0.5, 0.72, 1, 1.5} {
		e, err := LookEarly(looks, d, 1000, seed)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.2f: %.0f %% as planned, %.0f %% early, after %.1f rounds, too large by %.2f", d, 100*e.Planned, 100*e.Found, e.Rounds, e.TooLarge)
		if e.Found < e.Planned-0.15 || e.Rounds >= 40 || e.TooLarge > 0.2 {
			t.Errorf("%.2f: %+v", d, e)
		}
	}
}
