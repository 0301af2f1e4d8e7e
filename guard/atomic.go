package guard

import (
	"context"
	"sync/atomic"
)

// word is a number that callers change without waiting for each other. closed
// has a line of its own, which every core can keep while value travels.
type word struct {
	_      pad
	value  atomic.Int64
	_      pad
	closed atomic.Bool
	_      pad
}

func (w *word) Load(ctx context.Context) (int64, error) {
	if err := refusal(ctx, w.closed.Load()); err != nil {
		return 0, err
	}
	return w.value.Load(), nil
}

// Close does not wait: an operation of one instruction that has passed the
// check counts as one that happened before.
func (w *word) Close() error {
	w.closed.Store(true)
	return nil
}

type atomicCounter struct{ word }

func newAtomicCounter() Counter { return new(atomicCounter) }

func (c *atomicCounter) Add(ctx context.Context, n int64) (int64, error) {
	if err := refusal(ctx, c.closed.Load()); err != nil {
		return 0, err
	}
	return c.value.Add(n), nil
}

type casCounter struct{ word }

func newCASCounter() Counter { return new(casCounter) }

func (c *casCounter) Add(ctx context.Context, n int64) (int64, error) {
	if err := refusal(ctx, c.closed.Load()); err != nil {
		return 0, err
	}
	for {
		old := c.value.Load()
		if c.value.CompareAndSwap(old, old+n) {
			return old + n, nil
		}
	}
}
