package load

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"contend/finding"
	"contend/pace"
	"contend/setting"
)

// A Plan says how a Target is driven. The zero value is not valid: VUs and
// one of Duration and Iterations must be set.
type Plan struct {
	// VUs is the concurrency: how many iterations can be in flight.
	VUs int `json:"vus" flag:"concurrency,c" default:"10" min:"1" max:"1000000" words:"*number* of callers, each with one request at a time (open model: as many as are due in a second, 16 to 500)"`
	// Pacer plans the arrivals (open model); nil means that each VU starts its
	// next iteration when the previous one is complete (closed model).
	Pacer *pace.Pacer `json:"pacer,omitempty" file:"load.rate" words:"open model: arrivals per second, as *RATE*, constant:RATE, ramp:FROM-TO/DURATION, steps:RATE/DURATION,... or poisson:RATE"`
	// Callers plan how many of the VUs drive the load over time, of a closed model; nil: all of them do.
	Callers *pace.Callers `json:"callers,omitempty"`
	// PerVU is how many iterations each VU does at most, of a closed model; 0: there is no such limit.
	PerVU int64 `json:"iterations_per_vu,omitempty"`
	// StartLag is how late arrivals of an open model may start, so that those that
	// are due soon after each other cost one wake-up.
	StartLag pace.Tolerance `json:"start_lag,omitempty" file:"load.start_lag" default:"auto" min:"0s" max:"1s" words:"open model: how late requests may start, so that those due close together start together: a *duration*, or auto (2% of the typical service time, at most 1ms)"`
	// Think is the pause of a VU between completion and the next due time.
	Think time.Duration `json:"think_ns,omitempty" file:"load.think" min:"0s" max:"720h" words:"closed model: pause of a caller between iterations"`
	// Warmup is driven before the measured window and not counted.
	Warmup time.Duration `json:"warmup_ns,omitempty" flag:"warmup" min:"0s" max:"720h" words:"warm up for this long before measuring"`
	// Duration is the length of the measured window; 0 means until Iterations
	// are done.
	Duration time.Duration `json:"duration_ns,omitempty" flag:"duration,d" min:"0s" max:"720h" words:"how long to measure (10s, unless -n or --stages is given)"`
	// Iterations ends the measured window after that many iterations; 0 means
	// no such limit.
	Iterations int64 `json:"iterations,omitempty" flag:"iterations,n" min:"0" words:"stop after this *number* of iterations"`
	// Timeout bounds one iteration; 0 means only the end of the run does.
	Timeout time.Duration `json:"timeout_ns,omitempty" file:"load.timeout" default:"10s" min:"0s" max:"720h" words:"time limit for one iteration; 0: none"`
	// Grace is how long iterations in flight may take to complete after the measured window: if it is more, as long as
	// the longest response before and a tenth, unless Grace is 0 or FixedGrace.
	Grace time.Duration `json:"grace_ns" flag:"grace" default:"1s" min:"0s" max:"720h" words:"how long to wait for requests still in flight at the end, or as long as the longest response, if that is more; 0s: not at all"`
	// FixedGrace cuts off what is in flight after Grace, however long responses take.
	FixedGrace bool `json:"fixed_grace,omitempty"`
	// MaxUnfinished is the share of the planned iterations that may be dropped or
	// unfinished, below 1; with more the rest decides nothing. 0 means that of
	// finding.Incomplete.
	MaxUnfinished float64 `json:"max_unfinished,omitempty" file:"load.max_unfinished" flag:"max-unfinished" default:"1%" unit:"percent" above:"0%" below:"100%" words:"result is INVALID above this share of requests that never started or never finished"`
	// MaxErrors is the share of the planned iterations that may fail or err; with more the
	// rest decides nothing. nil means that of finding.Errors.
	MaxErrors *float64 `json:"max_errors,omitempty"`
	// DespiteErrors goes on where nothing was right from the beginning; else that ends a run after HopelessAfter.
	DespiteErrors bool `json:"despite_errors,omitempty" file:"load.despite_errors" flag:"despite-errors" words:"go on although no response was right in the first 2s, which ends a run otherwise"`
	// WholeFlows counts an iteration that ran to its end as right, whatever it found out about the responses. Its
	// checks and requests are counted all the same.
	WholeFlows bool `json:"whole_flows,omitempty"`
	// Seed feeds random arrivals; the same seed gives the same due times.
	Seed uint64 `json:"seed,omitempty" flag:"seed" default:"1" words:"seed for random arrivals"`
	// Share is the part of the arrivals that is driven; others drive the rest. VUs and
	// Iterations are those of the part.
	Share pace.Share `json:"share,omitzero"`
	// Window is for a part of a shared open-model load: how long the part's Iterations take; 0: computed
	// from the Pacer.
	Window time.Duration `json:"window_ns,omitempty"`
	// Spread is the time over which the VUs of a closed model begin, one after another in even steps, within Warmup: else responses
	// that take equally long come in bursts, and how many of these a window holds is a matter of luck.
	Spread time.Duration `json:"spread_ns,omitempty"`
	// Begin is when the run begins; the zero value is at once.
	Begin time.Time `json:"-"`
	// Timer waits for due times in the open model; "" means pace.Precise.
	Timer pace.Timer `json:"timer,omitempty" oneof:"precise,runtime"`

	// Progress, if set, is called about once a second from one goroutine, and once more at the
	// end with the figures of the result.
	Progress func(Progress) `json:"-"`
	// Until, if set, is called about once a second, by the same goroutine, with a Progress whose Counts have
	// meters, too, and ends the run where it returns true. A Remote does not call it.
	Until func(Progress) bool `json:"-"`
	// Sample, if set, is called for each iteration that counts and has ended, by
	// one goroutine at a time. It should return quickly.
	Sample func(Sample) `json:"-"`
	// AtEdge, if set, is called once when the measured window opens and once when
	// it closes, by the driver that gets there first, so that others can be sampled
	// over the same window. It must return within microseconds.
	AtEdge func(Edge) `json:"-"`
	// Foretell, if set, is called by a Remote, before it begins, with when the measured window
	// opens and when it closes; the latter is zero without a Duration.
	Foretell func(opens, closes time.Time) `json:"-"`
	// ServerCPU returns the CPU time that the system under test has used up to now; nil: it is not
	// known. It is called a few times a second and must return within a millisecond.
	ServerCPU func() time.Duration `json:"-"`
}

