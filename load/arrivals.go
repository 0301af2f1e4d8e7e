package load

import (
	"time"

	"contend/pace"
)

// arrivals are what one driver at a time takes from a schedule: all of it, or by
// turns with the other event loops. An arrival that was handed out remains the
// next one until it is begun.
type arrivals struct {
	schedule    *pace.Schedule
	turn, turns int
	index       int // in the schedule, of the one behind due

	due      time.Duration // of the next one,
	known    bool          // if it was looked up
	reserved bool          // the plan's limit has room for it
	over     bool          // no further one is to begin
}

// peek returns when the next arrival is due, or pace.Never if there is none.
func (a *arrivals) peek() time.Duration {
	for ; !a.known; a.index++ {
		a.due = a.schedule.Next()
		a.known = a.index%a.turns == a.turn || a.due == pace.Never
	}
	return a.due
}

// pop takes the next arrival, which begins or is dropped.
func (a *arrivals) pop() { a.known, a.reserved = false, false }

// next hands out the next arrival, or false if there is none.
func (r *run) next(a *arrivals) (Iteration, bool) {
	if a.over || a.peek() == pace.Never {
		return Iteration{}, false
	}
	it := r.iteration(a.due)
	a.reserved = it.counted && r.reserve()
	a.over = it.counted && !a.reserved
	return it, !a.over
}

// drop counts the arrivals that were due in the measured window, before end, and
// never began.
func (r *run) drop(all []*arrivals, end time.Duration) (dropped int64) {
	for _, a := range all {
		if a.reserved {
			r.left.Add(1)
		}
	}
	for _, a := range all {
		for ; a.peek() < end; a.pop() {
			if !r.iteration(a.due).counted {
				continue
			}
			if !r.reserve() {
				return dropped
			}
			dropped++
		}
	}
	return dropped
}

// iteration makes one; only those due in the measured window are counted.
func (r *run) iteration(due time.Duration) Iteration {
	end := r.plan.windowEnd()
	return Iteration{Due: min(due, end), counted: due >= r.plan.Warmup && due < end}
}

// reserve makes room for an iteration within the plan's limit, if there is any.
func (r *run) reserve() bool {
	if r.plan.Iterations == 0 || r.left.Add(-1) >= 0 {
		return true
	}
	r.left.Add(1)
	return false
}
