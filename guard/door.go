package guard

import (
	"math"
	"sync/atomic"
)

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

// shutAndWait refuses callers from now on and waits until those inside have
// left. It is called once.
func (d *door) shutAndWait() {
	if d.inside.Add(shut) != shut {
		<-d.empty
	}
}
