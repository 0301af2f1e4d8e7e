package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"contend/internal/testenv"
)

// One look has the whole level: the statistics that Paired would reject at it anyway.
func TestSequentialLevelsOfOneLook(t *testing.T) {
	for _, rounds := range []int{1, 5, 6, 12, 24, 64, 65, 300} {
		levels, err := SequentialLevels([]Look{{rounds, 1}}, 0.05)
		testenv.Must(t, err)
		w := newWalsh(pilot(rounds, 0, 1), nil)
		if got, want := w.depth(levels[0]), w.depth(0.05); got != want {
			t.Errorf("%d rounds: level %g leaves out %d, want %d", rounds, levels[0], got, want)
		}
	}
}

// Six rounds, least p 2/64 = 0.031, may not yet be decided; eight that agree, 2/256 =
// 0.008, may; and the last look keeps most of the level.
func TestSequentialLevelsAreUsable(t *testing.T) {
	looks := []int{6, 8, 12, 16, 24}
	levels, err := SequentialLevels(evenly(looks), 0.05)
	testenv.Must(t, err)
	if again, _ := SequentialLevels(evenly(looks), 0.05); !slices.Equal(levels, again) {
		t.Errorf("%v, then %v", levels, again)
	}
	for k, wantBounded := range []bool{false, true, true, true, true} {
		e := mustPaired(t, pilot(looks[k], 5, 1), 1-levels[k])
		if e.Bounded() != wantBounded {
			t.Errorf("%d rounds at %g: bounded %v", looks[k], levels[k], e.Bounded())
		}
		if wantBounded && Decide(e, 0, HigherIsFaster) != Faster {
			t.Errorf("%d rounds that all agree: %+v", looks[k], e)
		}
	}
	if levels[4] < 0.015 || levels[4] >= 0.05 {
		t.Errorf("level of the last look %g", levels[4])
	}
}

// Played again with other random numbers and the statistic recomputed from Walsh
// averages. 10000 experiments have a standard deviation of 0.0022 at 0.05, and of 0.0008
// at 0.05 ÷ 8, the level of one of eight metrics that share it.
func TestSequentialLevelsHold(t *testing.T) {
	const experiments = 10000
	for _, tt := range []struct {
		looks             []int
		level, least, off float64
	}{
		{[]int{6, 8, 12, 16, 24}, 0.05, 0.035, 3 * 0.0022},
		{[]int{8, 12, 16}, 0.05, 0.035, 3 * 0.0022},
		{[]int{5, 6, 7, 8, 9, 10}, 0.05, 0.035, 3 * 0.0022},
		{[]int{6, 8, 11, 15, 20, 26, 30}, 0.00625, 0.003, 3 * 0.0008},
	} {
		levels, err := SequentialLevels(evenly(tt.looks), tt.level)
		testenv.Must(t, err)
		depths := make([]int, len(tt.looks)) // fewer Walsh averages on one side are an alarm
		for k, rounds := range tt.looks {
			depths[k] = newWalsh(make([]float64, rounds), nil).depth(levels[k])
		}
		r := rand.New(rand.NewPCG(11, 11))
		alarms := 0
		for range experiments {
			if alarmed(r, tt.looks, depths) {
				alarms++
			}
		}
		if share := float64(alarms) / experiments; share > tt.level+tt.off || share < tt.least {
			t.Errorf("looks at %v: false alarms in %.4f, want %g to %g", tt.looks, share, tt.least, tt.level)
		} else {
			t.Logf("looks at %v, levels %.4f: false alarms in %.2f%% of %d", tt.looks, levels, 100*share, experiments)
		}
	}
}

func alarmed(r *rand.Rand, looks, depths []int) bool {
	var logs []float64
	positive, pairs := 0, 0
	for k, rounds := range looks {
		for len(logs) < rounds {
			logs = append(logs, r.NormFloat64())
			for _, earlier := range logs {
				pairs++
				if earlier+logs[len(logs)-1] > 0 {
					positive++
				}
			}
		}
		if min(positive, pairs-positive) < depths[k] {
			return true
		}
	}
	return false
}

