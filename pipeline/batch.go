package pipeline

import (
	"context"
	"io"
	"sync/atomic"
)

// batches is the design "chan-batch". Windows are slices that travel full over
// one channel and come back empty over the other.
//
// There are cap(full) + producers + consumers slices. A producer asks for one
// only after it has passed its own on, and the others hold at most cap(full) +
// producers − 1 + consumers together: one is always in empty, or about to be put
// there by a consumer that has already returned from its window.
type batches[T any] struct {
	full  chan []T
	empty chan []T     // as large as the number of slices: never full
	open  atomic.Int32 // producers not yet closed
	idle  *gate        // counts the consumers that are parked, on full, and not yet served
}

func newBatch[T any](c Config) *Pipeline[T] {
	slots := (c.Buffer + c.Batch - 1) / c.Batch
	c.Buffer = slots * c.Batch
	slices := slots + c.Producers + c.Consumers
	b := &batches[T]{full: make(chan []T, slots), empty: make(chan []T, slices), idle: newGate(c.Consumers)}
	for range slices {
		b.empty <- make([]T, c.Batch)
	}
	b.open.Store(int32(c.Producers))
	p := assemble(c,
		func(int) outlet[T] { return b },
		func(int) inlet[T] { return b })
	for _, producer := range p.Producers {
		producer.hungry = &b.idle.waiting
		producer.window = <-b.empty
	}
	return p
}

func (b *batches[T]) send(ctx context.Context, p *Producer[T], v T) error {
	if p.n == len(p.window) {
		if err := b.flush(ctx, p); err != nil {
			return err
		}
	}
	p.window[p.n] = v
	p.n++
	if p.hungry.Load() > 0 {
		b.tryPublish(p)
	}
	return nil
}

func (b *batches[T]) flush(ctx context.Context, p *Producer[T]) error {
	if p.n == 0 || b.tryPublish(p) {
		return nil
	}
	select {
	case b.full <- p.window[:p.n]:
		p.window, p.n = <-b.empty, 0
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryPublish reports false only when full is full; then no consumer is parked for
// long. It counts one consumer as served before that one can wake up.
func (b *batches[T]) tryPublish(p *Producer[T]) bool {
	b.idle.wake()
	select {
	case b.full <- p.window[:p.n]:
		p.window, p.n = <-b.empty, 0
		return true
	default:
		return false
	}
}

func (b *batches[T]) close() {
	if b.open.Add(-1) == 0 {
		close(b.full)
	}
}

func (b *batches[T]) receive(ctx context.Context, c *Consumer[T]) (v T, err error) {
	b.giveBack(c)
	window, ok, err := b.next(ctx)
	if err != nil {
		return v, err
	}
	if !ok {
		return v, io.EOF
	}
	c.window, c.n = window, 1
	return window[0], nil
}

func (b *batches[T]) giveBack(c *Consumer[T]) {
	if c.window == nil {
		return
	}
	clear(c.window) // keep nothing alive that was consumed
	b.empty <- c.window[:cap(c.window)]
	c.window, c.n = nil, 0
}

func (b *batches[T]) next(ctx context.Context) (window []T, ok bool, err error) {
	if len(b.full) == 0 {
		b.idle.poll(func() bool { return len(b.full) > 0 })
	}
	select {
	case window, ok = <-b.full:
		return window, ok, nil
	default:
	}
	b.idle.waiting.Add(1)
	select {
	case window, ok = <-b.full:
		b.idle.served()
		return window, ok, nil
	case <-ctx.Done():
		b.idle.leave()
		return nil, false, ctx.Err()
	}
}
