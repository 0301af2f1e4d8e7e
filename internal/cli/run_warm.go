package cli

import (
	"context"
	"errors"
	"fmt"

	"contend/load"
	"contend/setting"
	"contend/trial"
)

// pilot is what a run of a server that it starts does first, at most as long as it measures afterwards. It is
// omitted if a warm-up is given, if the load changes before the time is over, and for scripts.
func (r *runSettings) pilot(plan load.Plan, widen func() bool) trial.Pilot {
	p := trial.Pilot{Plan: plan, Widen: widen}
	p.Plan.Progress, p.Plan.Until = nil, nil
	flat := plan.Iterations == 0 && plan.Callers == nil && (plan.Pacer == nil || plan.Pacer.Flat())
	if r.warms && flat && r.script == nil {
		p.Most = min(plan.Duration, trial.Within(0, 1))
	}
	return p
}

// measureWarm drives the arm until it is warm, and then by the plan.
func (a *app) measureWarm(ctx context.Context, arm trial.Arm, plan load.Plan, p trial.Pilot) (trial.Cell, error) {
	if p.Most > 0 {
		fmt.Fprintf(a.Err, "run: warming up until the CPU time per op is level, for at most %s\n", setting.Duration(p.Most))
	}
	warmed, err := p.Warm(ctx, arm)
	if err != nil {
		return trial.Cell{}, err
	}
	cell, err := trial.Measure(ctx, warmed.Arm, plan)
	if cell.Result != nil && warmed.Took > 0 {
		cell.Plan.Warmup = warmed.Took
		cell.Derive()
	}
	return cell, errors.Join(err, warmed.End(ctx))
}
