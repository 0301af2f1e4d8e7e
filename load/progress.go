package load

import (
	"maps"
	"sync"
	"time"

	"contend/hist"
)

// Progress is a glance at a run under way. All but Elapsed is about the measured window, so
// far.
type Progress struct {
	Elapsed                    time.Duration // since the start, warm-up included
	Measured                   time.Duration // how much of the window is over
	Completed, Failed, Errored int64
	Ops                        int64         // of the completed
	P99                        time.Duration // of their response times, at most 1/64 off; 0: none
	// CPU time of the generator's process, and of the server's where that is sampled, looked at
	// every 250 ms.
	GeneratorCPU, ServerCPU time.Duration
	// Spread is how generators on other machines compare so far; nil: this process is the only one.
	Spread *Spread
	// Last is set at the end, when the figures are those of the result.
	Last bool

	counts func() *Counts
	course func() *Course
}

// A Spread is the right operations a second of each of several generators so far: the least and the most of all but an
// odd one, if there is one that has far more or less than most, or has fallen silent, for its share. It is a look, and no test.
type Spread struct {
	Generators  int
	LeastPerSec float64
	MostPerSec  float64
	Odd         string // "": none
	OddPerSec   float64
	OddSilent   bool
}

// Counts returns what has been counted so far: Planned, all that adds up to it, Ops, bytes, Response and
// StartLag, and at the end everything in the result except its Course. What is in flight or waits for a VU is
// Unfinished until the end; what waits longer is Dropped only then. Call it in Plan.Progress only; the counts
// may be kept, but not changed.
//
// A second call returns the same counts. The first takes the watching goroutine about 0.5 ms for each event
// loop or core; iterations wait for less than a microsecond of that.
//
// For a load that is driven on other machines only the figures of Progress are known before the end.
func (p Progress) Counts() *Counts {
	if p.counts != nil {
		return p.counts()
	}
	c := newSum()
	c.Completed, c.Failed, c.Ops = p.Completed, p.Failed, p.Ops
	c.Planned = p.Completed + p.Failed
	return &c
}

// Course returns the course of the run so far, warm-up included, in full intervals. Call it in
// Plan.Progress only; it may be kept. It takes the watching goroutine a few milliseconds;
// iterations wait for a tenth of one at most. nil: the load is driven on other machines, and its
// course is not known before the end.
func (p Progress) Course() *Course {
	if p.course == nil {
		return nil
	}
	return p.course()
}

// report calls Plan.Progress, and returns what Plan.Until says.
func (r *run) report() (enough bool) {
	if r.plan.Progress == nil && r.plan.Until == nil {
		return false
	}
	p := Progress{Elapsed: r.elapsed(), counts: sync.OnceValue(r.soFar), course: r.course}
	p.Measured = min(max(0, p.Elapsed-r.plan.Warmup), r.plan.windowEnd()-r.plan.Warmup)
	if r.plan.Progress != nil {
		seen := newGlance()
		for _, s := range r.shards {
			s.progress(&p, seen)
		}
		p.P99 = seen.quantiles(0.99)[0]
		p.GeneratorCPU, p.ServerCPU = r.used.cpu()
		r.plan.Progress(p)
	}
	return r.plan.Until != nil && p.Elapsed < r.plan.windowEnd() && r.plan.Until(p)
}

// reportLast calls Plan.Progress with the figures of the result.
func (r *run) reportLast(result *Result) {
	_, server := r.used.cpu()
	r.plan.reportLast(result, r.elapsed(), server)
}

func (p Plan) reportLast(result *Result, elapsed, server time.Duration) {
	if p.Progress == nil {
		return
	}
	counts := result.Counts
	counts.Course = nil
	p.Progress(Progress{
		Elapsed: elapsed, Measured: result.Duration, Last: true, counts: func() *Counts { return &counts }, course: func() *Course { return result.Course },
		Completed: counts.Completed, Failed: counts.Failed, Errored: counts.ErroredTotal(), Ops: counts.Ops,
		P99:          counts.Response.Quantile(0.99),
		GeneratorCPU: time.Duration(result.GeneratorCPUSec * float64(time.Second)), ServerCPU: server,
	})
}

// soFar adds up what the shards have counted, and what is planned up to now.
func (r *run) soFar() *Counts {
	sum := newSum()
	for _, s := range r.shards {
		s.soFar(&sum)
	}
	if r.due != nil {
		sum.Planned = r.planned(min(r.elapsed(), r.plan.windowEnd()))
	}
	sum.Unfinished = sum.Planned - sum.Accounted()
	return &sum
}

// progress adds what has been recorded so far. Iterations of the shard may wait for it, for
// as long as it takes to copy some kilobytes.
func (s *Shard) progress(p *Progress, seen *coarse) {
	own := newGlance()
	s.mu.Lock()
	copy(own.counts, s.glance.counts)
	p.Completed += s.counts.Completed
	p.Ops += s.counts.Ops
	p.Failed += s.counts.Failed
	p.Errored += s.counts.ErroredTotal()
	s.mu.Unlock()
	seen.add(own)
}

// earlyTimes are what a shard recorded until somebody asked for it last; nil: nobody has.
type earlyTimes struct{ response, startLag *hist.Histogram }

// addTo adds them to what was recorded since.
func (e *earlyTimes) addTo(c *Counts) {
	if e != nil {
		c.Response.Merge(e.response)
		c.StartLag.Merge(e.startLag)
	}
}

// soFar adds what has been recorded so far. Other histograms take the place of those of the
// shard, so that no iteration waits for copies of these.
func (s *Shard) soFar(sum *Counts) {
	response, startLag := hist.New(), hist.New()
	s.mu.Lock()
	seen := s.counts
	seen.Errored = maps.Clone(seen.Errored)
	var meters Counts // a copy
	if s.run.plan.Until != nil {
		meters.addMeters(&seen)
	}
	s.counts.Response, s.counts.StartLag = response, startLag
	planned := s.begun.Load()
	s.mu.Unlock()
	s.early.addTo(&seen)
	s.early = &earlyTimes{seen.Response, seen.StartLag}
	sum.Add(&Counts{Planned: planned, Completed: seen.Completed, Failed: seen.Failed, Errored: seen.Errored, Ops: seen.Ops,
		BytesIn: seen.BytesIn, BytesOut: seen.BytesOut, BodyIn: seen.BodyIn, Response: seen.Response, StartLag: seen.StartLag})
	sum.addMeters(&meters)
}

// cpu returns what generator and server used in the measured window.
func (c *Course) cpu() (generator, server time.Duration) {
	for _, in := range c.Intervals[min(c.Warmup, len(c.Intervals)):] {
		generator += in.GeneratorCPU
		server += in.ServerCPU
	}
	return generator, server
}

// Done returns the share of the run that is over, 0 to 1: of the time or of the
// iterations, whichever ends it first.
func (p Plan) Done(now Progress) float64 {
	share := 0.0
	if now.Last {
		share = 1
	}
	if p.Duration > 0 {
		share = max(share, float64(now.Elapsed)/float64(p.windowEnd()))
	}
	if p.Iterations > 0 {
		share = max(share, float64(now.Completed+now.Failed+now.Errored)/float64(p.Iterations))
	}
	return min(1, share)
}
