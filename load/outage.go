package load

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"contend/errkind"
)

// An outage ends a run when nothing has succeeded for as long as Plan.patience: when an
// iteration fails or errs that much later than the first one since the last right
// answer began. So one iteration alone ends nothing, however rare they are. Time
// between two runs of a session does not count.
type outage struct {
	since  *atomic.Int64 // of the session: when that first one began, in ns of the time driven, or noOutage
	driven time.Duration // by the session before this run
	limit  time.Duration // 0: none
	// ever belongs to the session as well: whether anything was right. Until then first is the limit.
	ever  *atomic.Bool
	first time.Duration
	// flows says that an iteration with any response ends an outage, whatever became of the rest of it.
	flows bool
	// A request in flight may still succeed. ended counts the iterations of this run that ended, silent the VUs of
	// the closed model without an ended one. In the open model begun says how many began.
	ended, silent atomic.Int64
	begun         func() int64

	once  sync.Once
	over  chan struct{} // closed when the run is to end; cause is set by then
	cause string
	// aborted is who ended it; nil: nobody. Set by then.
	aborted *Abort
}

// An Abort is what a VU's Do returns to end the run, whose result is of what was until then: see Aborted.
type Abort struct{ Reason string }

// Error returns the reason.
func (a *Abort) Error() string { return a.Reason }

// fewestWrong is how many iterations must have ended without a right answer before that is more than bad luck.
const fewestWrong = 20

// noOutage says that the last iteration that ended was right.
const noOutage = -1

// outage is that of a further run of the session.
func (s *Session) outage(r *run) *outage {
	o := &outage{since: &s.silent, driven: s.driven, limit: r.plan.patience(), ever: &s.right, first: r.plan.hopeless(), flows: r.plan.WholeFlows, over: make(chan struct{}),
		begun: func() int64 { return 0 }}
	if r.plan.Pacer != nil {
		o.begun = r.begunSoFar
	} else {
		o.silent.Store(int64(r.plan.VUs))
	}
	return o
}

// begunSoFar is how many iterations that count have begun; after the end it says nothing.
func (r *run) begunSoFar() (sum int64) {
	for _, s := range r.shards {
		sum += max(0, s.begun.Load())
	}
	return sum
}

// note registers an iteration that has ended, and reports whether that ends the run.
func (o *outage) note(it *Iteration, end time.Duration, out *Outcome, err error) (aborts bool) {
	if err != nil && o.abortsWith(err) {
		return true
	}
	if err == nil && !out.Failed || o.flows && out.Flow.answered() {
		if o.since.Load() != noOutage { // most often: nobody else then has to fetch it again
			o.since.Store(noOutage)
		}
		if !o.ever.Load() {
			o.ever.Store(true)
		}
		return false
	}
	if o.since.CompareAndSwap(noOutage, int64(o.driven+it.Start)) {
		return false
	}
	limit := o.limit
	if ended := o.ended.Add(1); !o.ever.Load() && ended >= fewestWrong && o.silent.Load() <= 0 && 2*ended >= o.begun() {
		limit = o.first
	}
	if since := o.since.Load(); limit > 0 && since != noOutage && o.driven+end-time.Duration(since) >= limit {
		o.once.Do(func() {
			o.cause = cause(out, err)
			close(o.over)
		})
	}
	return false
}

// abortsWith reports whether an error ends the run.
func (o *outage) abortsWith(err error) bool {
	abort, ok := errors.AsType[*Abort](err)
	if ok {
		o.once.Do(func() {
			o.aborted = abort
			close(o.over)
		})
	}
	return ok
}

// answered reports whether a request of a flow got a response; nil has none.
func (f *Flow) answered() bool {
	return f != nil && slices.ContainsFunc(f.Requests, func(r Request) bool { return r.Err == "" })
}

// abort returns why a VU has ended the run, or "".
func (o *outage) abort() string {
	select {
	case <-o.over:
		if o.aborted != nil {
			return o.aborted.Reason
		}
	default:
	}
	return ""
}

// cause says in a few words why an iteration has no right answer.
func cause(out *Outcome, err error) string {
	if err != nil {
		return fmt.Sprintf("%s: %s", errkind.Of(err), clip(err.Error()))
	}
	return faultOf(out).Cause()
}

// Silence says of a run that was stopped by an outage how long nothing succeeded, and
// why.
func (r *Result) Silence() string {
	limit := r.Plan.patience()
	if r.Completed == 0 && (limit == 0 || r.Plan.Warmup+r.Duration < limit) {
		limit = r.Plan.hopeless()
	}
	return fmt.Sprintf("nothing succeeded for %v: %s", limit, r.Outage)
}

// ceasedErrors are enough without a right answer between them for a server that has stopped
// answering; fewer where each caller had one. A convention of this project.
const ceasedErrors = 10

// Ceased returns after how many seconds of the measured window, rounded up to the end of an interval of its course,
// right answers ceased in a single run: for at least a second all ended in errors or, in the closed model, nothing
// ended for twice the longest response time, and no caller had its answer at the end. false: they went on, none came
// from the beginning, or, as for a sum of runs, the course is not known.
func (r *Result) Ceased() (after time.Duration, ceased bool) {
	course := r.course()
	if course == nil {
		return 0, false
	}
	errored := int64(0)
	for i, in := range course.window(r.Duration) {
		switch {
		case in.Completed > 0:
			after, errored = (time.Duration(i+1)*course.Width + time.Second - 1).Truncate(time.Second), 0
		case in.Failed > 0:
			after = 0
		default:
			errored += in.erroredTotal()
		}
	}
	silent := r.Duration - after
	if after == 0 || silent < time.Second {
		return 0, false
	}
	stuck := r.Model == ClosedModel && r.Plan.Think == 0 && r.Unfinished >= int64(r.Concurrency) &&
		silent >= time.Second+2*r.Response.Max()
	if !stuck && errored < min(ceasedErrors, int64(r.Concurrency)) {
		return 0, false
	}
	return after, true
}

// CeasedEarly reports whether right answers came in the warm-up of a single run and, for the reasons of Ceased, none
// afterwards, and after how much of the warm-up they ceased; 0: at its end, as far as that is known. Slow answers are no
// reason: some may just not have ended in the measured window.
func (r *Result) CeasedEarly() (after time.Duration, ceased bool) {
	course := r.Course
	if course == nil || r.Completed+r.Failed > 0 || r.Script != nil || r.Duration < time.Second {
		return 0, false
	}
	failing := r.ErroredTotal() >= min(ceasedErrors, int64(r.Concurrency))
	if course.Warmup == 0 { // it was another run, which is mentioned here if it had right answers
		return 0, failing && r.Plan.Warmup > 0
	}
	whole, longest := time.Duration(course.Warmup)*course.Width, time.Duration(0)
	for i, in := range course.Intervals[:course.Warmup] {
		if in.Completed > 0 {
			after, longest = time.Duration(i+1)*course.Width, max(longest, in.ResponseMax)
		}
	}
	stuck := r.Model == ClosedModel && r.Plan.Think == 0 && r.Stopped != Interrupted && whole-after+r.Duration >= time.Second+2*longest
	if after == 0 || !failing && !stuck {
		return 0, false
	}
	if whole-after <= course.Width+longest {
		after = 0
	}
	return after, true
}
