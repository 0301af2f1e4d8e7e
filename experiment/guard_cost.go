package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/protocol"
	"contend/trial"
)

// A GuardCost is what one call of a guard costs in process.
type GuardCost struct {
	CPU  time.Duration // of all goroutines, per call
	Wall time.Duration // 1 ÷ throughput: the closest that calls can follow each other
	Call time.Duration // as one caller sees it
}

// Each guard is visited several times, all of them in turn, so that
// disturbances of the machine do not hit one alone; the median of the visits
// counts.
const (
	guardVisits = 3
	guardBlock  = 100 * time.Millisecond
)

// MeasureGuards drives guards in this process, with that many callers and with
// one. observe, if not nil, gets the share that is done.
func MeasureGuards(ctx context.Context, designs []string, callers int, observe func(done float64)) ([]GuardCost, error) {
	visits := make([][]GuardCost, len(designs))
	for visit := range guardVisits {
		for i, design := range designs {
			if observe != nil {
				observe(float64(visit*len(designs)+i) / float64(guardVisits*len(designs)))
			}
			cost, err := measureGuard(ctx, design, callers)
			if err != nil {
				return nil, err
			}
			visits[i] = append(visits[i], cost)
		}
	}
	costs := make([]GuardCost, len(designs))
	for i := range designs {
		costs[i] = medianCost(visits[i])
	}
	return costs, nil
}

// medianCost takes the median of each figure separately; there is an odd number of visits.
func medianCost(visits []GuardCost) GuardCost {
	median := func(of func(GuardCost) time.Duration) time.Duration {
		var list []time.Duration
		for _, v := range visits {
			list = append(list, of(v))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	return GuardCost{
		CPU:  median(func(c GuardCost) time.Duration { return c.CPU }),
		Wall: median(func(c GuardCost) time.Duration { return c.Wall }),
		Call: median(func(c GuardCost) time.Duration { return c.Call }),
	}
}

func measureGuard(ctx context.Context, design string, callers int) (GuardCost, error) {
	busy, err := driveGuard(ctx, design, callers)
	if err != nil {
		return GuardCost{}, err
	}
	alone, err := driveGuard(ctx, design, 1)
	if err != nil {
		return GuardCost{}, err
	}
	return GuardCost{
		CPU:  time.Duration(busy.GeneratorCPUSec / float64(busy.Ops) * float64(time.Second)),
		Wall: time.Duration(float64(time.Second) / busy.ThroughputPerSec),
		Call: time.Duration(float64(time.Second) / alone.ThroughputPerSec),
	}, nil
}

func driveGuard(ctx context.Context, design string, callers int) (*load.Result, error) {
	opened, err := protocol.Opener{}.Open(ctx, protocol.At("guard:"+design+"?kind=add-get"))
	if err != nil {
		return nil, err
	}
	defer protocol.Close(opened)
	live := &trial.Live{Address: design, Target: opened}
	session, err := live.Open(ctx, callers)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	for length := guardBlock; ; length *= 10 { // a crowded machine may let nothing run in a short one
		cell, err := live.Settled(ctx, session, load.Plan{VUs: callers, Warmup: length / 3, Duration: length})
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() == nil && cell.Ops > 0:
			return cell.Result, nil
		case ctx.Err() != nil || length > time.Second:
			return nil, fmt.Errorf("guard %s was not measured: %s", design, cell.Stopped)
		}
	}
}

// A GuardedCall is a call of a server that includes a guard.
type GuardedCall struct {
	Busy  trial.Cell    // the server under load; it has right answers
	Alone time.Duration // mean service time at one caller
	Near  bool          // the server is on this machine
}

// InFlight is how many calls the server held at once, by Little's law:
// throughput × mean time of a call.
func (c GuardedCall) InFlight() float64 {
	call := c.Busy.Service
	if c.Busy.Exchange != nil && c.Busy.Exchange.Count() > 0 {
		call = c.Busy.Exchange
	}
	return c.Busy.ThroughputPerSec * call.Mean().Seconds()
}

// Callers is the whole number of callers nearest to InFlight, at least 1.
func (c GuardedCall) Callers() int { return max(1, int(math.Round(c.InFlight()))) }

// CPU is that of the saturated resource per call, in nanoseconds, and whose it is: the
// server's, plus the generator's if they share the cores. For a server whose processes
// are not known it is what everything else on its machine used, if that is this one,
// and otherwise all that the generator left of as many cores: as it is when CPU is the
// limit.
func (c GuardedCall) CPU() (perCall float64, whose string) {
	server, known := metric.ServerCPUPerOp.Of(c.Busy.Result)
	ops := float64(c.Busy.Ops)
	switch {
	case !known && c.Near && c.Busy.MachineCPUSec > 0:
		return c.Busy.Others(0) / ops * 1e9, "everything on this machine but the generator, other programs included,"
	case !known:
		left := float64(c.Busy.GeneratorCores)*c.Busy.Duration.Seconds() - c.Busy.GeneratorCPUSec
		return left / ops * 1e9, fmt.Sprintf("a server that uses all that the generator leaves of %d cores", c.Busy.GeneratorCores)
	}
	for _, w := range c.Busy.Warnings {
		if w.Is(finding.CPUShared) || w.Is(finding.GeneratorSaturated) || w.Is(finding.GeneratorBusy) {
			generator, _ := metric.GeneratorCPUPerOp.Of(c.Busy.Result)
			return server + generator, "server and generator together, which share the cores"
		}
	}
	return server, "the server"
}

// Throughput is how much of the throughput one guard instead of another can
// cost at most: its extra CPU ÷ that of a call. Negative: how much it can
// gain.
func (c GuardedCall) Throughput(base, cand GuardCost) float64 {
	perCall, _ := c.CPU()
	return float64(cand.CPU-base.CPU) / perCall
}

// Latency is by how much of the service time at one caller a call can become
// longer: the extra time of the guard ÷ that of a call. Negative: shorter.
func (c GuardedCall) Latency(base, cand GuardCost) float64 {
	return float64(cand.Call-base.Call) / float64(c.Alone)
}

// Queues says which share of the time the guard would be in use at this rate, and
// whether that is enough for a queue of its own, which no bound from a single
// call holds.
func (c GuardedCall) Queues(g GuardCost) (share float64, yes bool) {
	share = c.Busy.ThroughputPerSec * g.Wall.Seconds()
	return share, share > queueing
}

// queueing is the share of time in use at which a guard becomes a queue of its own.
const queueing = 0.5
