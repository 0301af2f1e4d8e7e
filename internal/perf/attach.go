package perf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// attempts bounds how often attach starts over.
const attempts = 10

// errEnded says that a thread has ended.
var errEnded = errors.New("the thread has ended")

// attach opens a group on each thread of a list, so that no thread counts twice or
// not at all. A thread that began in the meantime may have inherited a group, a
// part of it, or none: nobody can tell, so all starts over. A thread that ended
// need not be counted, and those that it started before are in the list.
func attach(list func() ([]int, error), open func(thread int) (group, error)) ([]group, error) {
	threads, err := list()
	for range attempts {
		if err != nil {
			return nil, err
		}
		var groups []group
		if groups, err = openAll(threads, open); err != nil {
			return nil, err
		}
		before := threads
		threads, err = list()
		come := slices.ContainsFunc(threads, func(t int) bool { return !slices.Contains(before, t) })
		switch {
		case err == nil && !come && groups == nil:
			return nil, fmt.Errorf("perf: no thread lives that could be counted: %w", os.ErrProcessDone)
		case err == nil && !come:
			return groups, nil
		}
		closeAll(groups)
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("perf: new threads came during each of %d attempts to count all, at last of %d;"+
		" count what starts so many from before its start", attempts, len(threads))
}

// openAll opens a group on each of the threads that still live.
func openAll(threads []int, open func(thread int) (group, error)) (groups []group, err error) {
	for _, thread := range threads {
		g, err := open(thread)
		switch {
		case errors.Is(err, errEnded):
		case err != nil:
			closeAll(groups)
			return nil, err
		default:
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func closeAll(groups []group) {
	for _, g := range groups {
		_ = g.close()
	}
}

const (
	passes = 3
	pause  = 100 * time.Microsecond
)

// settle switches all events and their inherited copies, pass after pass. The kernel
// gives a thread the state that its creator's events have as its creation begins, and
// lists it with the others later (inherit_event in Linux' kernel/events/core.c): after a
// single pass, a thread that was being created would keep the old state and pass it on to
// all that it starts. In 90 starts of counters while 1000 threads were created, 21 missed
// between 1 and 850 threads after one pass, 1 missed one after two, and none missed any
// after three.
func settle(pass func() error) error {
	for range passes - 1 {
		if err := pass(); err != nil {
			return err
		}
		time.Sleep(pause) // for those that wait for the list
	}
	return pass()
}
