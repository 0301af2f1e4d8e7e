package experiment

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// callerBlock is how long one caller is measured.
const callerBlock = time.Second

// guardBound says how much the choice of the guard could change at most, from
// its cost in process: on throughput, extra guard CPU ÷ CPU per call of the
// saturated resource (the server, and the generator where they share the
// cores); on latency, extra guard time ÷ service time at one caller.
func (r *runner) guardBound(ctx context.Context) ([]report.Analysis, error) {
	var list []report.Analysis
	for _, p := range r.Parts {
		base := p.Arms[p.Baseline]
		if base.Guard == "" || p.Count.Count {
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

func (r *runner) bound(ctx context.Context, p Part, candidate string) (report.Analysis, error) {
	baseline := p.Baseline
	busiest, ok := r.busiest(p)
	if !ok {
		return report.Analysis{}, fmt.Errorf("part %q has no successful responses to compare the guards with", p.Name)
	}
	call := GuardedCall{Busy: busiest}
	costs, err := MeasureGuards(ctx, []string{p.Arms[baseline].Guard, p.Arms[candidate].Guard}, call.Callers(), nil)
	if err != nil {
		return report.Analysis{}, err
	}
	base, cand := costs[0], costs[1]
	alone, err := r.oneCaller(ctx, p, baseline)
	if err != nil {
		return report.Analysis{}, err
	}
	call.Alone = alone.Service.Mean()
	title := fmt.Sprintf("What the guard could change at most: %s compared with %s", candidate, baseline)
	if p.Title != "" {
		title += " (" + p.Title + ")"
	}
	b := bound{GuardedCall: call, base: base, cand: cand, measured: r.measured(p, candidate, busiest.Concurrency)}
	return report.Analysis{
		Name: "guard_bound", Title: title,
		Columns: []string{"guard", "callers", "CPU per call", "time per call, 1 caller", "calls/s at most"},
		Rows:    [][]string{b.row(baseline, base), b.row(candidate, cand)}, Sentence: b.sentences(candidate, baseline),
	}, nil
}

// busiest returns the cell of the baseline with the highest throughput.
func (r *runner) busiest(p Part) (best trial.Cell, ok bool) {
	for _, c := range r.doc.Cells(report.Place{Experiment: r.ID, Part: p.Name}) {
		if c.Arm == p.Baseline && c.Completed > 0 && (!ok || c.ThroughputPerSec > best.ThroughputPerSec) {
			best, ok = c, true
		}
	}
	return best, ok
}

// oneCaller measures the part's baseline with one VU; gRPC calls share a
// connection, so that the call alone is timed.
func (r *runner) oneCaller(ctx context.Context, p Part, arm string) (trial.Cell, error) {
	p.Arms = maps.Clone(p.Arms)
	a := p.Arms[arm]
	if a.Target.Get("connections") != "" {
		a.Target = a.Target.With("connections", "shared:1")
	}
	p.Arms[arm] = a
	plan := load.Plan{VUs: 1, Warmup: callerBlock / 5, Duration: callerBlock, Grace: load.DefaultGrace, Timeout: p.Plan.Timeout}
	cell, err := trial.Measure(ctx, r.arm(p, arm), plan)
	if err == nil && cell.Completed == 0 {
		err = fmt.Errorf("no right answer with one caller (%s)", cell.Stopped)
	}
	return cell, err
}

// bound is the analysis of one candidate.
type bound struct {
	GuardedCall
	base, cand GuardCost
	measured   stat.Effect // of the candidate on the throughput
}

// measured returns the comparison of the throughputs at one level.
func (r *runner) measured(p Part, candidate string, vus int) stat.Effect {
	place := report.Place{Experiment: r.ID, Part: p.Name}
	for _, c := range r.doc.Comparisons {
		if c.Place == place && c.Candidate == candidate && c.Concurrency == vus && c.Metric == metric.Throughput {
			return c.Effect
		}
	}
	return stat.Effect{}
}

func (b bound) row(name string, c GuardCost) []string {
	return []string{name, fmt.Sprint(b.Callers()), unit.Duration(float64(c.CPU)), unit.Duration(float64(c.Call)),
		unit.Number(float64(time.Second) / float64(c.Wall))}
}

func (b bound) sentences(candidate, baseline string) []string {
	perCall, whose := b.CPU()
	share := math.Abs(b.Throughput(b.base, b.cand))
	list := []string{fmt.Sprintf(
		"Throughput: %s costs %s more CPU per call than %s, of %s that a call costs %s: at most %.1f%%, if it costs there what it costs in process.",
		candidate, unit.Duration(float64(b.cand.CPU-b.base.CPU)), baseline, unit.Duration(perCall), whose, 100*share)}
	if m := b.measured; m.Bounded() && (m.High < 1-share || m.Low > 1+share) {
		list = append(list, fmt.Sprintf(
			"Measured were %+.1f%% [%+.1f, %+.1f], which is more: behind the network %s costs more than in process, as when its hand-overs wake goroutines while both cores are busy.",
			100*(m.Ratio-1), 100*(m.Low-1), 100*(m.High-1), candidate))
	}
	list = append(list, fmt.Sprintf(
		"Latency: one caller waits %s longer in %s than in %s, of a service time of %s: at most %.2f%%.",
		unit.Duration(float64(b.cand.Call-b.base.Call)), candidate, baseline, unit.Duration(float64(b.Alone)),
		100*math.Abs(b.Latency(b.base, b.cand))))
	for _, g := range []struct {
		name string
		cost GuardCost
	}{{baseline, b.base}, {candidate, b.cand}} {
		if share, queues := b.Queues(g.cost); queues {
			list = append(list, fmt.Sprintf(
				"Beware: at %.0f calls/s the guard %s is busy %.0f%% of the time, so it queues by itself and these bounds are too low.",
				b.Busy.ThroughputPerSec, g.name, 100*share))
		}
	}
	return list
}
