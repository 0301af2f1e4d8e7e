package guard

import (
	"math"
	"sync"
	"sync/atomic"
)

// An inbox leads requests to the goroutine that owns a state, and lets callers
// through its door while it is open.
type inbox[T any] struct {
	door    *door
	in      chan T
	stopped chan struct{}
	closing sync.Once
}

// open starts the owner, which ends when its requests do.
func (b *inbox[T]) open(size int, own func(in <-chan T)) {
	b.door, b.in, b.stopped = newDoor(), make(chan T, size), make(chan struct{})
	go func() {
		defer close(b.stopped)
		own(b.in)
	}()
}

// Close lets the callers inside have their answers.
func (b *inbox[T]) Close() error {
	b.closing.Do(func() {
		b.door.shutAndWait()
		close(b.in)
		<-b.stopped
	})
	return nil
}

// A door counts the callers inside, so that Close can let them finish and then
// close a channel on which nobody sends any more. Two atomic additions per call
// cost less than a second channel in every select.
type door struct {
	_      pad
	inside atomic.Int64 // callers, plus shut once the door is shut
	_      pad
	empty  chan struct{} // capacity 1: the last caller out need not wait
}

const shut = math.MinInt64

func newDoor() *door { return &door{empty: make(chan struct{}, 1)} }

// enter reports whether the door was open; then leave must follow.
func (d *door) enter() bool {
	if d.inside.Add(1) > 0 {
		return true
	}
	d.leave()
	return false
}

func (d *door) leave() {
	if d.inside.Add(-1) == shut {
		select {
		case d.empty <- struct{}{}:
		default:
		}
	}
}

// shutAndWait refuses new callers and waits until those inside have left. It is
// called once.
func (d *door) shutAndWait() {
	if d.inside.Add(shut) != shut {
		<-d.empty
	}
}
