package pipeline

import (
	"context"
	"io"
	"sync/atomic"
)

// slots is the design "mpmc", the bounded queue of D. Vyukov. The number of slot
// i is p when position p may be filled, p + 1 when it may be emptied, and
// p + len(cells), the next round's position, when it may be filled again.
type slots[T any] struct {
	cells []slot[T] // a power of two of them, at least two: with one, p + 1 is the next round's p
	open  atomic.Int32
	items *gate
	room  *gate
	_     [cacheLine]byte
	tail  atomic.Uint64 // the next position to fill
	_     [cacheLine]byte
	head  atomic.Uint64 // the next position to empty
	_     [cacheLine]byte
}

type slot[T any] struct {
	number atomic.Uint64
	item   T
}

func newSlots[T any](c Config) *Pipeline[T] {
	size := 2
	for size < c.Buffer {
		size *= 2
	}
	c.Buffer, c.Batch = size, 1
	q := &slots[T]{cells: make([]slot[T], size), items: newGate(c.Consumers), room: newGate(c.Producers)}
	for i := range q.cells {
		q.cells[i].number.Store(uint64(i))
	}
	q.open.Store(int32(c.Producers))
	return assemble(c,
		func(int) outlet[T] { return q },
		func(int) inlet[T] { return q })
}

func (q *slots[T]) at(position uint64) *slot[T] {
	return &q.cells[position&uint64(len(q.cells)-1)]
}

// send passes a wake-up on when there is more room: one that freed a slot out of
// turn may have woken a producer that could not yet use it.
func (q *slots[T]) send(ctx context.Context, _ *Producer[T], v T) error {
	for !q.put(v) {
		if err := q.room.await(ctx, q.hasRoom); err != nil {
			return err
		}
	}
	q.items.wake()
	if q.room.waiting.Load() > 0 && q.hasRoom() {
		q.room.wake()
	}
	return nil
}

func (q *slots[T]) receive(ctx context.Context, _ *Consumer[T]) (v T, err error) {
	for !q.get(&v) {
		if q.open.Load() == 0 {
			if q.get(&v) { // sent between the first try and the last close
				break
			}
			return v, io.EOF
		}
		if err := q.items.await(ctx, q.hasItemsOrEnd); err != nil {
			return v, err
		}
	}
	q.room.wake()
	if q.items.waiting.Load() > 0 && q.hasItems() {
		q.items.wake()
	}
	return v, nil
}

// put appends v and reports false only when the queue is full.
func (q *slots[T]) put(v T) bool {
	for {
		position := q.tail.Load()
		s := q.at(position)
		switch ahead := int64(s.number.Load() - position); {
		case ahead < 0:
			return false
		case ahead == 0 && q.tail.CompareAndSwap(position, position+1):
			s.item = v
			s.number.Store(position + 1)
			return true
		}
	}
}

// get takes the first item and reports false only when the queue is empty.
func (q *slots[T]) get(v *T) bool {
	for {
		position := q.head.Load()
		s := q.at(position)
		switch ahead := int64(s.number.Load() - position - 1); {
		case ahead < 0:
			return false
		case ahead == 0 && q.head.CompareAndSwap(position, position+1):
			var none T
			*v, s.item = s.item, none
			s.number.Store(position + uint64(len(q.cells)))
			return true
		}
	}
}

func (q *slots[T]) hasRoom() bool {
	position := q.tail.Load()
	return int64(q.at(position).number.Load()-position) >= 0
}

func (q *slots[T]) hasItems() bool {
	position := q.head.Load()
	return int64(q.at(position).number.Load()-position-1) >= 0
}

func (q *slots[T]) hasItemsOrEnd() bool { return q.hasItems() || q.open.Load() == 0 }

func (q *slots[T]) flush(context.Context, *Producer[T]) error { return nil }

func (q *slots[T]) close() {
	if q.open.Add(-1) == 0 {
		q.items.wakeAll()
	}
}
