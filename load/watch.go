package load

import (
	"context"
	"time"

	"contend/internal/cpu"
)

// watched is what the watching goroutine learned.
type watched struct {
	finished  bool          // all VUs ended by themselves
	spent     cpu.Spent     // over the measured window
	stalled   time.Duration // likewise
	closedAt  time.Duration // when the measured window closed
	interrupt bool
	outage    bool
	enough    bool
}

// watch keeps the times of the run: it observes the edges of the measured
// window, reports progress, and returns when all VUs have ended, the grace is
// over, nothing has succeeded for too long, or ctx is done.
func (r *run) watch(ctx context.Context, done <-chan struct{}) watched {
	var w watched
	r.look()
	opened := r.until(ctx, done, r.plan.Warmup)
	before := r.edge(WindowOpens)
	meter := cpu.StartStallMeter(r.parallel, r.threads)
	if opened == timeIsUp {
		opened = r.until(ctx, done, r.plan.windowEnd())
	}
	if opened == contextDone || opened == inOutage || opened == enough {
		r.close() // nothing begins after the end
	}
	w.stalled = meter.Stop()
	w.spent = r.edge(WindowCloses).Since(before)
	w.closedAt = min(r.elapsed(), r.plan.windowEnd())
	if opened == timeIsUp {
		opened = r.until(ctx, done, r.plan.windowEnd()+r.plan.Grace)
	}
	w.finished, w.interrupt, w.outage, w.enough = opened == allEnded, opened == contextDone, opened == inOutage, opened == enough
	return w
}

type waitEnd int

const (
	timeIsUp waitEnd = iota + 1
	allEnded
	contextDone
	inOutage
	enough // Plan.Until says so
)

// until waits for the offset to pass, looking at the CPU time and reporting progress each second.
func (r *run) until(ctx context.Context, done <-chan struct{}, offset time.Duration) waitEnd {
	defer r.look()
	for {
		rest := offset - r.elapsed()
		if rest <= 0 {
			return timeIsUp
		}
		select {
		case <-done:
			if ctx.Err() != nil {
				return contextDone
			}
			return allEnded
		case <-ctx.Done():
			return contextDone
		case <-r.outage.over:
			return inOutage
		case <-time.After(min(rest, lookEvery)):
			now := r.elapsed()
			if now < offset {
				r.look()
			}
			if now >= offset || now-r.reported >= time.Second {
				r.reported = now
				if r.report() {
					return enough
				}
			}
		}
	}
}

func waitFor(done <-chan struct{}, limit time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}
