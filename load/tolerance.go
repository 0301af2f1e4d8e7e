package load

import (
	"time"

	"contend/pace"
)

// A tolerance is the start lag that a shard allows at the moment.
type tolerance struct {
	plan    pace.Tolerance
	typical time.Duration // running median of service times; 0: none was seen
	most    time.Duration // that an arrival has been given
}

// step is the part of itself by which a service time moves the running median.
const step = 16

// saw moves the running median towards a service time, by the same share up or
// down, so that it rests where as many lie above as below.
func (t *tolerance) saw(service time.Duration) {
	switch {
	case t.typical == 0:
		t.typical = service
	case service > t.typical:
		t.typical += t.typical/step + 1
	case service < t.typical:
		t.typical -= t.typical / step
	}
}

// allow returns the start lag that an arrival may have.
func (t *tolerance) allow() time.Duration {
	allowed := t.plan.Of(t.typical)
	t.most = max(t.most, allowed)
	return allowed
}

// Until returns when to begin an arrival of the open model that is not due yet:
// with the last of those that are due no later after it than the plan's StartLag.
func (s *Shard) Until(due time.Duration) time.Duration { return s.until(s.arrivals, due) }

func (s *Shard) until(a *arrivals, due time.Duration) time.Duration {
	late := due
	s.mu.Lock()
	if !s.closed { // else the tolerance stays that of the result
		late += s.allow()
	}
	s.mu.Unlock()
	if late >= s.run.plan.windowEnd() {
		return due // later it might not begin at all
	}
	return a.together(late)
}
