package guard

import "context"

// inputQ is the actor design as published: an unbuffered channel leads to the
// goroutine that owns the state, and every call allocates a reply channel of
// size 1. (The published channel is of type any; here it has a type.)
type inputQ[S, A, R any] struct{ inbox[request[A, R]] }

type request[A, R any] struct {
	arg   A
	reply chan R
}

func newInputQ[S, A, R any](initial S, apply func(*S, A) R) *inputQ[S, A, R] {
	q := &inputQ[S, A, R]{}
	q.open(0, func(in <-chan request[A, R]) {
		state := initial
		for r := range in {
			r.reply <- apply(&state, r.arg)
		}
	})
	return q
}

func (q *inputQ[S, A, R]) do(ctx context.Context, arg A) (R, error) {
	var none R
	if !q.door.enter() {
		return none, ErrClosed
	}
	defer q.door.leave()
	if err := ctx.Err(); err != nil {
		return none, err
	}
	r := request[A, R]{arg, make(chan R, 1)}
	if ctx.Done() == nil { // a plain send is much cheaper than a select
		q.in <- r
		return <-r.reply, nil
	}
	select {
	case q.in <- r:
		return <-r.reply, nil // the owner is at it: this wait is one operation long
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
