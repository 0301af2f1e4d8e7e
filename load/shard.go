package load

import (
	"sync"
	"sync/atomic"
	"time"
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
	arrivals *Schedule
	sharing  int // shards that share the arrivals
	arrival  int // index of the next one among all

	begun  atomic.Int64
	closed atomic.Bool // nothing is begun or recorded any more; set under mu
	mu     sync.Mutex
	last   time.Duration // latest completion
	counts Counts
	_      [64]byte // keeps neighbours off this cache line
}

// An Iteration is one turn of a VU. Its times are offsets from the start of
// the run.
type Iteration struct {
	Due, Start time.Duration
	counted    bool // due in the measured window
}

// Elapsed returns the time since the start of the run.
func (s *Shard) Elapsed() time.Duration { return s.run.elapsed() }

// Model returns the model of the run.
func (s *Shard) Model() Model { return s.run.plan.Model() }

// VUs returns how many of the shard's VUs the run uses: the first ones.
func (s *Shard) VUs() int { return s.part.Len(s.run.plan.VUs) }

// Timeout returns the limit of one iteration; 0 means none.
func (s *Shard) Timeout() time.Duration { return s.run.plan.Timeout }

// Next returns the next iteration, to be begun when it is due, or false when
// there will be none. In the closed model it is that of the VU that became free
// at the given time (0: at the start), due after the think time. In the open
// model it is the next arrival that falls to this shard, for whichever VU is free.
func (s *Shard) Next(free time.Duration) (Iteration, bool) {
	plan := &s.run.plan
	if plan.Pacer == nil {
		due := free
		if free > 0 {
			due += plan.Think
		}
		return s.run.limited(min(due, plan.windowEnd()))
	}
	due := s.nextArrival()
	if due == maxDue {
		return Iteration{}, false
	}
	return s.run.limited(min(due, plan.windowEnd()))
}

// nextArrival returns the due time of the next arrival that falls to the shard:
// they are dealt out by turns among the shards that have VUs.
func (s *Shard) nextArrival() time.Duration {
	if s.part.Index >= s.sharing {
		return maxDue
	}
	for ; s.arrival%s.sharing != s.part.Index; s.arrival++ {
		if s.arrivals.Next() == maxDue {
			return maxDue
		}
	}
	s.arrival++
	return s.arrivals.Next()
}

// limited makes an iteration, unless it would be one more than the plan allows.
func (r *run) limited(due time.Duration) (Iteration, bool) {
	it := Iteration{Due: due, counted: due >= r.plan.Warmup}
	return it, !it.counted || due >= r.plan.windowEnd() || r.left.Add(-1) >= 0
}

// Begin starts an iteration that is due. It returns false when the measured
// window has ended, or the run: then nothing more is to be started.
func (s *Shard) Begin(it *Iteration, now time.Duration) bool {
	end := s.run.plan.windowEnd()
	if s.closed.Load() || it.Due >= end || s.run.plan.Pacer != nil && now >= end {
		if now >= end {
			s.run.edge(WindowCloses)
		}
		return false
	}
	s.run.pass(now)
	it.Start = now
	if it.counted {
		s.begun.Add(1)
	}
	return true
}

// Finish records an iteration that was begun. The outcome counts if err is nil.
func (s *Shard) Finish(it *Iteration, end time.Duration, out *Outcome, err error) {
	if !it.counted {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return
	}
	s.last = max(s.last, end)
	opens := s.run.plan.Warmup
	s.counts.Record(Iteration{Due: it.Due - opens, Start: it.Start - opens}, end-opens, out, err)
	if sample := s.run.plan.Sample; sample != nil {
		s.run.sampling.Lock()
		sample(Sample{Due: it.Due, Start: it.Start, End: end, Outcome: *out, Err: err})
		s.run.sampling.Unlock()
	}
}

func (s *Shard) close() {
	s.mu.Lock()
	s.closed.Store(true)
	s.mu.Unlock()
}

func (s *Shard) progress(p *Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Completed += s.counts.Completed
	p.Failed += s.counts.Failed
	p.Errored += s.counts.ErroredTotal()
}
