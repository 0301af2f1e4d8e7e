package guard

import (
	"context"
	"sync"
)

// mutexCounter spells out what mutexed[int64] would do, because a call through
// a function value costs as much as the critical section of a counter.
type mutexCounter struct {
	_ pad
	lock[sync.Mutex, *sync.Mutex]
	value int64
	_     pad
}

func newMutexCounter() Counter { return new(mutexCounter) }

func (c *mutexCounter) Add(ctx context.Context, n int64) (int64, error) {
	c.mu.Lock()
	if err := refusal(ctx, c.closed); err != nil {
		c.mu.Unlock()
		return 0, err
	}
	c.value += n
	value := c.value
	c.mu.Unlock()
	return value, nil
}

func (c *mutexCounter) Load(ctx context.Context) (int64, error) { return c.Add(ctx, 0) }

type mutexed[S any] struct {
	_ pad
	lock[sync.Mutex, *sync.Mutex]
	state S
	_     pad
}

func (m *mutexed[S]) Do(ctx context.Context, f func(*S)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := refusal(ctx, m.closed); err != nil {
		return err
	}
	f(&m.state)
	return nil
}

// A lock of type L protects closed and the state that embeds it.
type lock[L any, P interface {
	*L
	sync.Locker
}] struct {
	mu     L
	closed bool
}

func (l *lock[L, P]) Close() error {
	P(&l.mu).Lock()
	defer P(&l.mu).Unlock()
	l.closed = true
	return nil
}

// refusal is asked with the lock held, so that it also sees a context that
// ended during the wait.
func refusal(ctx context.Context, closed bool) error {
	if closed {
		return ErrClosed
	}
	return ctx.Err()
}
