package guard

import (
	"context"
	"sync"
)

// inboxSize is the number of requests that can wait without their callers
// standing in line for the channel. The figure is that of the pooled actor in
// the project's first measurements; every call also waits for its answer, so it
// bounds memory, not the state's lag.
const inboxSize = 1024

// pooled is inputQ with a buffered inbox and reused reply slots.
type pooled[S, A, R any] struct {
	door    *door
	in      chan *slot[A, R]
	rack    rack[A, R]
	stopped chan struct{}
	closing sync.Once
}

func newPooled[S, A, R any](initial S, apply func(*S, A) R) *pooled[S, A, R] {
	q := &pooled[S, A, R]{
		door:    newDoor(),
		in:      make(chan *slot[A, R], inboxSize),
		stopped: make(chan struct{}),
	}
	go q.own(initial, apply)
	return q
}

func (q *pooled[S, A, R]) own(state S, apply func(*S, A) R) {
	defer close(q.stopped)
	for s := range q.in {
		if s.claim() {
			s.result = apply(&state, s.arg)
			s.settle(done)
		}
	}
}

func (q *pooled[S, A, R]) do(ctx context.Context, arg A) (R, error) {
	var none R
	if !q.door.enter() {
		return none, ErrClosed
	}
	defer q.door.leave()
	if err := ctx.Err(); err != nil {
		return none, err
	}
	s := q.rack.get(ctx, arg)
	if !s.mayLeave {
		q.in <- s
	} else {
		select {
		case q.in <- s:
		case <-ctx.Done():
			q.rack.put(s)
			return none, ctx.Err()
		}
	}
	if err := s.await(ctx, 0); err != nil {
		return none, err
	}
	return q.rack.finish(s)
}

// Close lets the callers inside have their answers.
func (q *pooled[S, A, R]) Close() error {
	q.closing.Do(func() {
		q.door.shutAndWait()
		close(q.in)
		<-q.stopped
	})
	return nil
}
