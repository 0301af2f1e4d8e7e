package trial

import (
	"context"
	"errors"

	"contend/why"
)

// beginHeaps keeps what profiles of the heap have before arms are driven at a level. All samples taken at
// that level then say which functions allocate memory, as one block has few samples. Without such a
// profile the block's own has to do, and snapshot says why.
func (r *round) beginHeaps(ctx context.Context, arms ...int) {
	if r.diagnosis == nil {
		return
	}
	for _, arm := range arms {
		live := r.lives[arm]
		if live.isLocal() || isSilent(r.diagnosis.WithoutSnapshots, r.arms[arm].Name) {
			continue
		}
		if inspector, err := live.found(ctx); err == nil {
			if shot, err := inspector.Snapshot(ctx); err == nil {
				live.heap = shot.Heap
			}
		}
	}
}

// snapshot drives the arm for one more block between two snapshots of what its program has counted,
// and keeps the difference; untold is why that failed. The block has no lead-in: all that is
// answered between the snapshots counts.
func (r *round) snapshot(ctx context.Context, of teller) (untold, err error) {
	inspector, untold := of.found(ctx)
	if untold != nil {
		return untold, nil
	}
	before, untold := inspector.Snapshot(ctx)
	if untold != nil {
		return untold, nil
	}
	if of.heap != nil {
		before.Heap = of.heap
	}
	plan := r.blockPlan(of.level)
	plan.Warmup, plan.Duration = 0, plan.Warmup+plan.Duration
	cell, err := of.Drive(ctx, of.session, plan)
	if err = errors.Join(err, cell.outage()); err != nil {
		return nil, err
	}
	after, untold := inspector.Snapshot(ctx)
	if untold != nil {
		return untold, nil
	}
	counted, untold := after.Since(before)
	if p := r.diagnosis.profileOf(of.name, r.number, of.level); untold == nil && p != nil {
		p.Snapshots = why.NewSnapshots(counted, cell.Ops, cell.ThroughputPerSec)
	}
	return untold, nil
}
