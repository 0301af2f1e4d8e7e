package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"math/rand/v2"

	"contend/bench/internal/recorded"
	"contend/load"
	"contend/metric"
	"contend/trial"
)

//go:embed testdata/noise.csv
var noisy []byte

// vus is the concurrency of all comparisons, recorded or live.
const vus = 4

// falseAlarmsOnRecordedNoise has the real code judge comparisons whose arms are
// equal by construction, and whose noise is that of a real machine.
func falseAlarmsOnRecordedNoise(_ context.Context, b *bench) error {
	all, err := parseNoise(bytes.NewReader(noisy))
	if err != nil {
		return err
	}
	sum, cpu := newTally(), newTally()
	for i := range experiments {
		random := rand.New(rand.NewPCG(b.seed, uint64(i)))
		t, err := all[i%len(all)].deal(random, roundsOf(i, all), trial.NewDesign().Pairs)
		if err != nil {
			return err
		}
		t.Derive()
		sum.add(t.Comparisons[0].Verdict, t.Comparisons[0].Reason)
		if len(t.Comparisons) > 1 {
			cpu.add(t.Comparisons[1].Verdict, t.Comparisons[1].Reason)
		}
	}
	b.show("a", atMost("equal arms told apart, recorded noise", sum.told(), sum.total(), 64, experiments))
	fmt.Fprintf(b.out, "     throughput: %v\n     server CPU per operation: %v\n", sum, cpu)
	return nil
}

// roundsOf says how many rounds the i-th comparison has: one half of those dealt from
// each noise 10, the other 20.
func roundsOf(i int, all []noise) int {
	return 10 * (1 + i/len(all)%2)
}

// A noise is what comparisons are dealt from.
type noise recorded.Noise

func parseNoise(from io.Reader) (list []noise, err error) {
	all, err := recorded.Parse(from)
	for _, n := range all {
		list = append(list, noise(n))
	}
	return list, err
}

// deal makes a comparison of two equal arms of recorded noise.
func (n noise) deal(random *rand.Rand, rounds, pairs int) (*trial.Trials, error) {
	t := n.trials(rounds, pairs)
	stretches, err := n.stretches(random, t.Arms, rounds, pairs)
	for i, s := range stretches {
		addRound(t, i+1, s.names, s.pairs)
	}
	return t, err
}

// trials has no rounds yet.
func (n noise) trials(rounds, pairs int) *trial.Trials {
	return &trial.Trials{Arms: []string{baseline, candidate}, Design: trial.Design{
		Rounds: rounds, Pairs: pairs, Block: n.Length, Levels: []int{vus},
		Metrics:    []metric.Name{metric.Throughput, metric.ServerCPUPerOp},
		Confidence: trial.NewDesign().Confidence,
	}}
}

// A stretch is what a round is made of: consecutive pairs of a recorded round, and which
// of its two servers is which arm.
type stretch struct {
	names map[string]string
	pairs []recorded.Pair
}

// stretches are consecutive rounds from a random one on, a random stretch of each
// round's pairs, and at random one of the round's two servers as the baseline. Order and
// servers stay as they were, so that drift, dependence from block to block and what lasts
// as long as a process are all kept.
func (n noise) stretches(random *rand.Rand, arms []string, rounds, pairs int) ([]stretch, error) {
	var list []stretch
	start := random.IntN(len(n.Rounds))
	for i := range rounds {
		from := n.Rounds[(start+i)%len(n.Rounds)]
		if len(from) < pairs {
			return nil, fmt.Errorf("a recorded round of %v has %d pairs, %d are needed", n.Length, len(from), pairs)
		}
		names := map[string]string{"a": arms[0], "b": arms[1]}
		if random.IntN(2) == 1 {
			names = map[string]string{"a": arms[1], "b": arms[0]}
		}
		cut := random.IntN(len(from) - pairs + 1)
		list = append(list, stretch{names, from[cut : cut+pairs]})
	}
	return list, nil
}

// addRound adds the blocks of a round and each arm's sum of them.
func addRound(t *trial.Trials, round int, names map[string]string, pairs []recorded.Pair) {
	sums := map[string]*trial.Cell{}
	for _, arm := range t.Arms {
		cell := &trial.Cell{Arm: arm, Round: round, Result: load.Merge()}
		cell.Concurrency, cell.Server = vus, new(load.Usage)
		sums[arm] = cell
	}
	for i, p := range pairs {
		for j, b := range p {
			arm := names[b.Arm]
			t.Blocks = append(t.Blocks, trial.Cell{Arm: arm, Round: round, Pair: i + 1, Order: 2*i + j + 1, Result: &load.Result{
				Concurrency: vus, Duration: b.Duration, Counts: load.Counts{Completed: b.Ops, Ops: b.Ops},
				Cost: load.Cost{Server: &load.Usage{CPUSec: b.ServerCPU.Seconds()}},
			}})
			sum := sums[arm]
			sum.Planned, sum.Completed, sum.Ops = sum.Planned+b.Ops, sum.Completed+b.Ops, sum.Ops+b.Ops
			sum.Duration += b.Duration
			sum.Server.CPUSec += b.ServerCPU.Seconds()
		}
	}
	for _, arm := range t.Arms {
		t.Rounds = append(t.Rounds, *sums[arm])
	}
}
