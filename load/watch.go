package load

import (
	"context"
	"time"

	"contend/internal/cpu"
)

// watched is what the watching goroutine learned.
type watched struct {
	finished  bool          // all VUs ended on their own
	spent     cpu.Spent     // over the measured window
	stalled   time.Duration // over the measured window
	closedAt  time.Duration // when the measured window closed
	graceEnd  time.Duration // when iterations in flight were to be cut off; 0: nothing was waited for
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
	opened := r.span(ctx, done, r.plan.Warmup)
	before := r.edge(WindowOpens)
	meter := cpu.StartStallMeter(r.parallel, r.threads)
	if opened == timeIsUp {
		opened = r.span(ctx, done, r.plan.windowEnd())
	}
	cut := opened == contextDone || opened == inOutage || opened == enough
	if cut {
		r.close() // nothing begins after the end
	}
	w.stalled = meter.Stop()
	w.spent = r.edge(WindowCloses).Since(before)
	w.closedAt = min(r.elapsed(), r.plan.windowEnd())
	if r.spent != nil && !cut {
		w.closedAt = min(max(r.ends, r.spent.when(w.closedAt)), r.plan.windowEnd())
	}
	if opened == timeIsUp || r.spent != nil && !cut {
		w.graceEnd = r.plan.graceEnd(r.longest())
		opened = r.until(ctx, done, w.graceEnd)
	}
	w.finished, w.interrupt, w.outage, w.enough = opened == allEnded, opened == contextDone, opened == inOutage, opened == enough
	return w
}

// longest is the longest service time so far.
func (r *run) longest() (longest time.Duration) {
	for _, s := range r.shards {
		s.mu.Lock()
		longest = max(longest, s.longest)
		s.mu.Unlock()
	}
	return longest
}

// span waits for an offset to pass or for all iterations to have ended; in the open model for a VU to be free
// and all to have begun. A load that is planned by time lasts until the window ends even if nothing is left to
// do.
func (r *run) span(ctx context.Context, done <-chan struct{}, offset time.Duration) waitEnd {
	over := done
	if r.spent != nil {
		over = r.spent.all
	}
	end := r.until(ctx, over, offset)
	rest := min(offset, r.ends)
	byTime := r.spent != nil || r.plan.Callers != nil && r.plan.Iterations == 0
	if end != allEnded || !byTime || r.broken(done) || r.elapsed() >= rest {
		return end
	}
	return r.until(ctx, nil, rest)
}

// broken reports whether all drivers have ended, one by an error.
func (r *run) broken(done <-chan struct{}) bool {
	select {
	case <-done:
		return r.loopErr != nil
	default:
		return false
	}
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
