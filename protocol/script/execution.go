package script

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"

	"contend/load"
)

// A tally counts what the virtual users of a target are at, for those that ask.
type tally struct {
	began                  atomic.Int64 // the first iteration, in ns since 1970; 0: not yet
	completed, interrupted atomic.Int64 // iterations
	users                  atomic.Int64
}

// begin returns the number of an iteration among all those of the load, from 0.
func (d *driven) begin() int64 {
	now := time.Now().UnixNano()
	d.began.CompareAndSwap(0, now)
	d.target.tally.began.CompareAndSwap(0, now)
	d.within.Add(1)
	return d.begun.Add(1) - 1
}

// progress is how much of the load is over, from 0 to 1: of its time or of its iterations, whichever is more.
func (d *driven) progress() float64 {
	share := 0.0
	if began := d.began.Load(); began != 0 && d.load.Duration > d.load.Start {
		share = time.Since(time.Unix(0, began)).Seconds() / (d.load.Duration - d.load.Start).Seconds()
	}
	if d.load.Iterations > 0 {
		share = max(share, float64(d.begun.Load())/float64(d.load.Iterations))
	}
	return min(1, share)
}

func (d *driven) end(interrupted bool) {
	d.within.Add(-1)
	if t := &d.target.tally; interrupted {
		t.interrupted.Add(1)
	} else {
		t.completed.Add(1)
	}
}

func (t *tally) elapsed() time.Duration {
	if began := t.began.Load(); began != 0 {
		return time.Since(time.Unix(0, began))
	}
	return 0
}

// executionModule is "k6/execution": what a script can learn of the run that it is in.
func (v *vu) executionModule() exports {
	t := v.target
	number := func(of func() int64) func() any { return func() any { return of() } }
	return exports{
		"vu": v.facts("vu", facts{
			"idInTest":            func() any { return v.id },
			"idInInstance":        func() any { return v.own },
			"iterationInInstance": func() any { return v.iteration },
			"iterationInScenario": func() any { return v.iteration },
			"tags":                func() any { return v.ownTags() },
			"metrics":             func() any { return v.fixed(exports{"tags": v.ownTags(), "metadata": v.metadata()}) },
		}),
		"scenario": v.facts("scenario", facts{
			"name":                func() any { return v.of.load.scenario() },
			"executor":            func() any { return v.executor() },
			"startTime":           func() any { return v.of.began.Load() / int64(time.Millisecond) },
			"iterationInInstance": func() any { return v.turn },
			"iterationInTest":     func() any { return t.around.Share.Number(v.turn) },
			"progress":            func() any { return v.of.progress() },
		}),
		"instance": v.facts("instance", facts{
			"iterationsCompleted":    number(t.tally.completed.Load),
			"iterationsInterrupted":  number(t.tally.interrupted.Load),
			"vusActive":              number(t.active),
			"vusInitialized":         number(t.tally.users.Load),
			"currentTestRunDuration": func() any { return milliseconds(t.tally.elapsed() + t.apart.passed()) },
		}),
		"test": v.facts("test", facts{
			"abort":   func() any { return v.abort },
			"fail":    func() any { return v.fail },
			"options": func() any { return v.testOptions() },
		}),
	}
}

// scenario is the name of the one that the script has.
func (l *Load) scenario() string { return cmp.Or(l.Name, DefaultScenario) }

// executor is the one that the script names, or else what its options come to.
func (v *vu) executor() string {
	switch o := v.of.load; {
	case o.Executor != "":
		return o.Executor
	case o.Iterations > 0:
		return "shared-iterations"
	}
	return "constant-vus"
}

// abort ends the run. It is not an exception: the script cannot catch it.
func (v *vu) abort(call sobek.FunctionCall) sobek.Value {
	why := &load.Abort{Reason: reason("the script ended the run", call)}
	if v.started {
		v.aborted = why // a promise may swallow the interrupt
	}
	v.rt.Interrupt(why)
	return sobek.Undefined()
}

// fail marks the run as failed and lets it go on; the first reason is reported when it is over.
func (v *vu) fail(call sobek.FunctionCall) sobek.Value {
	if !v.started {
		v.throw("fail works within an iteration, setup and teardown: to end the run here, throw an exception")
	}
	why := errors.New(place(v.rt.CaptureCallStack(0, nil)) + reason("the script marked the run as failed", call))
	v.target.failed.CompareAndSwap(nil, &why)
	return sobek.Undefined()
}

// reason is why a script has a run end, or fail.
func reason(what string, call sobek.FunctionCall) string {
	if isObject(call.Argument(0)) {
		what += ": " + harmless(call.Argument(0))
	}
	return what
}

// facts are values by their names, as they are when they are asked for.
type facts map[string]func() any

// facts makes an object of them. Those of a scenario are an exception before the run.
func (v *vu) facts(name string, of facts) *sobek.Object {
	return v.rt.NewDynamicObject(&liveFacts{v, name, of})
}

type liveFacts struct {
	v    *vu
	name string
	of   facts
}

var _ sobek.DynamicObject = (*liveFacts)(nil)

func (l *liveFacts) Get(name string) sobek.Value {
	of, ok := l.of[name]
	switch {
	case !ok:
		return nil
	case l.name == "scenario" && (!l.v.started || l.v.id == 0):
		l.v.throw("exec.scenario.%s is known within an iteration only", name)
	}
	return l.v.rt.ToValue(of())
}

func (l *liveFacts) Set(name string, _ sobek.Value) bool {
	l.v.throw("exec.%s.%s cannot be set", l.name, name)
	return false
}

func (l *liveFacts) Has(name string) bool { return l.of[name] != nil }

// Delete is not possible.
func (l *liveFacts) Delete(string) bool { return false }

func (l *liveFacts) Keys() []string { return slices.Sorted(maps.Keys(l.of)) }
