// Package simulate simulates experiments with a known truth and counts how often the
// statistics of package stat are right. All functions are pure: the same seed gives
// the same number.
package simulate

import (
	"math"
	"math/rand/v2"

	"contend/stat"
)

const (
	confidence = 0.95
	// pairs of blocks per round.
	pairs = 8
	// block is the standard deviation of one block, in logarithms.
	block = 0.01
	// process is that of what restarting an arm does to all its blocks.
	process = 0.005
	// drift is the change of the machine over a whole experiment.
	drift = 0.10
	// truth is the candidate's effect, in logarithms, in experiments on coverage.
	truth = 0.03
)

// Noise is a way in which the figures of two arms scatter that differ only by their
// true ratio, in logarithms.
type Noise struct {
	Name string
	// blocks is the machine: what it adds to each of n blocks in the order of time.
	blocks func(r *rand.Rand, n int) []float64
	// start is what a fresh process adds to all its blocks.
	start func(r *rand.Rand) float64
}

// Noises are those under which coverage is shown: independent blocks; a machine that
// loses 10 % from the first block to the last; processes that come up in one of two
// states 10 % apart, whichever arm they are of; blocks with a correlation of 0.8 from
// one to the next.
func Noises() []Noise {
	return []Noise{
		{"normal", white, fresh},
		{"drift of 10 %", drifting, fresh},
		{"bimodal", white, bimodal},
		{"autocorrelated 0.8", func(r *rand.Rand, n int) []float64 { return autoregressive(r, n, 0.8, block) }, fresh},
	}
}

func fresh(r *rand.Rand) float64 { return process * r.NormFloat64() }

func bimodal(r *rand.Rand) float64 { return 0.1*float64(r.IntN(2)) + fresh(r) }

func white(r *rand.Rand, n int) []float64 { return autoregressive(r, n, 0, block) }

func drifting(r *rand.Rand, n int) []float64 {
	values := white(r, n)
	for i := range values {
		values[i] += math.Log1p(-drift * float64(i) / float64(n-1))
	}
	return values
}

// autoregressive is stationary normal noise in which neighbours correlate by phi.
func autoregressive(r *rand.Rand, n int, phi, sd float64) []float64 {
	values := make([]float64, n)
	x := r.NormFloat64()
	for i := range values {
		values[i] = sd * x
		x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
	}
	return values
}

// Coverage is the share of experiments in which the 95 % interval of an interleaved
// comparison holds the true ratio: rounds of eight pairs in ABBA order with a random
// start, a round's log-ratio by Hodges and Lehmann from its pairs, stat.Paired over
// rounds.
func Coverage(noise Noise, rounds, experiments int, seed uint64) float64 {
	r := rand.New(rand.NewPCG(seed, uint64(rounds)))
	covered := 0
	for range experiments {
		if covers(noise.interleaved(r, rounds), truth) {
			covered++
		}
	}
	return float64(covered) / float64(experiments)
}

func covers(e stat.Effect, truth float64) bool {
	return e.Low <= math.Exp(truth) && math.Exp(truth) <= e.High
}

// interleaved is one comparison.
func (noise Noise) interleaved(r *rand.Rand, rounds int) stat.Effect {
	machine := noise.blocks(r, rounds*pairs*2)
	logs := make([]float64, rounds)
	for i := range logs {
		logs[i] = noise.round(r, machine[i*pairs*2:(i+1)*pairs*2])
	}
	return paired(logs)
}

// round is the log-ratio of one round from what the machine adds to its blocks.
func (noise Noise) round(r *rand.Rand, machine []float64) float64 {
	common := truth + noise.start(r) - noise.start(r)
	direction := float64(1 - 2*r.IntN(2)) // which arm leads the first pair
	logs := make([]float64, len(machine)/2)
	for p := range logs {
		logs[p] = common + direction*(machine[2*p+1]-machine[2*p])
		direction = -direction
	}
	return math.Log(paired(logs).Ratio)
}

// paired is stat.Paired for input that is right by construction.
func paired(logs []float64) stat.Effect {
	e, err := stat.Paired(logs, confidence)
	if err != nil {
		panic(err)
	}
	return e
}

// Planted is a difference to be found.
type Planted struct {
	Difference float64 // of the ratio from 1
	Spread     float64 // standard deviation of a round's log-ratio
	Rounds     int
	Margin     float64 // see stat.Decide
}

// Power is the share of experiments that call a planted gain FASTER: independent
// normal rounds, one metric, decided once.
func Power(p Planted, experiments int, seed uint64) float64 {
	r := rand.New(rand.NewPCG(seed, uint64(p.Rounds)))
	found := 0
	logs := make([]float64, p.Rounds)
	for range experiments {
		for i := range logs {
			logs[i] = math.Log1p(p.Difference) + p.Spread*r.NormFloat64()
		}
		if stat.Decide(paired(logs), p.Margin, stat.HigherIsFaster) == stat.Faster {
			found++
		}
	}
	return float64(found) / float64(experiments)
}

// Orders compares what two orders of the same blocks make of a drift of 10 %: how wide
// the 95 % intervals are, as the mean of ln(high ÷ low), and how often they hold the
// true ratio.
type Orders struct {
	Interleaved, Blocked                 float64
	InterleavedCoverage, BlockedCoverage float64
}

// Widths plays experiments of so many rounds, once interleaved and once with all rounds
// of the baseline before all of the candidate, which can only be compared unpaired.
func Widths(rounds, experiments int, seed uint64) Orders {
	r := rand.New(rand.NewPCG(seed, uint64(rounds)))
	noise := Noise{blocks: drifting, start: fresh}
	var o Orders
	for range experiments {
		e := noise.interleaved(r, rounds)
		o.Interleaved += math.Log(e.High/e.Low) / float64(experiments)
		if covers(e, truth) {
			o.InterleavedCoverage += 1 / float64(experiments)
		}
		e = noise.blocked(r, rounds)
		o.Blocked += math.Log(e.High/e.Low) / float64(experiments)
		if covers(e, truth) {
			o.BlockedCoverage += 1 / float64(experiments)
		}
	}
	return o
}

// blocked is one comparison with one arm after the other. A round is half as long
// because it has the blocks of one arm only.
func (noise Noise) blocked(r *rand.Rand, rounds int) stat.Effect {
	machine := noise.blocks(r, rounds*pairs*2)
	values := make([]float64, 2*rounds)
	for i := range values {
		values[i] = noise.start(r) + math.Log(paired(machine[i*pairs:(i+1)*pairs]).Ratio)
		if i >= rounds {
			values[i] += truth
		}
	}
	e, err := stat.Unpaired(values[:rounds], values[rounds:], confidence)
	if err != nil {
		panic(err)
	}
	return e
}
