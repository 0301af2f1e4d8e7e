package main

import (
	"fmt"
	"io"
	"math/rand/v2"

	"contend/load"
	"contend/stat"
	"contend/sweep"
	"contend/trial"
	"contend/usl"
)

// mostRounds bounds a simulated sweep that does not settle.
const mostRounds = 30

// knees sum up what simulated sweeps recommended by default.
type knees struct {
	servers, settled, close, held, runs int
}

// trueKnee is the whole number with the highest throughput² ÷ concurrency of the law.
func (s server) trueKnee() float64 {
	power := func(n float64) float64 { x := s.law.Throughput(n); return x * x / n }
	n := 1.0
	for power(n+1) > power(n) { // the law has one peak of it
		n++
	}
	return n
}

// closeTo says that a recommendation is right enough: 1.5 times off, or by one.
func closeTo(n, truth float64) bool {
	return n <= max(1.5*truth, truth+1) && n >= min(truth/1.5, truth-1)
}

func simulateKnees(servers int, seed uint64) (knees, error) {
	random := rand.New(rand.NewPCG(seed, 8))
	k := knees{servers: servers}
	for i := range servers {
		s := randomServer(random)
		knee, runs, err := s.kneeSwept(seed + uint64(i))
		if err != nil {
			return k, err
		}
		k.runs += runs
		truth := s.trueKnee()
		if sweep.Settled(&knee) {
			k.settled++
			if closeTo(knee.N.Value, truth) {
				k.close++
			}
		}
		if i := knee.N.Interval; i.Low <= truth && truth <= i.High {
			k.held++
		}
	}
	return k, nil
}

// kneeSwept does what sweep.Run does with a real server.
func (s server) kneeSwept(seed uint64) (knee usl.Knee, runs int, err error) {
	levels, err := sweep.Design{}.Explore(0, func(n int) (float64, bool, error) { return s.visit(n), true, nil })
	if err != nil {
		return knee, 0, err
	}
	var cells []trial.Cell
	now := levels
	for round := 1; round <= mostRounds; round++ {
		faster := 1 + noise*s.random.NormFloat64() // all of this round
		for _, n := range now {
			cells = append(cells, trial.Cell{Round: round, Result: &load.Result{Concurrency: n, ThroughputPerSec: faster * s.visit(n)}})
		}
		if round < visits {
			continue
		}
		if knee, err = sweep.Knee(cells, seed); err != nil || sweep.Settled(&knee) {
			break
		}
		now = sweep.Between(levels, &knee)
	}
	return knee, len(cells), err
}

func (b *bench) knees(w io.Writer) error {
	k, err := simulateKnees(b.servers, b.seed)
	if err != nil {
		return err
	}
	bar(w, k.close >= 98*k.settled/100, "knee within 1.5 times or ±1 of the true one: %d of the %d that settled of %d, with %d runs", k.close, k.settled, k.servers, k.runs)
	low, high := stat.Binomial(k.held, k.servers, 0.95)
	bar(w, float64(k.held) >= covered*float64(k.servers), "its interval holds the true one: %d of %d [%s]", k.held, k.servers, fmt.Sprintf("%.1f, %.1f %%", 100*low, 100*high))
	return nil
}
