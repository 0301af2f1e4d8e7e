package load

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"contend/errkind"
	"contend/pace"
)

// A Shard hands out the iterations of some of a run's VUs and records what
// became of them. There are as many shards as event loops or as cores, not as
// VUs: three digits over an hour cost 270 kB a histogram. Its methods may be
// called concurrently, except Next in the open model.
type Shard struct {
	run  *run
	part LoopPart
	// arrivals are those of the open model that fall to this shard, where an
	// event loop drives it; the VUs of goroutines take theirs from run.baton.
	arrivals *arrivals

	begun  atomic.Int64 // below 0 when nothing may begin any more
	free   atomic.Int64 // VUs of the open model: those that were free when the window ended, set then
	mu     sync.Mutex
	closed bool // nothing is recorded any more
	ended  int64
	last   time.Duration // latest completion
	// longest is the longest service time of a response so far, those of the warm-up included.
	longest time.Duration
	counts  Counts
	glance  *coarse // response times of the completed, for whoever watches; nil: nobody does
	// early is what counts no longer has: see soFar. It is the watching goroutine's.
	early *earlyTimes
	// retired are the VUs of the closed model for which no iteration was left, and
	// retiredAt is the sum of when.
	retired   int
	retiredAt time.Duration
	// paused is how long VUs waited for their turns, and each how many iterations of each VU were
	// handed out, where that is limited.
	paused   time.Duration
	each     map[int]int64
	overhang time.Duration // of a result
	heard    []hearing     // of the VUs of the closed model
	tolerance
	_ [64]byte // keeps neighbours off this cache line
}

// An Iteration is one turn of a VU. Its times are offsets from the start of
// the run.
type Iteration struct {
	Due, Start time.Duration
	vu         int  // of the closed model
	Apart      bool // in the closed model: it is due later than the think time says, so that others may be due before
	counted    bool // due in the measured window
}

// Elapsed returns the time since the start of the run.
func (s *Shard) Elapsed() time.Duration { return s.run.elapsed() }

// Since returns the offset of a time from the start of the run.
func (s *Shard) Since(t time.Time) time.Duration { return t.Sub(s.run.base) }

// Model returns the model of the run.
func (s *Shard) Model() Model { return s.run.plan.Model() }

// VUs returns how many of the shard's VUs the run uses: the first ones.
func (s *Shard) VUs() int { return s.part.Len(s.run.plan.VUs) }

// Timeout returns the limit of one iteration; 0 means none.
func (s *Shard) Timeout() time.Duration { return s.run.plan.Timeout }

// Next returns the next iteration, to be begun when it is due, or false after the
// last. In the closed model it is that of the VU that became free at the given
// time (0: at the start), due after the think time, and not before its turn if
// callers are planned. In the open model it is the next arrival that falls to this
// shard, for whichever VU is free, and has to be begun before Next is called
// again.
func (s *Shard) Next(vu int, free time.Duration) (Iteration, bool) {
	r := s.run
	if r.plan.Pacer != nil {
		return r.next(s.arrivals)
	}
	due := free + r.plan.Think
	earliest := free
	if s.run.refused.Load() {
		earliest += s.breather(vu)
	}
	if free == 0 {
		due = r.plan.Spread * time.Duration(vu) / time.Duration(r.plan.VUs)
	}
	turn := s.turn(vu, max(due, earliest))
	if turn == pace.Never {
		s.retire(free)
		return Iteration{}, false
	}
	it := r.iteration(turn)
	it.vu, it.Apart = vu, earliest > due
	if it.counted && !r.reserve() {
		s.retire(free)
		return it, false
	}
	s.pause(it.Due - due)
	return it, true
}

// breather is how long a VU waits at least after nobody listened: a dead server is not asked more than about a thousand times a
// second by up to a hundred VUs, and one that starts again is found within a tenth of a second.
func (s *Shard) breather(vu int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if vu >= len(s.heard) || !s.heard[vu].refused {
		return 0
	}
	return min(max(time.Duration(s.run.plan.VUs)*time.Millisecond, leastBreather), mostBreather)
}

const (
	leastBreather = 10 * time.Millisecond
	mostBreather  = 100 * time.Millisecond
)

// PlansCallers reports whether VUs have turns: an iteration may be due long after its VU became free.
func (s *Shard) PlansCallers() bool { return s.run.plan.Callers != nil || s.run.plan.Spread > 0 }

// turn is when a VU may begin that could at that time, or pace.Never.
func (s *Shard) turn(vu int, due time.Duration) time.Duration {
	p := &s.run.plan
	if p.PerVU > 0 && !s.hasMore(vu) {
		return pace.Never
	}
	if p.Callers == nil {
		return due
	}
	return p.Callers.Next(int(p.Share.Number(int64(vu))), due)
}

