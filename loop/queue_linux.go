package loop

import (
	"cmp"
	"slices"
	"time"
)

// A queue is first in, first out, of VUs that are free. It holds each at most
// once and never grows.
type queue struct {
	ring  []*slot
	first int
	len   int
}

func (q *queue) push(s *slot) {
	i := q.first + q.len
	if i >= len(q.ring) {
		i -= len(q.ring)
	}
	q.ring[i] = s
	q.len++
}

// head returns the first, which must exist.
func (q *queue) head() *slot { return q.ring[q.first] }

func (q *queue) pop() *slot {
	s := q.ring[q.first]
	q.first++
	if q.first == len(q.ring) {
		q.first = 0
	}
	q.len--
	return s
}

// later are free VUs whose turn comes at a time of the plan, the first to come last.
type later []*slot

// add keeps the order of the VUs among those of the same time.
func (w *later) add(s *slot) {
	i, _ := slices.BinarySearchFunc(*w, s, func(other, s *slot) int {
		return cmp.Or(cmp.Compare(s.it.Due, other.it.Due), 1)
	})
	*w = slices.Insert(*w, i, s)
}

// due is when the first one's turn comes, or never.
func (w later) due() time.Duration {
	if len(w) == 0 {
		return never
	}
	return w[len(w)-1].it.Due
}

func (w *later) pop() *slot {
	s := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return s
}

// A list holds the iterations in flight by their start, the longest first.
// The slots are its nodes.
type list struct{ root slot }

func (l *list) init() { l.root.prev, l.root.next = &l.root, &l.root }

func (l *list) push(s *slot) {
	last := l.root.prev
	s.prev, s.next = last, &l.root
	last.next, l.root.prev = s, s
}

func (l *list) remove(s *slot) {
	s.prev.next, s.next.prev = s.next, s.prev
	s.prev, s.next = nil, nil
}

// head returns the first, nil if the list is empty.
func (l *list) head() *slot {
	if l.root.next == &l.root {
		return nil
	}
	return l.root.next
}