// A Sample is one iteration: its times as offsets from the start of the run,
// and its outcome, whose views end with the call, or the error instead of it.
type Sample struct {
	Due, Start, End time.Duration
	Outcome         Outcome
	Err             error
}

// The bounds of AmpleVUs.
const (
	minAmpleVUs = 16
	maxAmpleVUs = 500
)

// AmpleVUs returns the default number of VUs of an open model with so many arrivals per
// second: as many as arrive in a second, 16 to 500, so that most servers may stop for a while
// before an arrival has to wait for a VU.
func AmpleVUs(perSec float64) int {
	return int(math.Ceil(min(max(perSec, minAmpleVUs), maxAmpleVUs)))
}

// MaxVUs bounds the VUs of a Plan.
const MaxVUs = pace.MostCallers

// DefaultGrace is the Grace if no other is asked for.
const DefaultGrace = time.Second

// An Edge is an end of the measured window.
type Edge int

// The edges.
const (
	WindowOpens Edge = iota + 1
	WindowCloses
)

// Validate returns every mistake of the plan at once.
func (p Plan) Validate() error {
	p.MaxUnfinished = p.AllowedUnfinished()
	errs := []error{setting.Check(p)}
	if p.Duration == 0 && p.Iterations == 0 {
		errs = append(errs, setting.At(&p, &p.Duration).OutOf(p.Duration, "more than 0s, or a number of iterations"))
	}
	if p.Pacer != nil && p.Think > 0 {
		errs = append(errs, setting.At(&p, &p.Think).Wrong("is %v, but arrivals of an open model do not wait: drop it or the rate", p.Think))
	}
	if p.Pacer == nil && p.StartLag != pace.Auto {
		errs = append(errs, setting.At(&p, &p.StartLag).Wrong("does not apply without a rate"))
	}
	if p.Callers != nil && (p.Pacer != nil || p.Warmup > 0) {
		errs = append(errs, errors.New("callers that come and go neither have a rate nor a warm-up"))
	}
	return errors.Join(errs...)
}

// Model is how arrivals relate to completions.
type Model string