// Beyond 64 rounds the looks are added up: what Paired really spends at them is at most
// the level.
func TestSequentialLevelsOfManyRounds(t *testing.T) {
	simulated(t)
	looks := []int{100, 150, 200}
	levels, err := SequentialLevels(evenly(looks), 0.05)
	testenv.Must(t, err)
	spent := 0.0
	for k, rounds := range looks {
		tail := signedRankTail(rounds)
		spent += 2 * tail[newWalsh(make([]float64, rounds), nil).depth(levels[k])-1]
	}
	if spent > 0.05 || spent < 0.049 {
		t.Errorf("levels %v spend %g", levels, spent)
	}
	many := []int{6, 8, 11, 15, 20, 26, 34, 45, 60, 80, 106, 141, 188, 250, 333, 444, 592, 789, 1000}
	levels, err = SequentialLevels(evenly(many), 0.05)
	if err != nil || len(levels) != len(many) {
		t.Fatalf("%v, %v", levels, err)
	}
	for k, level := range levels {
		if checkConfidence(1-level) != nil || level > 0.05 {
			t.Errorf("look at %d rounds: level %g", many[k], level)
		}
	}
}

// What a look alone spends is at most what may be spent by then, even if the event is
// too rare to be simulated: 2/2¹⁵ = 0.00006 at 16 rounds may not occur in 131072
// experiments.
func TestSequentialLevelsOfRareEvents(t *testing.T) {
	looks := []int{8, 16, 24, 32}
	for _, level := range []float64{0.00625, 1e-4, 1e-5, 1e-6} {
		levels, err := SequentialLevels(evenly(looks), level)
		testenv.Must(t, err)
		spent := 0.0
		for k, rounds := range looks {
			w := newWalsh(make([]float64, rounds), nil)
			if depth := w.depth(levels[k]); depth > 0 {
				spent = 2 * w.tail[depth-1]
			}
			if budget := level * float64(rounds) / 32; spent > budget {
				t.Errorf("level %g: the look at %d rounds spends %g of %g", level, rounds, spent, budget)
			}
		}
		if spent == 0 {
			t.Errorf("level %g: nothing is ever significant", level)
		}
	}
}

func TestSequentialLevelsRefuses(t *testing.T) {
	for _, tt := range []struct {
		looks []Look
		level float64
	}{
		{nil, 0.05}, {[]Look{{0, 0.5}, {6, 1}}, 0.05}, {[]Look{{6, 0.5}, {6, 1}}, 0.05}, {[]Look{{8, 0.5}, {6, 1}}, 0.05},
		{[]Look{{6, 0.5}, {2001, 1}}, 0.05}, {[]Look{{6, 0}}, 0.05}, {[]Look{{6, 1.01}}, 0.05}, {[]Look{{6, 0.5}, {8, 0.5}}, 0.05},
		{[]Look{{6, math.NaN()}}, 0.05}, {[]Look{{6, 1}}, 0}, {[]Look{{6, 1}}, 9e-7}, {[]Look{{6, 1}}, 0.95}, {[]Look{{6, 1}}, 5},
	} {
		if levels, err := SequentialLevels(tt.looks, tt.level); err == nil {
			t.Errorf("%v at %g: %v", tt.looks, tt.level, levels)
		}
	}
}

// evenly spends the level as the rounds come in.
func evenly(rounds []int) []Look { return shares(rounds, rounds[len(rounds)-1]) }

// shares spends the share of the rounds in the most there can be.
func shares(rounds []int, most int) []Look {
	looks := make([]Look, len(rounds))
	for i, n := range rounds {
		looks[i] = Look{n, float64(n) / float64(most)}
	}
	return looks
}

// Time leaves 17 of at most 40 rounds: the looks before have the levels that they had
// when 40 were to come, and the last one spends what is left.
func TestSequentialLevelsWhenTimeIsUp(t *testing.T) {
	rounds := []int{11, 13, 16, 17}
	planned, err := SequentialLevels(shares(rounds[:3], 40), 0.05)
	testenv.Must(t, err)
	looks := shares(rounds, 40)
	looks[3].Spent = 1
	levels, err := SequentialLevels(looks, 0.05)
	if err != nil || !slices.Equal(levels[:3], planned) {
		t.Errorf("%v, want %v and another: %v", levels, planned, err)
	}
	depths := make([]int, len(rounds))
	for k, n := range rounds {
		depths[k] = newWalsh(make([]float64, n), nil).depth(levels[k])
	}
	const experiments = 10000
	random := rand.New(rand.NewPCG(12, 12))
	alarms := 0
	for range experiments {
		if alarmed(random, rounds, depths) {
			alarms++
		}
	}
	if share := float64(alarms) / experiments; share > 0.05+3*0.0022 || share < 0.035 {
		t.Errorf("false alarms in %.4f, want 0.035 to 0.05", share)
	}
}
