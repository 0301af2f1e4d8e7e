package guard

import (
	"context"
	"sync/atomic"
)

// maxServed is the number of requests after which the holder of the lock hands
// it on, so that its own caller gets its answer.
const maxServed = 1024

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
// Nobody is forgotten: a caller publishes and then tries the lock; the holder
// frees the lock and then looks for published requests; one of them sees the other.
type combining[S, A, R any] struct {
	_      pad
	held   atomic.Bool
	_      pad
	head   atomic.Pointer[slot[A, R]] // youngest published request
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
		result, err := c.answer(arg)
		c.serve(nil)
		return result, err
	}
	s := c.rack.get(ctx, arg)
	c.push(s)
	if c.tryLock() {
		c.serve(nil)
	}
	if err := s.await(ctx, callerYields); err != nil {
		return none, err
	}
	if s.state.Load()&heir != 0 {
		rest := c.rest
		c.rest = nil
		result, err := c.answer(arg)
		c.rack.put(s)
		c.serve(rest)
		return result, err
	}
	return c.rack.finish(s)
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

func (c *combining[S, A, R]) answer(arg A) (R, error) {
	if c.closed.Load() {
		var none R
		return none, ErrClosed
	}
	return c.apply(&c.state, arg), nil
}

// serve executes the stack and then what is published. It is called by the holder
// of the lock, who no longer has it afterwards.
func (c *combining[S, A, R]) serve(stack *slot[A, R]) {
	for budget := maxServed; ; {
		if c.closed.Load() {
			stack.refuseAll()
			stack = nil
		}
		stack, budget = execute(stack, budget, &c.state, c.apply)
		if stack != nil && c.handOver(stack) {
			return
		}
		if c.head.Load() == nil {
			c.held.Store(false)
			if c.head.Load() == nil || !c.tryLock() {
				return
			}
		}
		stack = c.head.Swap(nil)
	}
}

// handOver gives the lock and the stack to the first caller in it who still
// waits, if there is one.
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
