package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"contend/bench/internal/simulate"
	"contend/metric"
)

// experiments is how many a simulated figure rests on.
const experiments = 1000

// foundInSimulation plants a small difference in independent rounds.
func foundInSimulation(_ context.Context, b *bench) error {
	p := simulate.Planted{Difference: 0.02, Spread: 0.03, Rounds: 30, Margin: metric.Throughput.Margin()}
	share := simulate.Power(p, experiments, b.seed)
	b.show("c", atLeast("2 % more, planted in rounds that spread by 3 %, called FASTER after 30 rounds", hits(share), experiments, 0.9))
	return nil
}

// hits turns a share of the experiments into their number.
func hits(share float64) int { return int(math.Round(share * experiments)) }

// coverage of the interval, for each kind of noise and number of rounds.
func coverage(_ context.Context, b *bench) error {
	for _, noise := range simulate.Noises() {
		for _, rounds := range []int{6, 12, 24} {
			share := simulate.Coverage(noise, rounds, experiments, b.seed)
			what := fmt.Sprintf("the 95 %% interval holds the truth, %d rounds, noise: %s", rounds, noise.Name)
			b.show("d", atLeast(what, hits(share), experiments, 0.936))
		}
	}
	return nil
}

// widths compares the intervals of two orders of the same blocks.
func widths(_ context.Context, b *bench) error {
	for _, rounds := range []int{6, 12, 24} {
		o := simulate.Widths(rounds, experiments, b.seed)
		ratio := o.Interleaved / o.Blocked
		b.show("e", figure{
			what:    fmt.Sprintf("width of the interval, interleaved ÷ blocked order, 10 %% drift, %d rounds", rounds),
			bar:     "≤ 0.50",
			got:     fmt.Sprintf("%.2f (the truth in %.1f and %.1f %%)", ratio, 100*o.InterleavedCoverage, 100*o.BlockedCoverage),
			reached: ratio <= 0.5,
		})
	}
	return nil
}

// steadiness has the steady-state test judge series whose label is known, and
// many more of each label, because 50 leave much to chance.
func steadiness(_ context.Context, b *bench) error {
	const each = 10
	right, of, rightOfMany := 0, 0, 0
	var many []string
	for _, shape := range simulate.Shapes() {
		right, of = right+simulate.SteadyRight(shape, each, b.seed), of+each
		n := simulate.SteadyRight(shape, experiments, b.seed)
		rightOfMany += n
		many = append(many, fmt.Sprintf("%s %.1f %%", shape.Name, 100*float64(n)/experiments))
	}
	b.show("h", atLeast("labelled series judged right by the steady-state test", right, of, 0.9))
	fmt.Fprintf(b.out, "     of %d series each: %s; together %.1f %%\n", experiments, strings.Join(many, ", "),
		100*float64(rightOfMany)/float64(len(many)*experiments))
	return nil
}
