package load

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
)

func TestPlacesOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		figures []float64
		ranks   []float64
	}{
		{[]float64{5, 7}, []float64{-0.5, 0.5}},
		{[]float64{7, 5, 6}, []float64{1, -1, 0}},
		{[]float64{2, 1, 2}, []float64{0.5, -1, 0.5}}, // ranks 2.5, 1, 2.5
		{[]float64{3, 3, 3, 3}, []float64{0, 0, 0, 0}},
	} {
		for i, p := range placesOf(tt.figures) {
			if p.Ranks != tt.ranks[i] {
				t.Errorf("%v: rank %v of number %d, want %v", tt.figures, p.Ranks, i, tt.ranks[i])
			}
		}
	}
	if p := placesOf([]float64{1, 2, 8, 16}); math.Abs(p[3].LogRatios-math.Log(4)) > 1e-12 { // the median of 2 and 8 is 4
		t.Errorf("%v", p)
	}
}

// Two generators, 30 samples: 25 in one order are an excess of 10, which has a chance of at most
// 2·exp(−6·100 ÷ (30·3)) = 0.25%, times 4 tests 1.0%: above the level; 26 are 0.06%.
func TestOddOfTwo(t *testing.T) {
	t.Parallel()
	for orders, want := range map[int]bool{24: false, 25: false, 26: true, 30: true} {
		p := Place{Ranks: float64(orders) - 15, LogRatios: 30 * math.Log(1.2)}
		if got := p.odd(30, 2); got != want {
			t.Errorf("%d of 30 in one order: %v", orders, got)
		}
	}
	if p := (Place{Ranks: 15, LogRatios: 30 * math.Log(1.09)}); p.odd(30, 2) {
		t.Error("9% is said to matter")
	}
}

// simulated are the standings of n generators over so many samples; the last generator is slower by a factor.
func simulated(random *rand.Rand, noise func(*rand.Rand) float64, n, samples int, slower float64) *Result {
	r := &Result{Generators: make([]Generator, n)}
	for i := range r.Generators {
		r.Generators[i].Name = fmt.Sprintf("w%d", i)
	}
	for range samples {
		response := make([]float64, n)
		for i := range response {
			response[i] = noise(random)
		}
		response[n-1] *= slower
		for i, p := range placesOf(response) {
			r.Generators[i].Standing.add(Standing{Samples: 1, Response: p, Throughput: Place{-p.Ranks, -p.LogRatios}})
		}
	}
	return r
}

// Equal generators are named in at most 1% of runs, whatever their noise; the bound on the chance is loose, so
// in practice far fewer. One that is 30% slower is found, and no other is mistaken for it.
func TestDiffersIsSeldomWrong(t *testing.T) {
	t.Parallel()
	for name, noise := range map[string]func(*rand.Rand) float64{
		"lognormal":    func(r *rand.Rand) float64 { return math.Exp(0.3 * r.NormFloat64()) },
		"rare stalls":  func(r *rand.Rand) float64 { return 1 + math.Pow(r.Float64(), -0.8) },
		"equal often":  func(r *rand.Rand) float64 { return float64(1 + r.IntN(3)) },
		"exponential":  func(r *rand.Rand) float64 { return 0.01 + r.ExpFloat64() },
		"heavy-tailed": func(r *rand.Rand) float64 { return math.Exp(2 * r.NormFloat64()) },
	} {
		for _, n := range []int{2, 3, 10, 100} {
			const runs = 400
			random, alarms := rand.New(rand.NewPCG(1, uint64(n))), 0
			for range runs {
				if simulated(random, noise, n, batches, 1).differs() != nil {
					alarms++
				}
			}
			// Of 400 runs at 1% there are over 12 with a chance of 0.001.
			if alarms > 12 {
				t.Errorf("%s: %d of %d runs of %d equal generators have an odd one", name, alarms, runs, n)
			}
		}
	}
	random := rand.New(rand.NewPCG(2, 3))
	for _, n := range []int{2, 3, 10, 1000} {
		r := simulated(random, func(r *rand.Rand) float64 { return math.Exp(0.1 * r.NormFloat64()) }, n, batches, 1.3)
		last := fmt.Sprintf("w%d (its mean response time was 1.", n-1)
		if w := r.differs(); w == nil || !strings.HasPrefix(w.Text, fmt.Sprintf("1 of %d workers differ from the others: %s", n, last)) {
			t.Errorf("of %d the last is 30%% slower: %v", n, w)
		}
	}
	if w := simulated(random, func(r *rand.Rand) float64 { return math.Exp(0.1 * r.NormFloat64()) }, 3, 1, 9).differs(); w != nil {
		t.Errorf("said of one sample: %v", w)
	}
}

// A run is divided into 30 samples, a short one is a sample of several. The warnings of the combined result name
// the one generator that is slower, with its own response times.
func TestTogetherNamesTheOddOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := func(took, length time.Duration) *Result {
			r, err := Run(t.Context(), "x", takes(took), Plan{VUs: 1, Duration: length})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		plan := Plan{VUs: 3, Duration: 20 * time.Second}
		parts := []Part{{Generator{Name: "a"}, run(10*time.Millisecond, plan.Duration)}, {Generator{Name: "b"}, run(10*time.Millisecond, plan.Duration)},
			{Generator{Name: "c"}, run(15*time.Millisecond, plan.Duration)}}
		sum := Together(plan, "", parts)
		g := sum.Generators[2]
		if g.Standing.Samples != batches || g.Standing.Response.Ranks != 30 || sum.Generators[0].Standing.Response.Ranks != -15 {
			t.Errorf("%+v", sum.Generators) // ranks 1.5, 1.5 and 3: −0.5, −0.5 and 1 off the middle
		}
		if !finding.WorkerDiffers.In(sum.Warnings) || sum.differs().Text != "1 of 3 workers differ from the others: c (its mean response time was 1.50 times the median worker's)" {
			t.Errorf("%v", sum.Warnings)
		}
		h := HeatmapOfGenerators(sum.Generators)
		if len(h.Columns) != 3 || h.Edges[0] > 10*time.Millisecond || h.Edges[len(h.Edges)-1] < 15*time.Millisecond || h.measured() != sum.Completed {
			t.Errorf("%+v", h)
		}
		short := Together(plan, "", []Part{{Generator{Name: "a"}, run(10*time.Millisecond, time.Second)}, {Generator{Name: "b"}, run(15*time.Millisecond, time.Second)}})
		if short.Generators[0].Standing.Samples != 1 || short.differs() != nil {
			t.Errorf("%+v", short.Generators)
		}
		var all []Generator
		for range 40 {
			all = mergeGenerators(all, short.Generators)
		}
		if w := (&Result{Generators: all}).differs(); w == nil || !strings.Contains(w.Text, "b (its mean response time was 1.50 times the other's)") {
			t.Errorf("forty blocks: %v", w)
		}
	})
}

// takes is a target that takes so long.
type takes time.Duration

func (d takes) NewVU(context.Context, int) (VU, error) { return d, nil }

func (d takes) Do(ctx context.Context) (Outcome, error) {
	time.Sleep(time.Duration(d))
	return Outcome{}, nil
}
