package experiment

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"contend/guard"
	"contend/load"
	"contend/report"
	"contend/stat"
	"contend/target"
	"contend/trial"
)

// How long the bound's own measurements take.
const (
	guardBlock  = 300 * time.Millisecond
	callerBlock = time.Second
)

// guardBound says how much the choice of the guard could change at the most,
// from its cost in process: on throughput, extra guard CPU ÷ CPU per call of
// the saturated resource (the server, and the generator where they share the
// cores); on latency, extra guard time ÷ service time at one caller.
func (r *runner) guardBound(ctx context.Context) ([]report.Analysis, error) {
	var list []report.Analysis
	for _, p := range r.file.effectiveParts(r.options.Profile) {
		base := p.Arms[p.Compare.Baseline]
		if base.Guard == "" {
			continue
		}
		for _, arm := range r.arms(p) {
			candidate := p.Arms[arm.Name]
			if candidate.Guard == "" || candidate.Guard == base.Guard {
				continue
			}
			a, err := r.bound(ctx, p, arm.Name)
			if err != nil {
				return nil, err
			}
			list = append(list, a)
		}
	}
	return list, nil
}

// guardCost is what one call of a guard costs in process.
type guardCost struct {
	cpu  time.Duration // of all goroutines, per call
	wall time.Duration // 1 ÷ throughput: the closest that calls can follow each other
	call time.Duration // as one caller sees it
}

func (r *runner) bound(ctx context.Context, p Part, candidate string) (report.Analysis, error) {
	baseline := p.Compare.Baseline
	busiest, ok := r.busiest(p)
	if !ok {
		return report.Analysis{}, fmt.Errorf("part %q has no right answers to set the guards beside", p.Name)
	}
	inFlight := max(1, int(math.Round(callsInFlight(busiest))))
	base, err := measureGuard(ctx, p.Arms[baseline].Guard, inFlight)
	if err != nil {
		return report.Analysis{}, err
	}
	cand, err := measureGuard(ctx, p.Arms[candidate].Guard, inFlight)
	if err != nil {
		return report.Analysis{}, err
	}
	alone, err := r.oneCaller(ctx, p, baseline)
	if err != nil {
		return report.Analysis{}, err
	}
	title := fmt.Sprintf("What the guard could change at the most: %s against %s", candidate, baseline)
	if p.Title != "" {
		title += " (" + p.Title + ")"
	}
	b := bound{base: base, cand: cand, busiest: busiest, alone: alone.Service.Mean(), inFlight: inFlight,
		measured: r.measured(p, candidate, busiest.Concurrency)}
	return report.Analysis{
		Name: "guard_bound", Title: title,
		Columns: []string{"guard", "callers", "CPU per call", "time per call, 1 caller", "calls/s at the most"},
		Rows:    [][]string{b.row(baseline, base), b.row(candidate, cand)}, Sentence: b.sentences(candidate, baseline),
	}, nil
}

// busiest returns the cell of the baseline with the highest throughput.
func (r *runner) busiest(p Part) (best trial.Cell, ok bool) {
	for _, c := range r.doc.Cells(report.Place{Experiment: r.file.ID, Part: p.Name}) {
		if c.Arm == p.Compare.Baseline && c.Completed > 0 && (!ok || c.ThroughputPerSec > best.ThroughputPerSec) {
			best, ok = c, true
		}
	}
	return best, ok
}

// callsInFlight is Little's law: throughput × mean time of a call.
func callsInFlight(c trial.Cell) float64 {
	call := c.Service
	if c.Exchange != nil && c.Exchange.Count() > 0 {
		call = c.Exchange
	}
	return c.ThroughputPerSec * call.Mean().Seconds()
}

func measureGuard(ctx context.Context, design string, callers int) (guardCost, error) {
	busy, err := driveGuard(ctx, design, callers)
	if err != nil {
		return guardCost{}, err
	}
	alone, err := driveGuard(ctx, design, 1)
	if err != nil {
		return guardCost{}, err
	}
	return guardCost{
		cpu:  time.Duration(busy.GeneratorCPUSec / float64(busy.Ops) * float64(time.Second)),
		wall: time.Duration(float64(time.Second) / busy.ThroughputPerSec),
		call: time.Duration(float64(time.Second) / alone.ThroughputPerSec),
	}, nil
}

func driveGuard(ctx context.Context, design string, callers int) (*load.Result, error) {
	opened, err := target.Opener{}.Open(ctx, target.Spec{URL: "guard:" + design + "?kind=add-get"})
	if err != nil {
		return nil, err
	}
	defer closeTarget(opened)
	session, err := load.Open(ctx, design, opened, callers)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	result, err := trial.Settled(ctx, session, load.Plan{VUs: callers, Warmup: guardBlock / 3, Duration: guardBlock})
	if err == nil && (result.Ops == 0 || ctx.Err() != nil) {
		err = fmt.Errorf("guard %s was not measured: %s", design, result.Stopped)
	}
	return result, err
}

