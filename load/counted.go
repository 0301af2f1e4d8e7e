package load

import (
	"maps"
	"time"

	"contend/finding"
	"contend/internal/perf"
	"contend/internal/unit"
)

// Counted is what events the server's processes showed, in runs of their own: counting
// slows the server down, so these runs take no times and add nothing to Counts.
// Counting begins before a run's first request and ends after its last answer, so that
// no operation is counted in part.
type Counted struct {
	// Planned are the iterations that began: one that was dropped is in no event.
	// Completed, Wrong and Ops are those of Counts, and Duration is the length of the runs.
	Planned   int64         `json:"planned"`
	Completed int64         `json:"completed"`
	Wrong     int64         `json:"wrong"` // failed or errored
	Ops       int64         `json:"ops"`
	Duration  time.Duration `json:"duration_ns"`
	// Events has each event that was counted: they are counted by turns.
	Events map[perf.Event]Events `json:"events"`
}

// Events is how often something happened in so many operations.
type Events struct {
	Count uint64 `json:"count"`
	Ops   int64  `json:"ops"`
}

// CountedOnly returns the result as one of a run in which these events were counted.
func (r *Result) CountedOnly(events perf.Counts) *Result {
	c := &Counted{Planned: r.Planned - r.Dropped, Completed: r.Completed, Wrong: r.Wrong(), Ops: r.Ops, Duration: r.Duration,
		Events: map[perf.Event]Events{}}
	for event, count := range events {
		c.Events[event] = Events{count, r.Ops}
	}
	only := *r
	only.Counts, only.Cost, only.Duration = newSum(), Cost{Counted: c}, 0
	only.Answers = r.Answers // a verdict about events needs these as well
	only.Idle, only.StartLagAllowed = 0, 0
	only.Derive()
	return &only
}

// OnlyCounted reports whether nothing was measured but events.
func (r *Result) OnlyCounted() bool { return r.Counted != nil && r.Duration == 0 }

// PerOp returns how often an event happened per operation; false: it was not counted.
func (c *Counted) PerOp(event perf.Event) (float64, bool) {
	if c == nil || c.Events[event].Ops == 0 {
		return 0, false
	}
	e := c.Events[event]
	return float64(e.Count) / float64(e.Ops), true
}

// Throughput returns Ops ÷ Duration in seconds, which is that while events are
// counted; 0 where nothing was.
func (c *Counted) Throughput() float64 {
	if c == nil || c.Duration <= 0 {
		return 0
	}
	return float64(c.Ops) / c.Duration.Seconds()
}

// CountedRefusal returns why no verdict may rest on what was counted, or nil.
func (r *Result) CountedRefusal() *finding.Warning {
	switch c := r.Counted; {
	case c == nil:
		return nil
	case c.Completed == 0:
		return finding.Errors.Refusal("no request succeeded while events were counted (%d failed)", c.Wrong)
	case r.Plan.TooManyErrors(c.Wrong, c.Planned):
		return finding.Errors.Refusal("%s of %s iterations failed while events were counted (%s), more than %s",
			unit.Count(c.Wrong), unit.Count(c.Planned), unit.Percent(float64(c.Wrong)/float64(c.Planned)), unit.Percent(r.Plan.AllowedErrors()))
	case c.Planned > c.Completed+c.Wrong:
		return finding.Incomplete.Refusal("%s of %s iterations finished after counting stopped", unit.Count(c.Planned-c.Completed-c.Wrong), unit.Count(c.Planned))
	}
	return nil
}

// plus returns the sum of two; nil counts as empty.
func (c *Counted) plus(o *Counted) *Counted {
	switch {
	case o == nil:
		return c
	case c == nil:
		return o
	}
	sum := *c
	sum.Planned += o.Planned
	sum.Completed += o.Completed
	sum.Wrong += o.Wrong
	sum.Ops += o.Ops
	sum.Duration += o.Duration
	sum.Events = maps.Clone(c.Events)
	for event, e := range o.Events {
		before := sum.Events[event]
		sum.Events[event] = Events{before.Count + e.Count, before.Ops + e.Ops}
	}
	return &sum
}
