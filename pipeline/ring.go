package pipeline

import (
	"context"
	"io"
	"sync/atomic"
)

// A ring carries the items of one producer. The positions only grow; position p
// is in slot p modulo the number of slots. Slots from head to tail are the
// consumer's, the others the producer's.
type ring[T any] struct {
	slots []T
	room  *gate // where the producer waits for free slots
	_     [cacheLine]byte
	tail  atomic.Uint64 // published by the producer
	_     [cacheLine]byte
	head  atomic.Uint64 // given back by the consumer
	_     [cacheLine]byte
}

// window returns up to most slots from position p on that lie side by side.
func (r *ring[T]) window(p, most uint64) []T {
	size := uint64(len(r.slots))
	i := p % size
	end := min(i+most, size)
	return r.slots[i:end:end]
}

// rings are the designs "spsc" and "mpsc": a ring per producer and one consumer
// that visits them in turn.
type rings[T any] struct {
	all   []*ring[T]
	batch uint64
	items *gate        // where the consumer waits
	open  atomic.Int32 // producers not yet closed
}

func newRings[T any](c Config) *Pipeline[T] {
	each := (c.Buffer + c.Producers - 1) / c.Producers
	c.Buffer = each * c.Producers
	c.Batch = min(c.Batch, each)
	size := each + c.Batch // so that each fit next to the window that the consumer holds
	rs := &rings[T]{batch: uint64(c.Batch), items: newGate(1)}
	rs.open.Store(int32(c.Producers))
	for range c.Producers {
		rs.all = append(rs.all, &ring[T]{slots: make([]T, size), room: newGate(1)})
	}
	p := assemble(c,
		func(i int) outlet[T] { return &ringOutlet[T]{rings: rs, ring: rs.all[i]} },
		func(int) inlet[T] { return &ringInlet[T]{rings: rs, seen: make([]uint64, c.Producers)} })
	for _, producer := range p.Producers {
		producer.hungry = &rs.items.waiting
	}
	return p
}

// A ringOutlet fills one ring. Its window is the piece of the ring that starts at tail.
type ringOutlet[T any] struct {
	rings *rings[T]
	ring  *ring[T]
	tail  uint64 // as published
	head  uint64 // as last seen: the other side's line is read once per round
}

func (o *ringOutlet[T]) send(ctx context.Context, p *Producer[T], v T) error {
	if p.n == len(p.window) {
		o.publish(p)
		if err := o.reserve(ctx, p); err != nil {
			return err
		}
	}
	p.window[p.n] = v
	p.n++
	if p.hungry.Load() > 0 {
		o.publish(p)
	}
	return nil
}

func (o *ringOutlet[T]) flush(_ context.Context, p *Producer[T]) error {
	o.publish(p)
	return nil
}

// publish shows the filled part of the window to the consumer. It never waits:
// the items are in their slots already.
func (o *ringOutlet[T]) publish(p *Producer[T]) {
	if p.n == 0 {
		return
	}
	o.tail += uint64(p.n)
	p.window, p.n = p.window[p.n:], 0
	o.ring.tail.Store(o.tail)
	o.rings.items.wake()
}

// reserve waits for a free slot and makes the window of what is free.
func (o *ringOutlet[T]) reserve(ctx context.Context, p *Producer[T]) error {
	if o.room() == 0 {
		if err := o.ring.room.await(ctx, func() bool { return o.room() > 0 }); err != nil {
			return err
		}
	}
	p.window, p.n = o.ring.window(o.tail, min(o.room(), o.rings.batch)), 0
	return nil
}

// room returns the number of free slots, looking at the ring only when none was
// left at the last look.
func (o *ringOutlet[T]) room() uint64 {
	size := uint64(len(o.ring.slots))
	if o.tail-o.head == size {
		o.head = o.ring.head.Load()
	}
	return size - (o.tail - o.head)
}

func (o *ringOutlet[T]) close() {
	if o.rings.open.Add(-1) == 0 {
		o.rings.items.wake()
	}
}

// A ringInlet empties all rings. Its window is a piece of the ring at turn.
type ringInlet[T any] struct {
	rings *rings[T]
	seen  []uint64 // the tails as last seen
	turn  int
}

func (in *ringInlet[T]) receive(ctx context.Context, c *Consumer[T]) (v T, err error) {
	in.giveBack(c)
	for !in.next(c) {
		if in.rings.open.Load() == 0 {
			if in.next(c) { // published between the first look and the last close
				break
			}
			return v, io.EOF
		}
		if err := in.rings.items.await(ctx, in.ready); err != nil {
			return v, err
		}
	}
	c.n = 1
	return c.window[0], nil
}

// giveBack returns the window's slots to the producer.
func (in *ringInlet[T]) giveBack(c *Consumer[T]) {
	if len(c.window) == 0 {
		return
	}
	r := in.rings.all[in.turn]
	clear(c.window) // keep nothing alive that was consumed
	r.head.Store(r.head.Load() + uint64(len(c.window)))
	r.room.wake()
	c.window, c.n = nil, 0
}

// next takes a window from the first ring, after the one at turn, that has items.
func (in *ringInlet[T]) next(c *Consumer[T]) bool {
	for range in.rings.all {
		in.turn++
		if in.turn == len(in.rings.all) {
			in.turn = 0
		}
		r := in.rings.all[in.turn]
		head := r.head.Load()
		if in.seen[in.turn] == head {
			in.seen[in.turn] = r.tail.Load()
		}
		if n := in.seen[in.turn] - head; n > 0 {
			c.window = r.window(head, min(n, in.rings.batch))
			return true
		}
	}
	return false
}

// ready reports whether next would find items, or the end has come.
func (in *ringInlet[T]) ready() bool {
	for _, r := range in.rings.all {
		if r.tail.Load() != r.head.Load() {
			return true
		}
	}
	return in.rings.open.Load() == 0
}
