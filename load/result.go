package load

import (
	"slices"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/pace"
)

// A Result is what one run of a Plan showed: what was asked for, what the
// iterations brought and what the machine spent.
type Result struct {
	// Target names what was driven.
	Target string `json:"target"`
	// Local is set when the target ran in this process (LocalTarget).
	Local bool  `json:"local,omitempty"`
	Model Model `json:"model"`
	// Concurrency is the number of VUs.
	Concurrency int  `json:"concurrency"`
	Plan        Plan `json:"plan"`
	// Duration is the length of the measured window as it was.
	Duration time.Duration `json:"duration_ns"`
	// Whole is how long a Metered target took after the warm-up: the window, what the end let finish, and what it did
	// before and after. Rates of counters are over it; 0: over Duration.
	Whole time.Duration `json:"whole_ns,omitempty"`
	// Changes are how the server changed in a single run: stalls, trends, jumps, waves. They are what such a run is to show, and no warnings.
	Changes []finding.Warning `json:"over_time,omitempty"`
	// Starved is how many VUs of the closed model got no response while others got starvedAfter each on average, or could have; of
	// a sum of runs the most in one of them.
	Starved int `json:"starved,omitempty"`
	// Shares are how the responses of a single run fall to the VUs; nil: they say nothing by its plan.
	Shares *Shares `json:"shares,omitempty"`
	// Idle is how long the plan had no iteration left for VUs, summed over these;
	// closed model only.
	Idle time.Duration `json:"idle_vu_ns,omitempty"`
	// Overhang is how long VUs were busy beyond the end of the window with iterations that
	// count, summed over these; closed model without a warm-up only. There all begin with
	// the window, so that no such time is missing from its beginning.
	Overhang time.Duration `json:"overhang_vu_ns,omitempty"`
	Counts
	// ThroughputPerSec is Throughput.
	ThroughputPerSec float64 `json:"throughput_per_s"`

	// Engine is what drove the VUs, and EngineReason why it was not event loops.
	Engine       Engine `json:"engine"`
	EngineReason string `json:"engine_reason,omitempty"`
	// Loops is the number of event loops; each can use one core.
	Loops int `json:"loops,omitempty"`
	Cost
	// GeneratorShare is the share of a VU's cycle spent in the generator,
	// 1 − X·(S+Z)/N with throughput X of all answers, mean service time S,
	// think time Z and N VUs, those without Idle on average (Little's law on
	// service time). Closed model only, and not for a local target.
	GeneratorShare *float64 `json:"generator_share,omitempty"`
	// Timer is what waited for due times; open model only.
	Timer pace.Timer `json:"timer,omitempty"`
	// StartLagAllowed is the most that an arrival was allowed to start late, so
	// that it could start with others; open model only.
	StartLagAllowed time.Duration `json:"start_lag_allowed_ns,omitempty"`
	// BeganLate is how long after the moment that was asked for the run began.
	BeganLate time.Duration `json:"began_late_ns,omitempty"`
	// Generators are those that drove the target together, in the order of their names; none:
	// it was this process alone.
	Generators []Generator `json:"generators,omitempty"`
	// Scenarios are the loads that were driven side by side, in the order of their names; none: it was one.
	Scenarios []Scenario `json:"scenarios,omitempty"`
	// Script is what the iterations ran; nil: no script.
	Script *Script `json:"script,omitempty"`
	// Stopped says why the run ended.
	Stopped StopReason `json:"stopped"`
	// Outage is what the last iteration came to, of a run that was stopped by one.
	Outage   string            `json:"outage,omitempty"`
	Warnings []finding.Warning `json:"warnings"`
}

// A Script is a program that iterations ran.
type Script struct {
	File string `json:"flow_of"`
	// SHA256 is that of the script with all that it imports, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Interpreter is what ran it, with its version.
	Interpreter string `json:"interpreter"`
}

// An Engine is what drives the VUs of a run.
type Engine string

// The engines.
const (
	EventLoop  Engine = "event_loop" // one thread holds many connections
	Goroutines Engine = "goroutines" // one for each VU
)

// A StopReason says why a run ended.
type StopReason string

