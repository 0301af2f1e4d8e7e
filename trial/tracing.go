package trial

import (
	"context"
	"math"

	"contend/stat"
	"contend/why"
	"contend/why/gotrace"
)

// trace drives the arm for one more block, takes an execution trace of it, and keeps what it shows;
// untold is why that failed. At a rate waiting is not reported, and needs no names.
func (r *round) trace(ctx context.Context, of teller) (untold, err error) {
	if r.plan.Pacer != nil {
		return nil, nil
	}
	inspector, untold := of.found(ctx)
	if untold != nil {
		return untold, nil
	}
	plan := r.blockPlan(of.level)
	cell, told, err := of.driveWhile(ctx, of.session, plan, func(ctx context.Context) ([]byte, error) {
		return inspector.Trace(ctx, plan.Duration*9/10) // begins and ends within the block
	})
	if err != nil {
		return nil, err
	}
	return r.addTrace(of, cell, told), nil
}

// addTrace adds what a trace shows to the profile of its arm in this round.
func (r *round) addTrace(of teller, cell Cell, t told) error {
	if t.err != nil {
		return t.err
	}
	trace, err := gotrace.Read(t.body)
	if err != nil {
		return err
	}
	if p := r.diagnosis.profileOf(of.name, r.number, of.level); p != nil {
		p.Traced = why.NewTraced(trace, cell.ThroughputPerSec, of.level)
	}
	for _, b := range r.trials.Blocks {
		if b.Arm == of.name && b.Round == r.number && b.Concurrency == of.level && b.Pair == 1 && b.ThroughputPerSec > 0 && cell.ThroughputPerSec > 0 {
			r.diagnosis.tracedLogRatios = append(r.diagnosis.tracedLogRatios, math.Log(cell.ThroughputPerSec/b.ThroughputPerSec))
		}
	}
	return nil
}

// cost is the share of the throughput that was lost where it changed by these ln(ratios); 0: none.
func cost(logRatios []float64) float64 { return max(0, 1-math.Exp(stat.Center(logRatios))) }
