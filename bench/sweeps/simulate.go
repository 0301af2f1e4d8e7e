package main

import (
	"math"
	"math/rand/v2"

	"contend/stat"
	"contend/sweep"
	"contend/usl"
)

const (
	noise    = 0.03 // standard deviation of a visit, as a share of the throughput
	visits   = 3    // to each level, of the adaptive sweep and of the exhaustive one
	goodness = 0.95 // of the best throughput is what a recommendation must reach
	runShare = 1.0 / 3
	covered  = 0.93 // of the intervals of the optimum must hold it
)

// A server follows the law, with noise that is drawn anew in each visit.
type server struct {
	law    usl.Model
	random *rand.Rand
}

// randomServer has its peak at 3 to 300 VUs, evenly on a logarithmic scale, and a
// contention of 0 to 0.3, more often low.
func randomServer(random *rand.Rand) server {
	peak := 3 * math.Pow(100, random.Float64())
	alpha := 0.3 * random.Float64() * random.Float64()
	return server{usl.Model{Alpha: alpha, Beta: (1 - alpha) / (peak * peak), Gamma: 1000}, random}
}

func (s server) visit(level int) float64 {
	return s.law.Throughput(float64(level)) * (1 + noise*s.random.NormFloat64())
}

// swept is what the adaptive sweep of a server came to.
type swept struct {
	fit         *usl.Result
	recommended float64 // the optimum, or else the best measured level
	share       float64 // of the best true throughput at any level
	runs        int
	exhaustive  int // runs
}

// visitAll visits as sweep.Run does: the levels are chosen by a visit of their
// own, and only those after it count.
func visitAll(s server, seed uint64) (w swept, err error) {
	highest := 1
	levels, err := sweep.Design{Within: sweep.WithinBest}.Explore(0, func(n int) (float64, bool, error) {
		w.runs++
		highest = max(highest, n)
		return s.visit(n), true, nil
	})
	if err != nil {
		return w, err
	}
	var points []usl.Point
	for range visits {
		for _, n := range levels {
			points = append(points, usl.Point{N: float64(n), X: s.visit(n)})
		}
	}
	w.runs += len(points)
	if w.fit, err = usl.Fit(points, seed); err != nil {
		return w, err
	}
	best, err := usl.WithinOfBest(points, 0, seed)
	if err != nil {
		return w, err
	}
	w.recommended = best.N.Value
	if w.fit.Peak != nil {
		w.recommended = float64(w.fit.Peak.Optimum)
	}
	most := 0.0
	grid := exhaustiveLevels(highest)
	for _, n := range grid {
		most = max(most, s.law.Throughput(float64(n)))
	}
	w.exhaustive = visits * len(grid)
	w.share = s.law.Throughput(w.recommended) / most
	return w, nil
}

// exhaustiveLevels is every whole number up to 20, and from there steps of 5 %.
func exhaustiveLevels(highest int) []int {
	var levels []int
	for n := 1; n < highest; n = max(n+1, int(math.Round(1.05*float64(n)))) {
		levels = append(levels, n)
	}
	return append(levels, highest)
}

// Totals sum up simulated sweeps.
type totals struct {
	servers, good, peaks, held int
	worst                      float64 // share of the best throughput
	mostRuns                   float64 // share of the runs of the exhaustive sweep
	runs, exhaustive           int
}

func simulate(servers int, seed uint64) (totals, error) {
	random := rand.New(rand.NewPCG(seed, 7))
	t := totals{servers: servers, worst: 1}
	for i := range servers {
		s := randomServer(random)
		w, err := visitAll(s, seed+uint64(i))
		if err != nil {
			return t, err
		}
		if w.share >= goodness {
			t.good++
		}
		t.worst = min(t.worst, w.share)
		t.mostRuns = max(t.mostRuns, float64(w.runs)/float64(w.exhaustive))
		t.runs, t.exhaustive = t.runs+w.runs, t.exhaustive+w.exhaustive
		if w.fit.Peak == nil {
			continue
		}
		t.peaks++
		if peak, _ := s.law.Peak(); w.fit.Peak.N.Interval.Low <= peak && peak <= w.fit.Peak.N.Interval.High {
			t.held++
		}
	}
	return t, nil
}

// coverage is the share of the intervals of the optimum that hold it, with the
// 95 % interval of that share.
func (t totals) coverage() (share, low, high float64) {
	low, high = stat.Binomial(t.held, t.peaks, 0.95)
	return float64(t.held) / float64(max(1, t.peaks)), low, high
}
