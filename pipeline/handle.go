package pipeline

import (
	"context"
	"sync/atomic"
)

// cacheLine is two lines of 64 bytes, because processors fetch them in pairs.
const cacheLine = 128

// A Producer is one goroutine's sending side of a pipeline. One goroutine at a
// time may use it.
type Producer[T any] struct {
	window []T // slots that only this producer may fill
	n      int // filled so far
	// hungry counts the consumers that are parked for want of items.
	hungry *atomic.Int32
	out    outlet[T]
	items  chan T // the channel of the design chan, which no indirection shall slow down
	_      [cacheLine]byte
}

// An outlet is a design's side of a Producer, called once per window.
type outlet[T any] interface {
	// send takes v when the window is used up or a consumer is hungry. It waits
	// for room; when it fails, v was not taken.
	send(ctx context.Context, p *Producer[T], v T) error
	// flush publishes the p.n items in the window.
	flush(ctx context.Context, p *Producer[T]) error
	// close ends this producer. It does not wait.
	close()
}

// Offer takes v if the window has a slot for it and no consumer is parked for
// want of items. It is the part of Send that the compiler inlines; false only
// means that the rest of Send is needed:
//
//	if !p.Offer(v) {
//		err = p.Send(ctx, v)
//	}
func (p *Producer[T]) Offer(v T) bool {
	n := p.n
	if n >= len(p.window) || p.hungry.Load() > 0 {
		return false
	}
	p.window[n] = v
	p.n = n + 1
	return true
}

// Send hands v over, waiting while the pipeline is full. When it returns an
// error, which is ctx's or ErrClosed, v was not taken and Send may be called
// again. With a batching design v may wait unpublished; see the package comment
// for how long.
func (p *Producer[T]) Send(ctx context.Context, v T) error {
	if p.Offer(v) {
		return nil
	}
	return p.send(ctx, v)
}

// send is a function of its own so that Send keeps its arguments in registers.
func (p *Producer[T]) send(ctx context.Context, v T) error {
	if p.items != nil && ctx.Done() == nil {
		p.items <- v
		return nil
	}
	return p.out.send(ctx, p, v)
}

// SendAll hands all items over in order, as if each were sent, but faster. It
// returns how many it took, which is fewer than all only with an error.
func (p *Producer[T]) SendAll(ctx context.Context, items []T) (taken int, err error) {
	if p.items != nil && ctx.Done() == nil {
		for _, v := range items {
			p.items <- v
		}
		return len(items), nil
	}
	for taken < len(items) {
		if p.hungry.Load() == 0 {
			n := copy(p.window[p.n:], items[taken:])
			p.n += n
			taken += n
		}
		if taken < len(items) {
			if err := p.send(ctx, items[taken]); err != nil {
				return taken, err
			}
			taken++
		}
	}
	return taken, nil
}

// Flush publishes what Send has taken, waiting while the pipeline is full. When
// it returns ctx's error the items are still there and Flush may be called again.
func (p *Producer[T]) Flush(ctx context.Context) error { return p.out.flush(ctx, p) }

// Close flushes and ends this producer; further calls do nothing. When the flush
// fails because ctx is done, Close returns that error, the producer is closed all
// the same, and its unpublished items are lost.
func (p *Producer[T]) Close(ctx context.Context) error {
	err := p.out.flush(ctx, p)
	p.window, p.n, p.items = nil, 0, nil
	p.out.close()
	p.out = closedOutlet[T]{}
	return err
}

// A Consumer is one goroutine's receiving side of a pipeline. One goroutine at a
// time may use it.
type Consumer[T any] struct {
	window []T // items that only this consumer may read
	n      int // read so far
	in     inlet[T]
	items  chan T // as in Producer
	one    [1]T   // the slice of ReceiveSome without a window
	_      [cacheLine]byte
}

// An inlet is a design's side of a Consumer, called once per window.
type inlet[T any] interface {
	// receive gives the used window back and waits for an item.
	receive(ctx context.Context, c *Consumer[T]) (T, error)
}

// Take returns the next item of the window, if there is one. It is the part of
// Receive that the compiler inlines; false only means that the rest of Receive is
// needed.
func (c *Consumer[T]) Take() (v T, ok bool) {
	if n := c.n; n < len(c.window) {
		c.n = n + 1
		return c.window[n], true
	}
	return v, false
}

// Receive returns the next item, and waits for it if necessary. It returns
// io.EOF when every producer has been closed and nothing is left, and ctx's
// error when ctx is done before an item comes; then Receive may be called
// again.
func (c *Consumer[T]) Receive(ctx context.Context) (T, error) {
	if v, ok := c.Take(); ok {
		return v, nil
	}
	return c.receive(ctx)
}

// receive is a function of its own so that Receive keeps its arguments in registers.
func (c *Consumer[T]) receive(ctx context.Context) (T, error) {
	if c.items != nil && ctx.Done() == nil {
		v, ok := <-c.items
		return v, endUnless(ok)
	}
	return c.in.receive(ctx, c)
}

// ReceiveSome returns all items that Receive would return without looking up from
// its window, at least one, for which it waits if necessary; with a design that
// does not batch, exactly one. The slice is valid until the next call on c.
// Errors are those of Receive.
func (c *Consumer[T]) ReceiveSome(ctx context.Context) ([]T, error) {
	if c.n == len(c.window) {
		v, err := c.receive(ctx)
		if err != nil {
			return nil, err
		}
		if len(c.window) == 0 {
			c.one[0] = v
			return c.one[:], nil
		}
		c.n--
	}
	some := c.window[c.n:]
	c.n = len(c.window)
	return some, nil
}

// closedOutlet is the outlet of a closed Producer.
type closedOutlet[T any] struct{}

func (closedOutlet[T]) send(context.Context, *Producer[T], T) error { return ErrClosed }
func (closedOutlet[T]) flush(context.Context, *Producer[T]) error   { return nil }
func (closedOutlet[T]) close()                                      {}
