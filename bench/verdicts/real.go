package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"contend/experiment"
	"contend/metric"
	"contend/protocol"
	"contend/report"
	"contend/trial"
)

// A shape is how long a comparison is and what it looks at.
type shape struct {
	rounds, pairs int
	block, warmup time.Duration
	precision     float64       // at which it ends early, a share; 0: never
	metrics       []metric.Name // empty: those of contend compare
	vus           int           // 0: vus
}

// servers are the commands that are compared, by the names of their arms. The
// baseline is among them.
type servers struct {
	commands map[string]string
	url      string
}

const baseline, candidate = "baseline", "candidate"

func (s servers) experiment() *experiment.Experiment {
	subjects := map[string]experiment.Subject{}
	for name, command := range s.commands {
		subjects[name] = experiment.Subject{Command: command}
	}
	return experiment.OfSubjects(protocol.At(s.url), subjects)
}

// arm is one of the servers alone.
func (s servers) arm(name string, seed uint64) trial.Arm {
	return experiment.ServerArm(name, protocol.At(s.url), experiment.Subject{Command: s.commands[name]}, experiment.Options{Seed: seed})
}

// counters are the counter and itself.
func (b *bench) counters() servers {
	command := b.contend + " serve counter --http {{addr}}"
	return servers{map[string]string{baseline: command, candidate: command}, "http://{{addr}}/status/atomic"}
}

// compare runs one comparison as contend compare does.
func (b *bench) compare(ctx context.Context, seed uint64, s shape, of servers) (*trial.Trials, error) {
	e := of.experiment()
	p := &e.Parts[0]
	p.Baseline, p.Plan.Timeout, p.Design.Levels = baseline, 5*time.Second, []int{cmp.Or(s.vus, vus)}
	p.Design.Rounds, p.Design.Pairs, p.Design.Block, p.Design.Warmup = s.rounds, s.pairs, s.block, s.warmup
	if p.Design.Precision = s.precision; len(s.metrics) > 0 {
		p.Design.Metrics = s.metrics
	}
	doc := new(report.Document)
	if err := e.Run(ctx, experiment.Options{Seed: seed}, doc); err != nil {
		return nil, err
	}
	if len(doc.Trials) == 0 || len(doc.Comparisons) == 0 {
		return nil, fmt.Errorf("no comparison came of it")
	}
	return &doc.Trials[0].Trials, nil
}

// falseAlarmsOnEqualServers compares the counter with itself, alive.
func falseAlarmsOnEqualServers(ctx context.Context, b *bench) error {
	s := shape{rounds: trial.PlannedRounds, pairs: 8, block: 20 * time.Millisecond, warmup: 100 * time.Millisecond}
	sum := newTally()
	for i := range b.equal {
		t, err := b.compare(ctx, b.seed+uint64(i), s, b.counters())
		if ctx.Err() != nil {
			break
		}
		sum.addReal(b, fmt.Sprintf("equal servers %d of %d", i+1, b.equal), first(t), err)
	}
	b.show("b", atMost("equal servers told apart", sum.told(), sum.total(), 9, 100))
	fmt.Fprintf(b.out, "     %v\n", sum)
	return ctx.Err()
}

// first returns the primary comparison, if there is one.
func first(t *trial.Trials) trial.Comparison {
	if t == nil || len(t.Comparisons) == 0 {
		return trial.Comparison{}
	}
	return t.Comparisons[0]
}
