package guard

import "context"

// inboxSize is the number of requests that can wait without their callers
// standing in line for the channel. The figure is that of the pooled actor in
// the project's first measurements; every call also waits for its answer, so it
// bounds memory, not the state's lag.
const inboxSize = 1024

// pooled is inputQ with a buffered inbox and reused reply slots.
type pooled[S, A, R any] struct {
	inbox[*slot[A, R]]
	rack rack[A, R]
}

func newPooled[S, A, R any](initial S, apply func(*S, A) R) *pooled[S, A, R] {
	q := &pooled[S, A, R]{}
	q.open(inboxSize, func(in <-chan *slot[A, R]) {
		state := initial
		for s := range in {
			if s.claim() {
				s.result = apply(&state, s.arg)
				s.settle(done)
			}
		}
	})
	return q
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
