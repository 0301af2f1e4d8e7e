package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"contend/internal/cpu"
	"contend/pace"
)

// run is one execution of a plan. All its times are offsets from base.
type run struct {
	plan   Plan
	base   time.Time
	shards []*Shard
	left   atomic.Int64 // iterations of the closed model still to begin, if the plan limits them

	// baton is the right to take the next arrival of an open model. The VU that
	// holds it waits for the due time itself, passes the baton on and starts: no
	// hand-over delays the start after the due time.
	baton chan *arrivals
	timer pace.Waiter
	kind  pace.Timer

	edges   [2]observedEdge // of the measured window
	outage  *outage
	refused atomic.Bool // some VU was, see Shard.breather

	// Only the watching goroutine touches these four.
	used     *Course          // CPU time and planned arrivals over time
	looked   look             // the last reading of CPU time
	due      *plannedArrivals // those that are still to be added to used; open model
	followed []Course         // copies of the shards' courses

	ends     time.Duration // planned end of the measured window
	spent    *spent        // open model
	reported time.Duration // when progress was last reported

	timedOut error
	sampling sync.Mutex // one Plan.Sample at a time
	loopErr  error      // the first error of an event loop; read when done is closed

	parallel int   // how many of its threads can run at the same time
	threads  []int // those of the event loops
}

// Run waits abandonAfter for VUs that ignore the end of the run before it
// returns without them, and a session waits stuckAfter for them before it is
// driven again. Event loops heed it: one that does not within stuckAfter is
// broken.
const (
	abandonAfter = 500 * time.Millisecond
	stuckAfter   = 10 * time.Second
)

