package trial

import (
	"context"
	"errors"
	"slices"
	"time"

	"contend/finding"
	"contend/load"
	"contend/subject"
)

// A Cell is what one arm showed at one level of concurrency: in one round, or
// over all of them.
type Cell struct {
	Arm string `json:"arm,omitempty"`
	// Round counts from 1; 0 is the sum of all rounds.
	Round int `json:"round,omitempty"`
	*load.Result
}

// A Block is one stretch of one arm.
type Block struct {
	Arm              string        `json:"arm"`
	Concurrency      int           `json:"concurrency"`
	Round            int           `json:"round"`   // from 1
	Pair             int           `json:"pair"`    // from 1, within the round and level
	Order            int           `json:"order"`   // from 1, position in the round
	Stretch          int           `json:"stretch"` // from 1, between two probes of the round and level
	Duration         time.Duration `json:"duration_ns"`
	Completed        int64         `json:"completed"`
	Failed           int64         `json:"failed"`
	Errored          int64         `json:"errored"`
	Ops              int64         `json:"ops"`
	ThroughputPerSec float64       `json:"throughput_per_s"`
	GeneratorCPUSec  float64       `json:"generator_cpu_s"`
	ServerCPUSec     float64       `json:"server_cpu_s,omitempty"`
}

func (b *Block) derive() {
	b.ThroughputPerSec = 0
	if seconds := b.Duration.Seconds(); seconds > 0 {
		b.ThroughputPerSec = float64(b.Ops) / seconds
	}
}

// MergeCells adds up cells of the same arm and level.
func MergeCells(cells []Cell) Cell {
	sum := Cell{Arm: cells[0].Arm}
	results := make([]*load.Result, len(cells))
	for i, c := range cells {
		results[i] = c.Result
	}
	sum.Result = load.Merge(results...)
	sum.Derive()
	return sum
}

// Derive computes the figures and warnings that follow from others. Where the
// server was sampled, what both sides used of the CPU replaces the generator's
// own view of it.
func (c Cell) Derive() {
	c.Result.Derive()
	if c.Server != nil {
		c.Warnings = slices.DeleteFunc(c.Warnings, func(w finding.Warning) bool { return w.Is(finding.GeneratorBusy) })
	}
	c.Warnings = append(c.Warnings, c.cpuFindings()...)
}

// measure drives a live arm once and reads the clocks of its subject at the very
// edges of the measured window; the rest of what it uses is sampled before and
// after the run, because looking takes longer. The run ends early when the
// subject dies.
func measure(ctx context.Context, s *load.Session, live *Live, plan load.Plan) (Cell, error) {
	if live.Subject == nil {
		result, err := s.Run(ctx, plan)
		if err != nil {
			return Cell{}, err
		}
		c := Cell{Result: result}
		c.Derive()
		return c, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unwatch := watchEnd(ctx, live.Subject, cancel)
	defer unwatch()
	var edges [2]subject.Sample
	before, failed := live.Subject.Sample()
	plan.AtEdge = func(e load.Edge) {
		clocks, err := live.Subject.Clocks()
		failed = errors.Join(failed, err)
		edges[e-load.WindowOpens] = clocks
	}
	result, err := s.Run(ctx, plan)
	if err != nil {
		return Cell{}, err
	}
	after, err := live.Subject.Sample()
	c := Cell{Result: result}
	if errors.Join(failed, err) == nil {
		used, around := edges[1].Sub(edges[0]), after.Sub(before)
		c.Server = &load.Usage{CPUSec: used.CPU.Seconds(), WaitedSec: max(0, used.Waited.Seconds()),
			RSSBytes: after.RSSBytes, Threads: after.Threads, CPUs: after.CPUs, SharedCPUs: after.SharedCPUs,
			VoluntarySwitches: around.VoluntarySwitches, InvoluntarySwitches: around.InvoluntarySwitches}
	}
	c.Derive()
	return c, nil
}

// watchEnd calls ended when the subject's process ends before the returned
// function is called.
func watchEnd(ctx context.Context, s Subject, ended func()) (unwatch func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.Done():
			ended()
		case <-ctx.Done():
		}
	}()
	return func() { ended(); <-done }
}
