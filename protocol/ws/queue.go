package ws

import (
	"iter"
	"slices"
)

// A queue holds the pending calls of a connection, in their order or by their
// ids.
type queue struct {
	byID bool
	ids  map[uint64]*call
	list []*call // starting at head
	head int
}

func (q *queue) push(k *call) {
	if !q.byID {
		q.list = append(q.list, k)
		return
	}
	if q.ids == nil {
		q.ids = map[uint64]*call{}
	}
	q.ids[k.id] = k
}

// take removes the call of the id, or the oldest, and returns nil if there are no calls.
func (q *queue) take(id uint64) *call {
	if q.byID {
		k := q.ids[id]
		delete(q.ids, id)
		return k
	}
	if q.empty() {
		return nil
	}
	k := q.list[q.head]
	q.list[q.head] = nil
	q.head++
	q.compact()
	return k
}

// compact moves the calls to the beginning when half of the list is gone.
func (q *queue) compact() {
	if 2*q.head < len(q.list) {
		return
	}
	q.list = slices.Delete(q.list, 0, q.head)
	q.head = 0
}

// remove removes a call and reports whether it was there.
func (q *queue) remove(k *call) bool {
	if q.byID {
		if q.ids[k.id] != k {
			return false
		}
		delete(q.ids, k.id)
		return true
	}
	i := slices.Index(q.list[q.head:], k)
	if i >= 0 {
		q.list = slices.Delete(q.list, q.head+i, q.head+i+1)
	}
	return i >= 0
}

// settleWritten ends the calls whose messages are in batches up to the given one.
func (q *queue) settleWritten(batch uint64) {
	for !q.empty() && q.list[q.head].batch <= batch {
		q.take(0).settle(nil)
	}
}

func (q *queue) empty() bool { return q.head == len(q.list) && len(q.ids) == 0 }

// drain removes all calls.
func (q *queue) drain() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for id := range q.ids {
			if !yield(q.take(id)) {
				return
			}
		}
		for !q.empty() {
			if !yield(q.take(0)) {
				return
			}
		}
	}
}
