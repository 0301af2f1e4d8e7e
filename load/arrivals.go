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
	index       int // in the schedule, of the next to look up
	left        limit

	ahead []time.Duration // when those that were looked up are due,
	first int             // index in ahead of the next arrival
	over  bool            // no further one is to begin
	spent bool            // none is left
}

// peek returns when the next arrival is due, or pace.Never after the last.
func (a *arrivals) peek() time.Duration {
	if a.first == len(a.ahead) {
		a.ahead, a.first = a.ahead[:0], 0
		a.lookUp()
	}
	return a.ahead[a.first]
}

// lookUp adds one arrival to those ahead.
func (a *arrivals) lookUp() {
	due := a.left.next(a.schedule)
	for a.index%a.turns != a.turn && due != pace.Never {
		a.index++
		due = a.left.next(a.schedule)
	}
	a.index++
	a.ahead = append(a.ahead, due)
}

// maxAhead bounds how many arrivals start together.
const maxAhead = 1024

// together returns when the last arrival is due that is not due after the limit;
// the next one, at least, must be such.
func (a *arrivals) together(limit time.Duration) time.Duration {
	for i := a.first; ; i++ {
		if i == len(a.ahead) {
			a.lookUp()
		}
		if a.ahead[i] > limit {
			return a.ahead[i-1]
		}
		if i-a.first == maxAhead {
			return a.ahead[i]
		}
	}
}

// pop takes the next arrival, which begins or is dropped.
func (a *arrivals) pop() { a.first++ }

// began takes the next arrival, which has begun.
func (r *run) began(a *arrivals, now time.Duration) {
	a.pop()
	if now <= r.ends && a.peek() == pace.Never {
		r.spend(a)
	}
}

// next hands out the next arrival, or false after the last.
func (r *run) next(a *arrivals) (Iteration, bool) {
	if a.over || a.peek() == pace.Never {
		r.spend(a)
		return Iteration{}, false
	}
	return r.iteration(a.peek()), true
}

// A limit is how many arrivals a plan has left, of those that count.
type limit struct {
	from time.Duration // when counting begins
	n    int64         // -1: for ever
}

func (p Plan) limit() limit {
	if p.Iterations == 0 {
		return limit{n: -1}
	}
	return limit{p.Warmup, p.Iterations}
}

// next returns when the next arrival is due, or pace.Never where none is left.
func (l *limit) next(s *pace.Schedule) time.Duration {
	due := s.Next()
	switch {
	case l.n < 0 || due < l.from:
		return due
	case l.n == 0:
		return pace.Never
	}
	l.n--
	return due
}

// plannedArrivals are those that were due up to a moment.
type plannedArrivals struct {
	schedule *pace.Schedule
	left     limit
	next     time.Duration // when the first of the others is due
	count    int64         // in the measured window
}

// planned counts the arrivals that were due in the measured window, before end. The next call
// goes on from there.
func (r *run) planned(end time.Duration) int64 {
	p := r.due
	for ; p.next < end; p.next = p.left.next(p.schedule) {
		if p.next >= r.plan.Warmup {
			r.used.At(p.next-r.plan.Warmup).Planned++
			p.count++
		}
	}
	return p.count
}

// drop counts those of them that never began.
func (r *run) drop(all []*arrivals, end time.Duration, course *Course) (dropped int64) {
	for _, a := range all {
		for ; a.peek() < end; a.pop() {
			if r.iteration(a.peek()).counted {
				course.At(a.peek()-r.plan.Warmup).Dropped++
				dropped++
			}
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
