package counter

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"contend/guard"
)

// A change is the guarded state, and what one increment made of it.
type change struct {
	value int64
	at    int64 // Unix time in seconds
}

// A guarded counter is protected by one guard design. An error means that nothing
// was changed.
//
// No context is passed to the guard. A wait there is short and always ends with an
// answer or with Close, whereas a context that can be done costs a queue a select
// for every call and a lock nothing: it would be part of the difference between
// designs.
type guarded interface {
	// increment adds n and returns the caller's own change.
	increment(n int64) (change, error)
	load() (int64, error)
	// Close makes later calls return guard.ErrClosed, and waits for earlier ones.
	Close() error
}

// newGuarded returns a counter at zero guarded by design, whose name may be in
// any letter case.
func newGuarded(design string) (guarded, error) {
	d, err := guard.Lookup(design)
	if err != nil {
		return nil, err
	}
	if d.Exclusive {
		e, err := guard.NewExclusive(d.Name, change{})
		if err != nil {
			return nil, err
		}
		return newGuardedState(e), nil
	}
	if d.NewCounter == nil {
		return nil, fmt.Errorf("design %s returns no value; expected %s", d.Name, strings.Join(guard.Names(true), ", "))
	}
	return guardedCounter{d.NewCounter()}, nil
}

// A guardedState reads the clock inside the critical section, so the times
// are in the order of the values.
type guardedState struct {
	guard.Exclusive[change]
	calls sync.Pool // of *call; a closure per increment would be allocated
}

type call struct {
	n   int64
	got change
	run func(*change) // apply, bound once
}

func (c *call) apply(s *change) {
	s.value += c.n
	s.at = time.Now().Unix()
	c.got = *s
}

func newGuardedState(e guard.Exclusive[change]) *guardedState {
	t := &guardedState{Exclusive: e}
	t.calls.New = func() any {
		c := &call{}
		c.run = c.apply
		return c
	}
	return t
}

func (t *guardedState) increment(n int64) (change, error) {
	c := t.calls.Get().(*call)
	c.n = n
	err := t.Do(context.Background(), c.run)
	got := c.got
	t.calls.Put(c)
	if err != nil {
		return change{}, err
	}
	return got, nil
}

func (t *guardedState) load() (value int64, err error) {
	err = t.Do(context.Background(), func(s *change) { value = s.value })
	return value, err
}

// A guardedCounter has no critical section: the clock is read after the
// increment and before the answer.
type guardedCounter struct{ guard.Counter }

func (t guardedCounter) increment(n int64) (change, error) {
	v, err := t.Add(context.Background(), n)
	if err != nil {
		return change{}, err
	}
	return change{value: v, at: time.Now().Unix()}, nil
}

func (t guardedCounter) load() (int64, error) { return t.Load(context.Background()) }
