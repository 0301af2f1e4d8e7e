package table

import (
	"context"
	"math/bits"
	"sync"

	"contend/systems/uplink/lorawan"
)

// A readers is a read-write lock whose readers seldom meet: each takes one of
// several locks, chosen by what it looks for, and a writer takes all of them.
type readers struct {
	locks [16]struct {
		sync.RWMutex
		_ [40]byte // each on a cache line of its own
	}
}

func (r *readers) read(hash uint32) *sync.RWMutex {
	lock := &r.locks[hash%uint32(len(r.locks))].RWMutex
	lock.RLock()
	return lock
}

func (r *readers) lock() {
	for i := range r.locks {
		r.locks[i].Lock()
	}
}

func (r *readers) unlock() {
	for i := range r.locks {
		r.locks[i].Unlock()
	}
}

// A Turn is for one at a time, in the order in which they come: a channel that holds one value. Without a channel
// nobody waits.
type Turn chan struct{}

// Take waits for the turn and does what it is for, unless ctx ends before.
func (t Turn) Take(ctx context.Context, do func() error) error {
	if t == nil {
		return do()
	}
	select {
	case t <- struct{}{}:
		defer func() { <-t }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A turns keeps the order of the database and that of the index the same: whoever
// writes a device, or reads it again after a change by another instance, has its
// turn from before the statement until the index shows the outcome. Turns are
// taken in the order of their numbers, so that nobody waits in a circle.
type turns [64]chan struct{}

func newTurns() *turns {
	t := new(turns)
	for i := range t {
		t[i] = make(chan struct{}, 1) // holds a token while somebody has the turn
	}
	return t
}

// all is every turn: of what is not about single devices.
const all = ^uint64(0)

func turnsOf(euis ...lorawan.EUI) uint64 {
	var mask uint64
	for _, e := range euis {
		mask |= 1 << (uint64(e) * 0x9e3779b97f4a7c15 >> 58) // Fibonacci hashing (Knuth)
	}
	return mask
}

// take waits for the turns of mask and returns what gives them back.
func (t *turns) take(ctx context.Context, mask uint64) (release func(), err error) {
	var have uint64
	release = func() {
		for ; have != 0; have &= have - 1 {
			<-t[bits.TrailingZeros64(have)]
		}
	}
	for rest := mask; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		select {
		case t[i] <- struct{}{}:
			have |= 1 << i
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}
