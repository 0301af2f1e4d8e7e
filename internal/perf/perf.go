// Package perf counts what threads do and samples where they do it: instructions,
// cycles and misses with hardware counters, page faults with the kernel's counters,
// CPU time by stack with its clocks. Linux only (perf_event_open(2)).
//
// Counters are inherited, and so are samplers: one opened on a thread also counts the
// threads and processes that it starts from then on, and keeps their counts when they
// have ended.
//
// Counters are expensive in a virtual machine, because the host takes part in each
// switch of threads: a server lost 16% of its throughput to one that counted, 38% to
// four, 7% to those that were only open, and nothing to page faults. So they are opened
// for the time to be counted and closed after it.
//
// Samples need no processor counters, but a timer at each switch of threads. In a virtual
// machine it costs if it is due before the kernel's next tick: a server lost 5 to 13% of
// its throughput to 999 samples per second, 4 to 9% to 250, and up to 1% to 99; later ones,
// on one machine in 25 turns of a second each, 3% (Go) and 3% (C, a thread for each connection).
//
// Rejected: events of whole CPUs, whose timers go on when threads change, but which see all
// processes and need privileges: in the same turns they cost 2% (Go) and 6% (C), no less;
// switches of threads and moves between CPUs, which read 0 here without
// privileges (/proc has them); github.com/hodgesds/perf-utils, whose groups do not
// inherit and which does not attach to trees; perf record, which has to be installed
// and fit the kernel.
package perf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// An Event is what counters count, by its name in documents.
type Event string

// The events that can be counted: all but page faults by counters of the processor.
const (
	Instructions       Event = "instructions"        // in user space
	KernelInstructions Event = "kernel_instructions" // in the kernel, on behalf of the thread
	Cycles             Event = "cycles"              // in user space
	KernelCycles       Event = "kernel_cycles"       // in the kernel, on behalf of the thread
	CacheMisses        Event = "cache_misses"        // of the last level, in user space
	BranchMisses       Event = "branch_misses"       // mispredicted, in user space
	PageFaults         Event = "page_faults"         // in user space
)

// SystemCall begins the event of a system call, such as SystemCall + "write"; SystemCalls are all of them.
const (
	SystemCall        = "system_call_"
	SystemCalls Event = SystemCall + "s"
)

// What is sampled, and named by an [UnavailableError]; no counter counts it.
const (
	CPUTime    Event = "cpu_time"    // in user space, and in the kernel where that is allowed
	KernelTime Event = "kernel_time" // CPU time in the kernel
)

// Counts are how often each event happened.
type Counts map[Event]uint64

// An UnavailableError says that an event cannot be counted or sampled here.
type UnavailableError struct {
	Event  Event
	Reason string // why not
	Advice string // what to do about it
}

func (e *UnavailableError) Error() string {
	verb := "counted"
	if e.Event == CPUTime || e.Event == KernelTime {
		verb = "sampled"
	}
	return fmt.Sprintf("%s cannot be %s: %s; %s", e.Event, verb, e.Reason, e.Advice)
}

// InShort is an error without its subject, which the reader knows from the context: the reason
// and the advice of an [UnavailableError], and else its text.
func InShort(err error) string {
	if unavailable, ok := errors.AsType[*UnavailableError](err); ok {
		return unavailable.Reason + ": " + unavailable.Advice
	}
	return err.Error()
}

// ErrMultiplexed is wrapped by the error of a Stop whose counters did not count all
// the time.
var ErrMultiplexed = errors.New("the processor's counters were shared with others")

// Counters are open, and count nothing until Start. They hold a descriptor per event,
// and those of Threads and Own one per event and thread. One goroutine at a time may
// use them, on any thread.
type Counters struct {
	events []Event
	groups []group // one for each thread that they were opened on
	begin  reading
}

// Children opens counters of what the calling thread does and starts after the
// call, its threads and processes and theirs. The caller's goroutine is locked to
// that thread, which shows no more than what it started if it sleeps while they
// count.
//
// An error is an [UnavailableError] if the machine or its owner is the reason.
func Children(events ...Event) (*Counters, error) {
	return Threads(func() ([]int, error) { return []int{0}, nil }, events...)
}

// Own opens counters of this process: its threads, and what they start after the
// call. The errors are those of Threads.
func Own(events ...Event) (*Counters, error) {
	return Threads(ownThreads, events...)
}

// Threads opens counters of the threads that list returns and of all that these
// start after the call. It calls list again when the counters are open, and starts
// over if a thread has come in between, which may or may not have inherited them.
//
// The error is that of list, an [UnavailableError], says that threads came during
// every attempt, or wraps os.ErrProcessDone if no thread is alive and EMFILE if
// files ran out.
func Threads(list func() ([]int, error), events ...Event) (*Counters, error) {
	if len(events) == 0 {
		return nil, errors.New("perf: no event to count")
	}
	if err := check(events); err != nil {
		return nil, err
	}
	events = slices.Clone(events)
	groups, err := attach(list, func(thread int) (group, error) { return openGroup(thread, events) })
	if errors.Is(err, syscall.EMFILE) {
		err = fmt.Errorf("perf: counters need %d files for each thread: %w; raise the limit (ulimit -n)", len(events), err)
	}
	if err != nil {
		return nil, err
	}
	return &Counters{events: events, groups: groups, begin: make(reading, counts+len(events))}, nil
}

// Start begins to count, thread after thread, some microseconds each, and half a
// millisecond more.
func (c *Counters) Start() (err error) {
	if c.begin, err = c.read(); err != nil {
		return err
	}
	return settle(func() error { return c.each(group.enable) })
}

// Stop ends the counting, thread after thread, and returns what was counted since
// Start. The counters may be started again.
//
// The error wraps ErrMultiplexed when more was to be counted at the same time than
// the processor has counters for, or it has cores of two kinds.
func (c *Counters) Stop() (Counts, error) {
	if err := c.each(group.disable); err != nil {
		return nil, err
	}
	end, err := c.read()
	if err != nil {
		return nil, err
	}
	return end.since(c.begin, c.events)
}

// Close closes the counters. Those that are closed can be closed again, and not be
// started.
func (c *Counters) Close() error {
	err := c.each(group.close)
	c.groups = nil
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// each calls do for every group, and returns the first error.
func (c *Counters) each(do func(group) error) error {
	if c.groups == nil {
		return fmt.Errorf("perf: counters: %w", os.ErrClosed)
	}
	var first error
	for _, g := range c.groups {
		if err := do(g); err != nil && first == nil {
			first = fmt.Errorf("perf: counters: %w", err)
		}
	}
	return first
}

// read adds up all groups.
func (c *Counters) read() (reading, error) {
	sum := make(reading, counts+len(c.events))
	err := c.each(func(g group) error { return g.addTo(sum) })
	return sum, err
}

// A reading is what a group shows: for how long it was to count and for how long it
// did, in ns, and a count for each event.
type reading []uint64

// The places in a reading.
const (
	enabled = iota
	running
	counts
)

// since returns what was counted after an earlier reading. A part in a thousand of
// the time may be missing.
func (r reading) since(earlier reading, events []Event) (Counts, error) {
	wanted, had := r[enabled]-earlier[enabled], r[running]-earlier[running]
	if missing := wanted - min(had, wanted); missing > wanted/1000 {
		return nil, fmt.Errorf("perf: %w: %v counted for %v of %v; count fewer events, and let no other program count",
			ErrMultiplexed, events, time.Duration(had), time.Duration(wanted))
	}
	found := Counts{}
	for i, event := range events {
		found[event] = r[counts+i] - earlier[counts+i]
	}
	return found, nil
}