// Run drives the session's VUs once by the plan, whose VUs must not exceed the
// session's. See the function Run for the result and the error.
func (s *Session) Run(ctx context.Context, plan Plan) (*Result, error) {
	if err := plan.Validate(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if s.pending != nil && !waitFor(s.pending, stuckAfter) {
		return nil, errors.New("the session has an iteration that never ended")
	}
	s.pending = nil
	if plan.VUs > s.size {
		return nil, fmt.Errorf("the plan has concurrency %d, the session %d", plan.VUs, s.size)
	}
	if s.remote != nil {
		result, err := s.remote.Run(ctx, plan)
		if err == nil {
			result.Target = cmp.Or(result.Target, s.name)
			plan.reportLast(result, plan.Warmup+result.Duration, 0)
		}
		return result, err
	}
	// The VUs are stopped only after the shards have closed, so that an iteration
	// cut off by the end is unfinished and not an error of the target.
	driveCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	r := newRun(driveCtx, plan, len(s.loops))
	s.lend(r)
	r.outage = s.outage(r)
	r.parallel = runtime.GOMAXPROCS(0)
	if len(s.loops) > 0 {
		r.parallel = min(r.parallel, len(s.loops))
	}
	if r.timer != nil {
		defer r.timer.Close()
	}
	plan.wait(ctx)
	done := r.start(driveCtx, s)
	watch := r.watch(ctx, done)
	r.close()
	took := r.elapsed()
	s.driven += took
	stop()
	if !watch.finished && !waitFor(done, s.patience()) {
		if s.pending = done; len(s.loops) > 0 {
			return nil, fmt.Errorf("an event loop has not stopped within %v", stuckAfter)
		}
	} else if r.loopErr != nil {
		return nil, r.loopErr
	}
	result := r.result(watch)
	s.takeBack(r)
	if reason := r.outage.abort(); reason != "" {
		result.Stopped, result.Outage = Aborted, reason
	}
	s.sign(result, took)
	if plan.Share.Whole() && !s.keeps {
		result.Course.forget()
	}
	result.Derive()
	r.reportLast(result)
	return result, nil
}

// sign adds to a result what the session knows of it, which drove for so long.
func (s *Session) sign(result *Result, took time.Duration) {
	result.Target, result.Local, result.GeneratorCPULimit = s.name, s.local, s.limit
	if s.metered != nil {
		result.Whole = max(0, took-result.Plan.Warmup)
		s.metered.Settle(result)
	}
	if result.Shares != nil {
		result.Shares.Streams = s.streams
	}
	result.sortMeters()
	result.Engine, result.EngineReason, result.Loops = s.engine, s.reason, len(s.loops)
}

// schedule returns the due times of the plan's share.
func (p Plan) schedule() *pace.Schedule { return p.Pacer.Schedule(p.Seed).Only(p.Share) }

func (r *run) elapsed() time.Duration { return time.Since(r.base) }

// newRun prepares a run of event loops, or of goroutines if loops is 0.
func newRun(ctx context.Context, plan Plan, loops int) *run {
	r := &run{plan: plan, kind: pace.Precise, timedOut: timedOut(plan.Timeout), used: NewCourse(plan.Warmup), ends: plan.ends()}
	r.left.Store(math.MaxInt64)
	if plan.Iterations > 0 {
		r.left.Store(plan.Iterations)
	}
	shards := loops
	if loops == 0 {
		shards = min(runtime.GOMAXPROCS(0), plan.VUs)
	}
	for i := range shards {
		r.shards = append(r.shards, &Shard{
			run: r, part: LoopPart{i, shards, plan.VUs}, counts: newSum(), tolerance: tolerance{plan: plan.StartLag}})
		r.shards[i].counts.Course = NewCourse(plan.Warmup)
		r.shards[i].free.Store(int64(r.shards[i].VUs()))
		if plan.Progress != nil {
			r.shards[i].glance = newGlance()
		}
	}
	r.followed = make([]Course, shards)
	if plan.Pacer == nil {
		r.kind = ""
		return r
	}
	r.spent = newSpent(max(1, min(loops, plan.VUs)))
	r.due = &plannedArrivals{schedule: plan.schedule(), left: plan.limit()}
	r.due.next = r.due.left.next(r.due.schedule)
	if loops > 0 {
		for _, s := range r.shards {
			turn, turns := s.part.Index, min(loops, plan.VUs)
			s.arrivals = &arrivals{schedule: plan.schedule(), left: plan.limit(), turn: turn, turns: turns, over: turn >= turns}
		}
		return r
	}
	r.baton = make(chan *arrivals, 1)
	r.baton <- &arrivals{schedule: plan.schedule(), left: plan.limit(), turns: 1}
	r.timer, r.kind = pace.NewWaiter(ctx, plan.Timer)
	return r
}

// start starts one goroutine per event loop or VU; done is closed when all have
// ended.
func (r *run) start(ctx context.Context, s *Session) (done chan struct{}) {
	var wg, running sync.WaitGroup
	var once sync.Once
	r.threads = make([]int, len(s.loops))
	running.Add(len(s.loops))
	r.base = time.Now()
	for i, loop := range s.loops {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r.threads[i] = cpu.Thread()
			running.Done()
			running.Wait() // any loop may read the clocks of all
			if err := loop.Drive(ctx, r.shards[i]); err != nil {
				once.Do(func() { r.loopErr = err })
			}
		})
	}
	for id, vu := range s.vus[:min(r.plan.VUs, len(s.vus))] {
		wg.Go(func() {
			shard := r.shards[id%len(r.shards)]
			vu := withTimeout(vu, r.plan.Timeout)
			if r.plan.Pacer != nil {
				r.driveOpen(ctx, vu, shard)
			} else {
				r.driveClosed(ctx, id, vu, shard)
			}
		})
	}
	running.Wait()
	done = make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
		if r.spent != nil {
			r.spent.end(r.elapsed())
		}
	}()
	return done
}

// driveClosed: due = previous completion + think time.
func (r *run) driveClosed(ctx context.Context, id int, vu VU, s *Shard) {
	think, _ := pace.NewWaiter(ctx, pace.Runtime)
	defer think.Close()
	var free time.Duration
	for ctx.Err() == nil {
		it, ok := s.Next(id, free)
		if !ok || it.Due > free && !think.Wait(it.Due-r.elapsed()) || !s.Begin(&it, r.elapsed()) {
			return
		}
		free = r.iterate(ctx, vu, s, &it)
	}
}

// driveOpen: due = the pacer's time, whichever VU is free.
func (r *run) driveOpen(ctx context.Context, vu VU, s *Shard) {
	for {
		it, ok := r.beginNext(ctx, s)
		if !ok {
			return
		}
		it.Start = r.elapsed() // the baton is passed on
		r.iterate(ctx, vu, s, &it)
	}
}

