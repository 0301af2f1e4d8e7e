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
	refused  bool // the answer is ErrClosed
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
	done                         // the answer has come
	heir                         // no answer: the caller now holds the lock (combining only)

	settled = done | heir
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
	s.arg, s.result, s.refused, s.next = arg, result, false, nil
	s.state.Store(0)
	k.pool.Put(s)
}

// finish returns the answer in a slot that is done, and puts the slot back.
func (k *rack[A, R]) finish(s *slot[A, R]) (R, error) {
	result, refused := s.result, s.refused
	k.put(s)
	if refused {
		return result, ErrClosed
	}
	return result, nil
}

// await waits until the slot is settled, giving way to other goroutines yields
// times before it parks: to park and be woken costs more than most waits.
// After an error the slot belongs to the executor, who will find it abandoned.
func (s *slot[A, R]) await(ctx context.Context, yields int) error {
	for range yields {
		if s.isSettled() {
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

func (s *slot[A, R]) isSettled() bool { return s.state.Load()&settled != 0 }

// claim reports whether the request must still be executed. If not the caller has
// left, and the slot is dropped.
func (s *slot[A, R]) claim() bool {
	return !s.mayLeave || s.state.Or(taken)&abandoned == 0
}

// settle ends the caller's wait. After it the slot is the caller's again.
func (s *slot[A, R]) settle(how uint32) {
	if s.state.Swap(how)&parked != 0 {
		s.wake <- struct{}{}
	}
}

// refuseAll settles a stack without executing it.
func (s *slot[A, R]) refuseAll() {
	for s != nil {
		next := s.next
		if s.claim() {
			s.refused = true
			s.settle(done)
		}
		s = next
	}
}

// execute answers a stack of requests and returns their number. It goes from the
// youngest to the oldest: all callers still wait, so any order is one that they
// could have come in, and to turn the stack around would fetch every slot from
// its caller's core before the first is answered.
//
// Such a fetch takes longer than most operations, so it is made to overlap with
// them: before a request is executed its slot is written to, which starts to make
// the line ours for the answer, and the next slot is read.
func execute[S, A, R any](stack *slot[A, R], state *S, apply func(*S, A) R) (n int) {
	for ; stack != nil; n++ {
		s := stack
		stack, s.next = s.next, nil
		if stack != nil {
			stack.state.Load()
		}
		if s.claim() {
			s.result = apply(state, s.arg)
			s.settle(done)
		}
	}
	return n
}
