package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"

	"contend/bench/internal/recorded"
	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// quiet is noise of blocks as long as those of contend compare, recorded while nothing
// else ran.
//
//go:embed testdata/quiet.csv
var quiet []byte

// endedEarly has the real code end comparisons as soon as they are decided, on recorded
// noise: of equal arms, with or without a verdict that they differ; of a candidate with
// twice the margin more throughput, which is EQUIVALENT or not; and of larger
// differences.
func endedEarly(_ context.Context, b *bench) error {
	busy, err := parseNoise(bytes.NewReader(noisy))
	if err != nil {
		return err
	}
	still, err := parseNoise(bytes.NewReader(quiet))
	if err != nil {
		return err
	}
	margin := metric.Throughput.Margin()
	for _, of := range []struct {
		what        string
		all         []noise
		ratio       float64
		comparisons int
		wrong       func(*outcomes) int // nil: no bar
	}{
		{"equal arms, noise of a busy machine: told apart", busy, 1, experiments, (*outcomes).told},
		{"equal arms, noise of a machine with nothing else to do: told apart", still, 1, experiments, (*outcomes).told},
		{"twice the margin more: EQUIVALENT", still, 1 + 2*margin, experiments, func(o *outcomes) int { return o.verdicts[stat.Equivalent] }},
		{"1 % more", still, 1.01, experiments / 4, nil},
		{"5 % more", still, 1.05, experiments / 4, nil},
		{"10 % more", still, 1.1, experiments / 4, nil},
		{"30 % more", still, 1.3, experiments / 4, nil},
	} {
		sum, seen, err := b.early(of.all, of.ratio, of.comparisons)
		if err != nil {
			return err
		}
		if of.wrong == nil {
			fmt.Fprintf(b.out, "     %s\n", of.what)
		} else {
			b.show("m", atMost(of.what, of.wrong(sum), sum.total(), 64, experiments))
		}
		fmt.Fprintf(b.out, "     %v; %.1f rounds on average; mean estimate %+.2f %%, after 40 rounds %+.2f %%\n",
			sum, seen.rounds, 100*math.Expm1(seen.early), 100*math.Expm1(seen.full))
	}
	return nil
}

// estimates are means over comparisons: of the rounds, and of the log-ratio when they
// ended and after the most rounds.
type estimates struct{ rounds, early, full float64 }

// early deals so many comparisons whose candidate has a throughput so many times as high.
func (b *bench) early(all []noise, ratio float64, comparisons int) (*outcomes, estimates, error) {
	sum, mean := newTally(), estimates{}
	for i := range comparisons {
		random := rand.New(rand.NewPCG(b.seed, uint64(i)))
		n := all[i%len(all)]
		t := n.trials(trial.PlannedRounds, trial.NewDesign().Pairs)
		stretches, err := n.stretches(random, t.Arms, trial.PlannedRounds, t.Design.Pairs)
		if err != nil {
			return nil, mean, err
		}
		add := func(to *trial.Trials) func(round int) error {
			return func(round int) error {
				s := stretches[round-1]
				addRound(to, round, s.names, s.faster(candidate, ratio))
				return nil
			}
		}
		if err := t.Replay(add(t)); err != nil {
			return nil, mean, err
		}
		full := n.trials(trial.PlannedRounds, t.Design.Pairs)
		for round := range trial.PlannedRounds {
			_ = add(full)(round + 1)
		}
		full.Derive()
		c := first(t)
		sum.add(c.Verdict, c.Reason)
		mean.rounds += float64(len(c.RoundLogRatios)) / float64(comparisons)
		mean.early += math.Log(c.Ratio) / float64(comparisons)
		mean.full += math.Log(first(full).Ratio) / float64(comparisons)
	}
	return sum, mean, nil
}

// faster returns the pairs with so many times the operations of an arm.
func (s stretch) faster(arm string, ratio float64) []recorded.Pair {
	list := make([]recorded.Pair, len(s.pairs))
	for i, p := range s.pairs {
		for j := range p {
			if s.names[p[j].Arm] == arm {
				p[j].Ops = int64(math.Round(ratio * float64(p[j].Ops)))
			}
		}
		list[i] = p
	}
	return list
}