// The stop reasons.
const (
	StoppedByDuration   StopReason = "duration"
	StoppedByIterations StopReason = "iterations"
	stoppedByArrivals   StopReason = "arrivals" // the pacer planned no more
	StoppedByOutage     StopReason = "outage"   // nothing succeeded for Plan.patience
	stoppedEarly        StopReason = "early"    // Plan.Until said so
	Aborted             StopReason = "aborted"  // a VU said so: Outage is why
	Interrupted         StopReason = "interrupted"
)

// cut reports whether a run with that reason is only a part of what was planned.
func (s StopReason) cut() bool {
	return s == Interrupted || s == StoppedByOutage || s == stoppedEarly || s == Aborted
}

// Derive computes every figure that follows from others: the throughput, the
// generator's share and the warnings. Where the server was sampled, what both sides
// used of the CPU replaces the generator's own view of it.
func (r *Result) Derive() {
	if r.Shares != nil {
		r.Starved = r.unheard()
	}
	r.ThroughputPerSec, r.GeneratorShare = r.Throughput(), nil
	if seconds := r.Duration.Seconds(); seconds > 0 {
		r.GeneratorShare = r.generatorShare(seconds)
	}
	r.Changes = r.changes()
	r.Warnings = append(r.judge(), r.cpuFindings()...)
	if r.Unsampled != "" {
		r.Warnings = append(r.Warnings, finding.NotSampled.Warning("%s", r.Unsampled))
	}
	if r.Uncounted != "" {
		r.Warnings = append(r.Warnings, finding.NotCounted.Warning("%s", r.Uncounted))
	}
}

// Remarks are what there is to say of a result: how the server changed over time, then the warnings.
func (r *Result) Remarks() []finding.Warning { return slices.Concat(r.Changes, r.Warnings) }

// Throughput returns right operations per second: Ops ÷ the time that a VU had for them on
// average, Duration and its share of the Overhang. 0 where nothing was measured.
func (r *Result) Throughput() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Ops) / (r.Duration + r.Overhang/time.Duration(max(1, r.Concurrency))).Seconds()
}

func (r *Result) generatorShare(seconds float64) *float64 {
	cycles := seconds*float64(r.Concurrency) - r.Idle.Seconds() + r.Overhang.Seconds()
	if r.Model != ClosedModel || r.Completed == 0 || r.Local || cycles <= 0 {
		return nil
	}
	busy := 0.0
	for _, h := range []*hist.Histogram{r.Service, r.FailedService, r.ErroredService} {
		if h != nil && h.Count() > 0 {
			busy += float64(h.Count()) * (h.Mean() + r.Plan.Think).Seconds()
		}
	}
	share := max(0, 1-busy/cycles)
	return &share
}

// shortest is what a server may need to come to its usual state: a convention of this project.
const shortest = time.Second

// TooShort reports whether a run shows no more than a glimpse of a server.
func (r *Result) TooShort() bool { return !r.Local && r.Duration < shortest }

// Merge adds up results of the same target and plan, which have no course together.
func Merge(results ...*Result) *Result {
	sum := &Result{Counts: newSum()}
	for i, r := range results {
		if i == 0 {
			sum.Target, sum.Local, sum.Model, sum.Concurrency, sum.Plan = r.Target, r.Local, r.Model, r.Concurrency, r.Plan
			sum.Engine, sum.EngineReason, sum.Loops = r.Engine, r.EngineReason, r.Loops
			sum.Timer, sum.Stopped, sum.Script = r.Timer, r.Stopped, r.Script
		}
		if r.Stopped.cut() {
			sum.Stopped, sum.Outage = r.Stopped, r.Outage
		}
		sum.StartLagAllowed = max(sum.StartLagAllowed, r.StartLagAllowed)
		sum.Duration += r.Duration
		sum.Whole += r.Whole
		sum.Starved = max(sum.Starved, r.Starved)
		sum.Idle += r.Idle
		sum.Overhang += r.Overhang
		sum.Generators = mergeGenerators(sum.Generators, r.Generators)
		sum.Counts.Add(&r.Counts)
		sum.addScenarios(r.Scenarios)
		sum.Cost.Add(&r.Cost)
	}
	sum.sortMeters()
	sum.Derive()
	return sum
}
