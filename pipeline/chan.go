package pipeline

import (
	"context"
	"io"
	"sync/atomic"
)

// neverHungry replaces the consumers' count if batching is not used. It is
// never written.
var neverHungry atomic.Int32

// channel is the design "chan": the published pipeline, buffered or not.
type channel[T any] struct {
	items chan T
	open  atomic.Int32 // producers not yet closed
}

func newChan[T any](c Config) *Pipeline[T] {
	c.Batch = 1
	ch := &channel[T]{items: make(chan T, c.Buffer)} // sized by the user: it is what is studied
	ch.open.Store(int32(c.Producers))
	p := assemble(c,
		func(int) outlet[T] { return ch },
		func(int) inlet[T] { return ch })
	for _, producer := range p.Producers {
		producer.items = ch.items
	}
	for _, consumer := range p.Consumers {
		consumer.items = ch.items
	}
	return p
}

// send tries alone before it selects: a select over two channels locks both.
func (ch *channel[T]) send(ctx context.Context, _ *Producer[T], v T) error {
	select {
	case ch.items <- v:
		return nil
	default:
	}
	select {
	case ch.items <- v:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (ch *channel[T]) flush(context.Context, *Producer[T]) error { return nil }

func (ch *channel[T]) close() {
	if ch.open.Add(-1) == 0 {
		close(ch.items)
	}
}

func (ch *channel[T]) receive(ctx context.Context, _ *Consumer[T]) (v T, err error) {
	select {
	case v, ok := <-ch.items:
		return v, endUnless(ok)
	default:
	}
	select {
	case v, ok := <-ch.items:
		return v, endUnless(ok)
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

func endUnless(ok bool) error {
	if ok {
		return nil
	}
	return io.EOF
}