// oneCaller measures the part's baseline with one VU; gRPC calls share a
// connection, so that the call alone is timed.
func (r *runner) oneCaller(ctx context.Context, p Part, arm string) (trial.Cell, error) {
	p.Arms = maps.Clone(p.Arms)
	a := p.Arms[arm]
	if override(p.Target, a.Target).Connections != "" {
		a.Target.Connections = "shared:1"
	}
	p.Arms[arm] = a
	plan := load.Plan{VUs: 1, Warmup: callerBlock / 5, Duration: callerBlock, Timeout: p.Load.Timeout}
	cell, err := trial.Measure(ctx, r.arm(p, arm), plan)
	if err == nil && cell.Completed == 0 {
		err = fmt.Errorf("no right answer with one caller (%s)", cell.Stopped)
	}
	return cell, err
}

// bound is the arithmetic of the analysis.
type bound struct {
	base, cand guardCost
	busiest    trial.Cell
	alone      time.Duration // service time at one caller
	inFlight   int
	measured   stat.Effect // of the candidate on the throughput
}

// measured returns the comparison of the throughputs at one level.
func (r *runner) measured(p Part, candidate string, vus int) stat.Effect {
	place := report.Place{Experiment: r.file.ID, Part: p.Name}
	for _, c := range r.doc.Comparisons {
		if c.Place == place && c.Candidate == candidate && c.Concurrency == vus && c.Metric == trial.Throughput {
			return c.Effect
		}
	}
	return stat.Effect{}
}

func (b bound) row(name string, c guardCost) []string {
	return []string{name, fmt.Sprint(b.inFlight), report.Duration(float64(c.cpu)), report.Duration(float64(c.call)),
		report.Count(float64(time.Second) / float64(c.wall))}
}

func (b bound) sentences(candidate, baseline string) []string {
	var list []string
	extraCPU, extraTime := b.cand.cpu-b.base.cpu, b.cand.call-b.base.call
	if perCall, what, ok := b.cpuPerCall(); ok {
		share := math.Abs(float64(extraCPU)) / perCall
		list = append(list, fmt.Sprintf(
			"Throughput: %s costs %s more CPU per call than %s, of %s that a call costs %s: at most %.1f %%, if it costs there what it costs in process.",
			candidate, report.Duration(float64(extraCPU)), baseline, report.Duration(perCall), what, 100*share))
		if m := b.measured; m.Bounded() && (m.High < 1-share || m.Low > 1+share) {
			list = append(list, fmt.Sprintf(
				"Measured were %+.1f %% [%+.1f, %+.1f], which is more: behind the network %s costs more than in process, as when its hand-overs wake goroutines while both cores are busy.",
				100*(m.Ratio-1), 100*(m.Low-1), 100*(m.High-1), candidate))
		}
	}
	list = append(list, fmt.Sprintf(
		"Latency: one caller waits %s longer in %s than in %s, of a service time of %s: at most %.2f %%.",
		report.Duration(float64(extraTime)), candidate, baseline, report.Duration(float64(b.alone)),
		100*math.Abs(float64(extraTime))/float64(b.alone)))
	for _, g := range []struct {
		name string
		cost guardCost
	}{{baseline, b.base}, {candidate, b.cand}} {
		if busy := b.busiest.ThroughputPerSec * g.cost.wall.Seconds(); busy > queueing {
			list = append(list, fmt.Sprintf(
				"Beware: at %.0f calls/s the guard %s is busy %.0f %% of the time, so it queues by itself and these bounds are too low.",
				b.busiest.ThroughputPerSec, g.name, 100*busy))
		}
	}
	return list
}

// queueing is the share of time in use from which on a guard is a queue of its own.
const queueing = 0.5

// cpuPerCall is the CPU of the saturated resource per call, in nanoseconds.
func (b bound) cpuPerCall() (perCall float64, what string, ok bool) {
	server, ok := trial.ServerCPUPerOp.Of(b.busiest)
	if !ok {
		return 0, "", false
	}
	for _, w := range b.busiest.Warnings {
		if w.Code == "cpu_shared" || w.Code == "generator_saturated" {
			generator, _ := trial.GeneratorCPUPerOp.Of(b.busiest)
			return server + generator, "server and generator together, which share the cores", true
		}
	}
	return server, "the server", true
}

// knownGuard returns an error that lists the designs when name is none.
func knownGuard(name string) error {
	_, err := guard.Lookup(name)
	return err
}
