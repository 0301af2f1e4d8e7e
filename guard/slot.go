package guard

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// A slot carries one request to whoever executes it and the answer back. Slots
// are reused.
//
// The two sides meet only in state, to which each adds bits and looks at what
// was there before; so of abandon and claim, and of parking and answering,
// exactly one comes first.
type slot[A, R any] struct {
	state    atomic.Uint32
	mayLeave bool // the caller's context can end
	arg      A
	result   R
	next     *slot[A, R]   // older neighbour in a stack
	wake     chan struct{} // capacity 1: at most one token, sent if the caller parked
	_        pad
}

const (
	taken     uint32 = 1 << iota // execution has begun
	abandoned                    // the caller has left
	parked                       // the caller waits for a token
	done                         // result is set
	refused                      // closed: not executed
	heir                         // the caller now holds the lock (combining only)

	settled = done | refused | heir
)

// A rack keeps the slots that are not in use.
type rack[A, R any] struct{ pool sync.Pool }

func (k *rack[A, R]) get(ctx context.Context, arg A) *slot[A, R] {
	s, ok := k.pool.Get().(*slot[A, R])
	if !ok {
		s = &slot[A, R]{wake: make(chan struct{}, 1)}
	}
	s.arg = arg
	s.mayLeave = ctx.Done() != nil
	return s
}

// put takes back a slot that only the caller can still reach.
func (k *rack[A, R]) put(s *slot[A, R]) {
	var (
		arg    A
		result R
	)
	s.arg, s.result, s.next = arg, result, nil
	s.state.Store(0)
	k.pool.Put(s)
}

// finish returns the answer in a settled slot and puts the slot back.
func (k *rack[A, R]) finish(s *slot[A, R]) (R, error) {
	result, state := s.result, s.state.Load()
	k.put(s)
	if state&refused != 0 {
		return result, ErrClosed
	}
	return result, nil
}

// await waits until the slot is settled, giving way to other goroutines yields
// times before it parks: to park and be woken costs more than most waits.
// After an error the slot belongs to the executor, who will find it abandoned.
func (s *slot[A, R]) await(ctx context.Context, yields int) error {
	for range yields {
		if s.state.Load()&settled != 0 {
			return nil
		}
		runtime.Gosched()
	}
	if s.state.Or(parked)&settled != 0 {
		return nil
	}
	if !s.mayLeave {
		<-s.wake
		return nil
	}
	select {
	case <-s.wake:
		return nil
	case <-ctx.Done():
	}
	if s.state.Or(abandoned)&(taken|settled) == 0 {
		return ctx.Err()
	}
	<-s.wake // too late: execution has begun
	return nil
}

// claim reports whether the request must still be executed. Without it, a slot
// must not be touched again.
func (s *slot[A, R]) claim() bool {
	return !s.mayLeave || s.state.Or(taken)&abandoned == 0
}

// settle ends the caller's wait. After it the slot is the caller's again.
func (s *slot[A, R]) settle(how uint32) {
	if s.state.Or(how)&parked != 0 {
		s.wake <- struct{}{}
	}
}

// refuse settles a whole stack of slots without executing them.
func (s *slot[A, R]) refuseAll() {
	for s != nil {
		next := s.next
		if s.claim() {
			s.settle(refused)
		}
		s = next
	}
}

// oldestFirst turns a stack into a queue.
func (s *slot[A, R]) oldestFirst() *slot[A, R] {
	var queue *slot[A, R]
	for s != nil {
		s.next, queue, s = queue, s, s.next
	}
	return queue
}
