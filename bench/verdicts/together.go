package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"

	"contend/metric"
	"contend/trial"
)

// further are the metrics that are compared in addition to the throughput, as many as by
// default, and where a round stores what one operation took, in seconds.
var further = []struct {
	metric.Name
	set func(c *trial.Cell, perOp float64)
}{
	{metric.ServerCPUPerOp, func(*trial.Cell, float64) {}}, // its own, of each block
	{metric.GeneratorCPUPerOp, func(c *trial.Cell, perOp float64) { c.GeneratorCPUSec = perOp * float64(c.Ops) }},
	{"server_waited_ns_per_op", func(c *trial.Cell, perOp float64) { c.Server.WaitedSec = perOp * float64(c.Ops) }},
	{"server_voluntary_switches_per_op", func(c *trial.Cell, perOp float64) { c.Server.VoluntarySwitches = int64(1e9 * perOp * float64(c.Ops)) }},
	{"server_involuntary_switches_per_op", func(c *trial.Cell, perOp float64) { c.Server.InvoluntarySwitches = int64(1e9 * perOp * float64(c.Ops)) }},
	{metric.ServerRSS, func(c *trial.Cell, perOp float64) { c.Server.RSSBytes = int64(1e12 * perOp) }},
	{"bytes_in", func(c *trial.Cell, perOp float64) { c.BytesIn = int64(1e12 * perOp) }},
	{"bytes_out", func(c *trial.Cell, perOp float64) { c.BytesOut = int64(1e12 * perOp) }},
}

// coveredTogether has the real code compare equal arms in nine metrics, each of them
// with recorded noise of its own: metrics that have nothing to do with each other are
// the hardest case for intervals that promise something together.
func coveredTogether(_ context.Context, b *bench) error {
	all, err := parseNoise(bytes.NewReader(noisy))
	if err != nil {
		return err
	}
	secondary, primary, every := 0, 0, 0
	for i := range experiments {
		random := rand.New(rand.NewPCG(b.seed, uint64(i)))
		n := all[i%len(all)]
		t, err := n.deal(random, roundsOf(i, all), trial.NewDesign().Pairs)
		if err == nil {
			err = n.addMetrics(random, t)
		}
		if err != nil {
			return err
		}
		t.Derive()
		if n := len(t.Comparisons); n != 1+len(further) {
			return fmt.Errorf("%d metrics were compared, want %d", n, 1+len(further))
		}
		first, others := 1, 1
		for _, c := range t.Comparisons {
			switch holds := c.Bounded() && c.Low <= 1 && 1 <= c.High; {
			case !holds && c.Primary:
				first = 0
			case !holds:
				others = 0
			}
		}
		primary, secondary, every = primary+first, secondary+others, every+first*others
	}
	what := fmt.Sprintf("all intervals of %d metrics beside the first hold the truth, recorded noise", len(further))
	b.show("l", atLeast(what, secondary, experiments, 0.936))
	fmt.Fprintf(b.out, "     that of the first does in %.1f %%, all %d in %.1f %%\n",
		100*float64(primary)/experiments, 1+len(further), 100*float64(every)/experiments)
	return nil
}

// addMetrics gives the rounds more figures; each scatters like the time of an
// operation in a comparison of its own.
func (n noise) addMetrics(random *rand.Rand, t *trial.Trials) error {
	t.Design.Metrics = []metric.Name{metric.Throughput}
	for _, m := range further {
		t.Design.Metrics = append(t.Design.Metrics, m.Name)
		stretches, err := n.stretches(random, t.Arms, t.Design.Rounds, t.Design.Pairs)
		if err != nil {
			return err
		}
		for i := range t.Rounds {
			c := &t.Rounds[i]
			m.set(c, stretches[c.Round-1].perOp(c.Arm))
		}
	}
	return nil
}

// perOp is how long an operation of an arm took, in seconds.
func (s stretch) perOp(arm string) float64 {
	var seconds, ops float64
	for _, p := range s.pairs {
		for _, b := range p {
			if s.names[b.Arm] == arm {
				seconds, ops = seconds+b.Duration.Seconds(), ops+float64(b.Ops)
			}
		}
	}
	return seconds / ops
}