// hasMore counts the iterations of a VU, as long as it has not had all of its own.
func (s *Shard) hasMore(vu int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each == nil {
		s.each = map[int]int64{}
	}
	s.each[vu]++
	return s.each[vu] <= s.run.plan.PerVU
}

// retire notes that no iteration was left for a VU that became free then.
func (s *Shard) retire(free time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired++
	s.retiredAt += max(free, s.run.plan.Warmup)
}

// pause notes that a VU waits so long for its turn.
func (s *Shard) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused += d
}

// idle returns how long the retired VUs had nothing to do until the end, in sum.
func (s *Shard) idle(end time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused + max(0, time.Duration(s.retired)*end-s.retiredAt)
}

// Begin starts an iteration that is due. It returns false when the measured
// window has ended, or the run: then nothing more is to be started. An arrival
// that was due in the window and found a free VU is started even after it: it
// is the driver that is late.
func (s *Shard) Begin(it *Iteration, now time.Duration) bool {
	r := s.run
	end := r.plan.windowEnd()
	if now >= end {
		r.edge(WindowCloses)
	}
	open := r.plan.Pacer != nil
	if it.Due >= end || open && now >= end && s.free.Load() <= 0 {
		return false
	}
	if it.counted && s.begun.Add(1) < 0 || !it.counted && s.begun.Load() < 0 {
		return false
	}
	if open {
		s.free.Add(-1)
	}
	r.pass(now)
	it.Start = now
	if s.arrivals != nil {
		r.began(s.arrivals, now)
	}
	return true
}

// TimedOut is the error of an iteration that took longer than Timeout.
func (s *Shard) TimedOut() error { return s.run.timedOut }

// Finish records an iteration that was begun. The outcome counts if err is nil and it came
// within the timeout: who drives the VU may have been late to look at the clock.
func (s *Shard) Finish(it *Iteration, end time.Duration, out *Outcome, err error) {
	if limit := s.Timeout(); err == nil && limit > 0 && end-it.Start > limit {
		err = s.TimedOut()
	}
	if s.run.plan.WholeFlows && out.Flow != nil && out.Flow.Whole {
		out.Failed = false
	}
	if s.run.plan.Pacer != nil && end < s.run.plan.windowEnd() {
		s.free.Add(1)
	}
	aborts := s.begun.Load() >= 0 && s.run.outage.note(it, end, out, err) // after the end nothing counts
	s.finish(it, end, out, err)
	if aborts {
		s.run.close() // at once: nothing more begins
	}
}

func (s *Shard) finish(it *Iteration, end time.Duration, out *Outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run.plan.Pacer != nil && err == nil {
		s.saw(end - it.Start)
	}
	if s.closed {
		return
	}
	if s.run.plan.Pacer == nil {
		s.hear(it.vu, err)
	}
	if err == nil {
		s.longest = max(s.longest, end-it.Start)
	}
	opens := s.run.plan.Warmup
	within := Iteration{Due: it.Due - opens, Start: it.Start - opens}
	if !it.counted {
		s.counts.Course.recordWarmup(within, end-opens, out, err)
		return
	}
	s.ended++
	s.last = max(s.last, end)
	s.overhang += s.run.plan.overhang(end)
	if s.glance != nil && err == nil && !out.Failed {
		s.glance.record(end - it.Due)
	}
	s.counts.Record(within, end-opens, out, err)
	if sample := s.run.plan.Sample; sample != nil {
		s.run.sampling.Lock()
		sample(Sample{Due: it.Due, Start: it.Start, End: end, Outcome: *out, Err: err})
		s.run.sampling.Unlock()
	}
}

// A hearing is what is known of a VU: whether an iteration of it ended, how many were answered, and whether nobody listened to the latest.
type hearing struct {
	of, refused bool
	answered    int64
}

// hear notes that an iteration of a VU ended.
func (s *Shard) hear(vu int, err error) {
	if vu >= len(s.heard) {
		s.heard = append(s.heard, make([]hearing, vu+1-len(s.heard))...)
	}
	h := &s.heard[vu]
	if !h.of {
		h.of = true
		s.run.outage.silent.Add(-1)
	}
	if h.refused = err != nil && errkind.Of(err) == errkind.Refused; h.refused {
		s.run.refused.Store(true)
	}
	if err == nil {
		h.answered++
	}
}

// close ends the shard: nothing begins or is recorded any more. Iterations that
// were begun count as planned, unless a pacer plans, and those in flight as
// unfinished.
func (s *Shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.early.addTo(&s.counts)
	s.counts.Planned = s.begun.Add(math.MinInt64) - math.MinInt64
	s.counts.Unfinished = s.counts.Planned - s.ended
}
