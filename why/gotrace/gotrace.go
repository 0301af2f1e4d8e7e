// Package gotrace reads an execution trace of a Go program (runtime/trace, Go 1.22 or later) and
// reports what its goroutines waited for, and in which functions.
//
// Traces are untrusted: the caller bounds their bytes, this package its time and its results. Names
// are the program's and may contain anything.
package gotrace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"golang.org/x/exp/trace"
)

const (
	// mostPlaces bounds the places that are kept, those at which most goroutines wait.
	mostPlaces = 500
	// mostTime bounds the reading of a trace: a second of a busy server is read in about as long.
	mostTime = 20 * time.Second
	// lookAtClock is how many events are read between two looks at the clock: for one all threads may be sorted.
	lookAtClock = 1 << 6
)

// A Trace is what goroutines waited for during one.
type Trace struct {
	Length time.Duration
	// Waits has the place at which most goroutines waited first.
	Waits []Wait
	// Processors is how many goroutines could run at once (GOMAXPROCS) in the end; 0: unknown.
	Processors int
}

// A Place is where goroutines wait, and for what.
type Place struct {
	For Reason `json:"for"`
	// Function is the innermost function of the program's own; empty for a Processor, for which
	// they may wait anywhere.
	Function string `json:"function,omitempty"`
	// Through is the function of a library that it called, where that tells more than For; empty: none.
	Through string `json:"through,omitempty"`
}

// Wait is how many goroutines waited at a place at the same time, on average.
type Wait struct {
	Place
	Goroutines float64 `json:"goroutines"`
}

// Read reads a trace to its end. Goroutines without a function of the program's own, such as
// those of an HTTP server that wait for the next request, or those that take the trace, are left out.
func Read(body []byte) (t *Trace, err error) {
	defer func() { // the reader is made for traces that the runtime has written
		if p := recover(); p != nil {
			t, err = nil, mistake(fmt.Sprint("it is broken: ", p))
		}
	}()
	if err := tooLarge(body); err != nil {
		return nil, mistake(err)
	}
	events, err := trace.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, mistake(err)
	}
	c := counting{goroutines: map[trace.GoID]waiting{}, places: map[trace.Stack]places{}, waited: map[Place]time.Duration{}}
	until := time.Now().Add(mostTime)
	for n := 1; ; n++ {
		e, err := events.ReadEvent()
		switch {
		case errors.Is(err, io.EOF):
			return c.trace()
		case err != nil:
			return nil, mistake(err)
		case c.met > mostNew:
			return nil, fmt.Errorf("gotrace: it has more than %d goroutines, processors, tasks and regions", mostNew)
		case n%lookAtClock == 0 && time.Now().After(until):
			return nil, fmt.Errorf("gotrace: it is so long that it is not read in %v", mostTime)
		}
		c.add(e)
	}
}

// counting adds up how long goroutines waited at each place.
type counting struct {
	began, now trace.Time
	seen       bool
	goroutines map[trace.GoID]waiting
	places     map[trace.Stack]places // known of stacks
	waited     map[Place]time.Duration
	processors int
	met        int // of what the reader keeps
}

// waiting is what a goroutine does since a time; a place without a reason: it does not wait.
type waiting struct {
	since trace.Time
	at    Place
}

func (c *counting) add(e trace.Event) {
	c.now = e.Time()
	if !c.seen {
		c.began, c.seen = c.now, true
	}
	switch e.Kind() {
	case trace.EventMetric:
		if m := e.Metric(); m.Name == "/sched/gomaxprocs:threads" && m.Value.Kind() == trace.ValueUint64 {
			c.processors = int(min(m.Value.Uint64(), 1<<20))
		}
	case trace.EventStateTransition:
		switch s := e.StateTransition(); s.Resource.Kind {
		case trace.ResourceGoroutine:
			c.change(s)
		case trace.ResourceProc:
			if from, _ := s.Proc(); from == trace.ProcUndetermined || from == trace.ProcNotExist {
				c.met++
			}
		}
	case trace.EventTaskBegin, trace.EventRegionBegin:
		c.met++
	}
}

// change ends what a goroutine did. A goroutine that had no event so far has been in its
// state since the trace began.
func (c *counting) change(s trace.StateTransition) {
	id := s.Resource.Goroutine()
	from, to := s.Goroutine()
	before, known := c.goroutines[id]
	if !known {
		c.met++
	}
	if !known && from == trace.GoUndetermined {
		before.since = c.began
	}
	if known && from == to && s.Stack == trace.NoStack {
		return // repeated where the trace was cut
	}
	since := c.now
	if from == trace.GoUndetermined {
		since = before.since
	}
	c.end(before)
	if to == trace.GoNotExist {
		delete(c.goroutines, id)
		return
	}
	c.goroutines[id] = waiting{since, c.place(to, s)}
}

func (c *counting) end(w waiting) {
	if w.at.For != "" && c.now > w.since {
		c.waited[w.at] += time.Duration(c.now - w.since)
	}
}

// place says where a goroutine waits that has come into a state.
func (c *counting) place(to trace.GoState, s trace.StateTransition) Place {
	switch to {
	case trace.GoRunnable:
		return Place{For: Processor}
	case trace.GoWaiting, trace.GoSyscall:
	default:
		return Place{}
	}
	known := c.placesOf(s.Stack)
	if to == trace.GoSyscall {
		return known.in(SystemCall)
	}
	return known.in(cmp.Or(known.reason, reasons[s.Reason]))
}

func (c *counting) placesOf(s trace.Stack) places {
	known, ok := c.places[s]
	if !ok {
		known = placesOf(functions(s))
		c.places[s] = known
	}
	return known
}

// functions are those of a stack.
func functions(s trace.Stack) iter.Seq[string] {
	return func(yield func(string) bool) {
		for f := range s.Frames() {
			if !yield(f.Func) {
				return
			}
		}
	}
}

func (c *counting) trace() (*Trace, error) {
	t := &Trace{Length: time.Duration(c.now - c.began), Processors: c.processors}
	if t.Length <= 0 {
		return nil, errors.New("gotrace: it holds no time")
	}
	for _, w := range c.goroutines {
		c.end(w)
	}
	for at, waited := range c.waited {
		t.Waits = append(t.Waits, Wait{at, float64(waited) / float64(t.Length)})
	}
	slices.SortFunc(t.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), cmp.Compare(a.For, b.For), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Through, b.Through))
	})
	t.Waits = t.Waits[:min(len(t.Waits), mostPlaces)]
	return t, nil
}