// beginNext waits for the baton and for the next arrival, and begins it. It
// returns false after the last arrival, or if the measured window ended during
// the wait.
func (r *run) beginNext(ctx context.Context, s *Shard) (Iteration, bool) {
	var a *arrivals
	select {
	case a = <-r.baton:
	case <-ctx.Done():
		return Iteration{}, false
	}
	it, ok := r.next(a)
	if ok && r.wait(a, it.Due, s) && s.Begin(&it, r.elapsed()) {
		r.began(a, it.Start)
	} else {
		a.over, ok = true, false
	}
	r.baton <- a
	return it, ok
}

// wait waits until an arrival is to begin that is due then; false: the run is over.
func (r *run) wait(a *arrivals, due time.Duration, s *Shard) bool {
	now := r.elapsed()
	return due <= now || r.timer.Wait(s.until(a, due)-now)
}

func (r *run) iterate(ctx context.Context, vu VU, s *Shard, it *Iteration) (end time.Duration) {
	out, err := vu.Do(ctx)
	end = r.elapsed()
	s.Finish(it, end, &out, err)
	return end
}

// close closes the shards; it may be called again.
func (r *run) close() {
	for _, s := range r.shards {
		s.close()
	}
}

// result adds up the shards, which are closed. Derived figures are still missing.
func (r *run) result(w watched) *Result {
	sum := &Result{
		Model: r.plan.Model(), Concurrency: r.plan.VUs, Plan: r.plan, Timer: r.kind,
		Counts: newSum(), Cost: w.cost(), Stopped: r.stopReason(w),
	}
	sum.Course = NewCourse(r.plan.Warmup)
	var last time.Duration
	for _, s := range r.shards {
		sum.Counts.Add(&s.counts)
		last = max(last, s.last)
		sum.StartLagAllowed = max(sum.StartLagAllowed, s.most)
	}
	end := w.closedAt
	if sum.Stopped == StoppedByIterations && r.plan.Pacer == nil {
		end = max(last, r.plan.Warmup)
	}
	if sum.Stopped == StoppedByOutage {
		sum.Outage = r.outage.cause
	}
	sum.Duration = max(0, end-r.plan.Warmup)
	for _, s := range r.shards {
		sum.Idle += s.idle(end)
		if sum.Stopped == StoppedByDuration {
			sum.Overhang += s.overhang
		}
	}
	sum.Shares = r.shares()
	if !r.plan.Begin.IsZero() {
		sum.BeganLate = r.base.Sub(r.plan.Begin)
	}
	if w.finished && r.outage.abort() == "" {
		sum.Unfinished = 0 // drivers whose VUs all ended have nothing in flight
	}
	if sum.Unfinished > 0 && sum.Stopped == StoppedByDuration {
		sum.Overhang += time.Duration(sum.Unfinished) * r.plan.overhang(w.graceEnd-r.plan.Think)
	}
	if r.plan.Pacer != nil {
		end = min(end+1, r.plan.windowEnd()) // an arrival may have begun at its very end
		sum.Planned = r.planned(end)
		sum.Dropped = r.drop(r.arrivals(), end, sum.Course)
	}
	sum.Course.Add(r.used)
	sum.Course.At(max(0, sum.Duration-1)) // if nothing came until the end, it shows
	sum.Course.Close()
	return sum
}

// arrivals returns all those that there are, from drivers that have ended.
func (r *run) arrivals() []*arrivals {
	if r.baton != nil {
		return []*arrivals{<-r.baton} // whoever has it passes it on at the end
	}
	var all []*arrivals
	for _, s := range r.shards {
		if s.arrivals.turn < s.arrivals.turns {
			all = append(all, s.arrivals)
		}
	}
	return all
}

func (r *run) stopReason(w watched) StopReason {
	switch {
	case w.interrupt:
		return Interrupted
	case w.outage:
		return StoppedByOutage
	case w.enough:
		return stoppedEarly
	case r.plan.Duration > 0 && w.closedAt >= r.plan.windowEnd():
		return StoppedByDuration
	case r.plan.Pacer == nil && r.plan.Iterations > 0 && r.left.Load() <= 0,
		r.plan.Pacer != nil && r.plan.Iterations > 0 && r.planned(w.closedAt+1) == r.plan.Iterations:
		return StoppedByIterations
	}
	return stoppedByArrivals
}
