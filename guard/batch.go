package guard

import (
	"context"
	"runtime"
	"sync/atomic"
)

// How long callers and the owner wait before they park. Yielding puts a goroutine
// in the scheduler's global queue, which has one lock; when callers do so on every
// P they contend for it. So the owner, having found nothing, keeps its P for about
// half a microsecond first, during which only the callers on other Ps publish and
// yield. It looks seldom, so as not to take the line with the requests from them
// each time.
const (
	callerYields = 16
	ownerYields  = 4
	ownerLooks   = 10
	turnsPerLook = 200 // of an empty loop, 50 ns or so
)

// batch is inputQ with a stack of waiting requests in place of the channel: the
// owner takes the whole stack with one instruction, executes it and answers all.
// While there are callers enough nobody parks.
type batch[S, A, R any] struct {
	_       pad
	head    atomic.Pointer[slot[A, R]] // youngest request, nil, &asleep or &gone
	_       pad
	rack    rack[A, R]
	looks   int           // ownerLooks, or 0 if callers cannot run during the looks
	alarm   chan struct{} // capacity 1: one token for each time that asleep is replaced
	stopped chan struct{}
	asleep  slot[A, R] // as head: the owner waits for the alarm
	gone    slot[A, R] // as head, for ever: closed
}

func newBatch[S, A, R any](initial S, apply func(*S, A) R) *batch[S, A, R] {
	q := &batch[S, A, R]{alarm: make(chan struct{}, 1), stopped: make(chan struct{})}
	if runtime.GOMAXPROCS(0) > 1 {
		q.looks = ownerLooks
	}
	go q.own(initial, apply)
	return q
}

func (q *batch[S, A, R]) own(state S, apply func(*S, A) R) {
	defer close(q.stopped)
	for stack := q.take(); stack != &q.gone; stack = q.take() {
		execute(stack, &state, apply)
	}
}

// take waits for requests and returns them all, or &q.gone.
func (q *batch[S, A, R]) take() *slot[A, R] {
	for idle := 0; ; {
		switch stack := q.head.Load(); {
		case stack == &q.gone:
			return stack
		case stack != nil:
			if q.head.CompareAndSwap(stack, nil) {
				return stack
			}
		case idle < ownerYields:
			idle++
			if !q.linger() {
				runtime.Gosched()
			}
		case q.head.CompareAndSwap(nil, &q.asleep):
			<-q.alarm
			idle = 0
		}
	}
}

// linger waits a little and reports whether something was published.
func (q *batch[S, A, R]) linger() bool {
	for range q.looks {
		for range turnsPerLook {
		}
		if q.head.Load() != nil {
			return true
		}
	}
	return false
}

// push reports whether the queue was open.
func (q *batch[S, A, R]) push(s *slot[A, R]) bool {
	for {
		head := q.head.Load()
		switch head {
		case &q.gone:
			return false
		case &q.asleep:
			s.next = nil
		default:
			s.next = head
		}
		if q.head.CompareAndSwap(head, s) {
			if head == &q.asleep {
				q.alarm <- struct{}{}
			}
			return true
		}
	}
}

func (q *batch[S, A, R]) do(ctx context.Context, arg A) (R, error) {
	var none R
	if err := ctx.Err(); err != nil {
		return none, err
	}
	s := q.rack.get(ctx, arg)
	if !q.push(s) {
		q.rack.put(s)
		return none, ErrClosed
	}
	if err := s.await(ctx, callerYields); err != nil {
		return none, err
	}
	return q.rack.finish(s)
}

// Close refuses the requests that the owner has not taken.
func (q *batch[S, A, R]) Close() error {
	switch stack := q.head.Swap(&q.gone); stack {
	case &q.gone:
	case &q.asleep:
		q.alarm <- struct{}{}
	default:
		stack.refuseAll()
	}
	<-q.stopped
	return nil
}