// The models.
const (
	ClosedModel Model = "closed" // the next iteration of a VU waits for its previous one
	OpenModel   Model = "open"   // arrivals do not wait
	MixedModel  Model = "mixed"  // loads of both side by side
)

// Model returns OpenModel when the plan has a pacer, else ClosedModel.
func (p Plan) Model() Model {
	if p.Pacer != nil {
		return OpenModel
	}
	return ClosedModel
}

// AllowedUnfinished is MaxUnfinished, or its default.
func (p Plan) AllowedUnfinished() float64 { return cmp.Or(p.MaxUnfinished, finding.Incomplete.Refuses) }

// AllowedErrors is MaxErrors, or its default.
func (p Plan) AllowedErrors() float64 {
	if p.MaxErrors == nil {
		return finding.Errors.Refuses
	}
	return *p.MaxErrors
}

// AllowErrors has the plan allow a share of errors, if it is more than it allowed before.
func (p *Plan) AllowErrors(share float64) {
	if share > p.AllowedErrors() {
		p.MaxErrors = &share
	}
}

// TooManyErrors reports whether so many of the planned iterations failed or erred that the
// rest decides nothing.
func (p Plan) TooManyErrors(wrong, planned int64) bool {
	return float64(wrong) > p.AllowedErrors()*float64(planned)
}

// patience is how long nothing may succeed before the run ends: the timeout and the
// grace, or the default of that if it is longer. 0: for ever, as there is no timeout.
func (p Plan) patience() time.Duration {
	if p.Timeout == 0 {
		return 0
	}
	return p.Timeout + max(p.Grace, DefaultGrace)
}

// HopelessAfter is how long a run continues if nothing has succeeded from the beginning. By then a wrong path or a
// stopped server is known, and two seconds of load do no harm.
const HopelessAfter = 2 * time.Second

// hopeless is how long nothing may succeed from the beginning; 0: for ever. A script has no timeout, but what it counts as
// wrong then is that no iteration got through.
func (p Plan) hopeless() time.Duration {
	patience := p.patience()
	if p.DespiteErrors || patience == 0 && !p.WholeFlows || patience > 0 && patience < HopelessAfter {
		return patience
	}
	return HopelessAfter
}

// windowEnd returns the planned end of the measured window, as an offset.
func (p *Plan) windowEnd() time.Duration {
	if p.Duration == 0 {
		return math.MaxInt64
	}
	return p.Warmup + p.Duration
}

// ends returns when the measured window ends by the plan, as an offset: that of an open model with its Duration or
// when its Iterations are over, whichever comes first, however early the last of them is right.
func (p Plan) ends() time.Duration {
	end := p.windowEnd()
	switch {
	case p.Pacer == nil || p.Iterations == 0:
		return end
	case p.Window > 0:
		return min(end, p.Warmup+p.Window)
	}
	return min(end, p.Pacer.Over(p.Seed, p.Warmup, p.Iterations))
}

// graceEnd returns when iterations in flight are cut off, as an offset, if the longest before took so long. The callers
// of a slow server have some in flight at the end, which take as long as those before.
func (p Plan) graceEnd(longest time.Duration) time.Duration {
	switch {
	case p.Duration == 0:
		return math.MaxInt64
	case p.FixedGrace || p.Grace == 0:
		return p.windowEnd() + p.Grace
	}
	return p.windowEnd() + max(p.Grace, longest+longest/10)
}

// EndsBy returns when iterations in flight are cut off at the latest, as an offset: none before took longer than the
// timeout, or than the whole run so far.
func (p Plan) EndsBy() time.Duration {
	longest := p.windowEnd()
	if p.Timeout > 0 {
		longest = min(longest, p.Timeout)
	}
	return p.graceEnd(longest)
}

// overhang returns how much of an iteration that counts, including the think time after it,
// is beyond the measured window, if it ended then: see Result.Overhang.
func (p *Plan) overhang(end time.Duration) time.Duration {
	if p.Pacer != nil || p.Warmup > 0 || p.Duration == 0 {
		return 0
	}
	return max(0, end+p.Think-p.windowEnd())
}

// wait returns when the plan is to begin, or ctx is done.
func (p Plan) wait(ctx context.Context) {
	if p.Begin.IsZero() {
		return
	}
	waiter, _ := pace.NewWaiter(ctx, p.Timer)
	defer waiter.Close()
	waiter.Wait(time.Until(p.Begin))
}
