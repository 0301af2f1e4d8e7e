package guard

import (
	"context"
	"sync"
)

type rwMutexCounter struct {
	_ pad
	lock[sync.RWMutex, *sync.RWMutex]
	value int64
	_     pad
}

func newRWMutexCounter() Counter { return new(rwMutexCounter) }

func (c *rwMutexCounter) Add(ctx context.Context, n int64) (int64, error) {
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

func (c *rwMutexCounter) Load(ctx context.Context) (int64, error) {
	c.mu.RLock()
	if err := refusal(ctx, c.closed); err != nil {
		c.mu.RUnlock()
		return 0, err
	}
	value := c.value
	c.mu.RUnlock()
	return value, nil
}

type rwMutexed[S any] struct {
	_ pad
	lock[sync.RWMutex, *sync.RWMutex]
	state S
	_     pad
}

func (m *rwMutexed[S]) Do(ctx context.Context, f func(*S)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := refusal(ctx, m.closed); err != nil {
		return err
	}
	f(&m.state)
	return nil
}
