// Package guardtest checks that a guard keeps its contract. Run, RunAdder and
// RunExclusive are conformance suites for any implementation; the Check
// functions judge recorded histories, and can be shown to catch a wrong one.
package guardtest

import (
	"context"
	"sync"
	"time"

	"contend/guard"
)

// A Call is one recorded operation on a Counter.
type Call struct {
	Caller int
	N      int64 // what was added; 0 for a Load
	Value  int64 // what was returned
	// Start and End are read just before and after the call, as offsets on one
	// clock. A clock is used because it orders nothing else: a shared counter
	// would synchronise the callers and so hide races.
	Start, End time.Duration
	// Err makes the call indeterminate: it may or may not have happened.
	Err error
}

// A History is a set of calls in any order.
type History []Call

// Succeeded returns the calls that returned a value.
func (h History) Succeeded() History {
	var ok History
	for _, c := range h {
		if c.Err == nil {
			ok = append(ok, c)
		}
	}
	return ok
}

// A Workload is what Record does to a Counter.
type Workload struct {
	Callers int
	Calls   int // by each caller, one after the other
	// N is what a caller adds in a call, both counted from 0; 0 means Load.
	// It is called concurrently. Nil means 1.
	N func(caller, call int) int64
}

// Record runs a workload and returns what happened. A caller stops at
// ErrClosed, which leaves no trace in the history.
func Record(ctx context.Context, c guard.Counter, w Workload) History {
	if w.N == nil {
		w.N = func(int, int) int64 { return 1 }
	}
	begin := time.Now()
	parts := make([]History, w.Callers)
	var wg sync.WaitGroup
	for caller := range w.Callers {
		wg.Go(func() {
			var part History
			for i := range w.Calls {
				call := Call{Caller: caller, N: w.N(caller, i)}
				perform(ctx, c, &call, begin)
				if call.Err == guard.ErrClosed {
					break
				}
				part = append(part, call)
			}
			parts[caller] = part
		})
	}
	wg.Wait()
	var h History
	for _, part := range parts {
		h = append(h, part...)
	}
	return h
}

func perform(ctx context.Context, c guard.Counter, call *Call, begin time.Time) {
	call.Start = time.Since(begin)
	if call.N == 0 {
		call.Value, call.Err = c.Load(ctx)
	} else {
		call.Value, call.Err = c.Add(ctx, call.N)
	}
	call.End = time.Since(begin)
}
