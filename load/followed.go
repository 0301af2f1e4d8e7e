package load

// course returns how the run went up to now, in full intervals. It is the watching goroutine's
// to call, while the shards record.
func (r *run) course() *Course {
	sum := NewCourse(r.plan.Warmup)
	for i, s := range r.shards {
		c := &r.followed[i]
		c.Intervals = c.Intervals[:max(0, len(c.Intervals)-2)] // what ended before has been counted
		for all := false; !all; {
			s.mu.Lock()
			all = c.follow(s.counts.Course)
			s.mu.Unlock()
		}
		sum.Add(c)
	}
	sum.Add(r.used)
	now := r.elapsed() - r.plan.Warmup
	sum.At(now) // if nothing was counted recently, that shows
	sum.Intervals = sum.Intervals[:max(0, sum.index(now))]
	sum.close()
	return sum
}

// followedAtOnce bounds the intervals that are copied while an iteration may wait: about 100 kB.
const followedAtOnce = 32

// follow copies further intervals of a course that is counted into, and reports whether these are all.
func (c *Course) follow(o *Course) (all bool) {
	if c.Width != o.Width {
		*c = Course{Width: o.Width, Warmup: o.Warmup, warmup: o.warmup}
	}
	for range followedAtOnce {
		next := len(c.Intervals)
		if next >= len(o.Intervals) {
			return true
		}
		var copied Interval
		copied.add(&o.Intervals[next])
		c.Intervals = append(c.Intervals, copied)
	}
	return false
}
