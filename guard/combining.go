package guard

import (
	"context"
	"runtime"
	"sync/atomic"
)

const (
	// maxServed is the number of requests after which the holder of the lock
	// leaves the others to whoever waits awake.
	maxServed = 1024
	// waiterYields is how often a waiter gives way before it parks.
	waiterYields = 64
)

// combining is flat combining after Hendler, Incze, Shavit and Tzafrir, "Flat
// Combining and the Synchronization-Parallelism Tradeoff", SPAA 2010: a caller
// that finds the lock taken publishes its request, and the holder executes what
// is published, with the state warm in its cache, while the others wait for
// answers instead of the lock.
//
// The paper's publication list has a record for every thread. Goroutines have no
// storage of their own, so here a record lives as long as its request, on a stack
// that the holder takes whole.
//
// Nobody is forgotten. A caller publishes and then tries the lock; the holder frees
// the lock and then looks for requests; so one of them sees the other. A holder
// that leaves requests behind has freed the lock and then seen somebody awake; a
// waiter stops being awake and then looks for requests and tries the lock.
//
// Nobody serves for ever. When all waiters have parked, which means that operations
// are long, the holder serves one stack and gives the lock to one of them. Otherwise
// it goes on for a while: to leave costs more than many short operations.
type combining[S, A, R any] struct {
	_      pad
	held   atomic.Bool
	_      pad
	head   atomic.Pointer[slot[A, R]] // youngest published request
	awake  atomic.Int64               // waiters that will try the lock before they park or return
	_      pad
	closed atomic.Bool
	apply  func(*S, A) R
	rack   rack[A, R]
	_      pad
	state  S           // of the holder
	rest   *slot[A, R] // of the holder: requests that came with the lock
	_      pad
}

func newCombining[S, A, R any](initial S, apply func(*S, A) R) *combining[S, A, R] {
	return &combining[S, A, R]{state: initial, apply: apply}
}

func (c *combining[S, A, R]) do(ctx context.Context, arg A) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if c.tryLock() {
		return c.hold(arg)
	}
	s := c.rack.get(ctx, arg)
	c.push(s)
	c.wait(s)
	if err := s.await(ctx, 0); err != nil {
		return none, err
	}
	if s.state.Load()&heir != 0 {
		c.rack.put(s)
		return c.hold(arg)
	}
	return c.rack.finish(s)
}

// hold executes the caller's own request, and others, with the lock held.
func (c *combining[S, A, R]) hold(arg A) (result R, err error) {
	if c.closed.Load() {
		err = ErrClosed
	} else {
		result = c.apply(&c.state, arg)
	}
	rest := c.rest
	c.rest = nil
	c.serve(rest)
	return result, err
}

// wait returns when the slot is done or the caller may park.
func (c *combining[S, A, R]) wait(s *slot[A, R]) {
	c.awake.Add(1)
	for yields := 0; yields < waiterYields && !s.isSettled(); yields++ {
		if c.tryLock() {
			c.serve(nil)
		} else {
			runtime.Gosched()
		}
	}
	c.awake.Add(-1)
	if c.head.Load() != nil && c.tryLock() {
		c.serve(nil)
	}
}

func (c *combining[S, A, R]) tryLock() bool {
	return !c.held.Load() && c.held.CompareAndSwap(false, true)
}

func (c *combining[S, A, R]) push(s *slot[A, R]) {
	for {
		head := c.head.Load()
		s.next = head
		if c.head.CompareAndSwap(head, s) {
			return
		}
	}
}

// serve executes the stack, then what is published, and what comes during that. It
// is called by the holder of the lock, who no longer has it afterwards.
func (c *combining[S, A, R]) serve(stack *slot[A, R]) {
	for served := 0; ; {
		served += c.run(stack)
		if c.head.Load() == nil || served >= maxServed {
			c.held.Store(false)
			if c.head.Load() == nil || c.awake.Load() > 0 || !c.tryLock() {
				return
			}
		}
		stack = c.head.Swap(nil)
		if served > 0 && c.awake.Load() == 0 && c.handOver(stack) {
			return
		}
	}
}

func (c *combining[S, A, R]) run(stack *slot[A, R]) int {
	if c.closed.Load() {
		stack.refuseAll()
		return 0
	}
	return execute(stack, &c.state, c.apply)
}

// handOver gives the lock and the stack to the first caller in it who still waits,
// if there is one.
func (c *combining[S, A, R]) handOver(stack *slot[A, R]) bool {
	for s := stack; s != nil; {
		next := s.next
		if s.claim() {
			c.rest = next
			s.settle(heir)
			return true
		}
		s = next
	}
	return false
}

// Close sends one more request after the mark: when it is answered, whatever
// ran before has ended.
func (c *combining[S, A, R]) Close() error {
	c.closed.Store(true)
	var nothing A
	_, err := c.do(context.Background(), nothing)
	if err == ErrClosed {
		return nil
	}
	return err
}
