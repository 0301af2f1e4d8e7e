package pipeline

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Patience before parking. 200 looks take about a microsecond, the time in which
// a busy other side fills a window; 50 yields take about 10 µs when nothing else
// is to run, about what it costs to wake a parked thread.
const (
	looks  = 200
	yields = 50
)

// A gate is where goroutines wait until another one has changed something.
//
// Each parked goroutine owns one unit. A unit is counted in waiting until a
// waker turns it into a token in wakes; whoever leaves takes one unit or one
// token along. So waiting plus tokens is always the number of parked goroutines,
// and a waker that finds waiting zero has nothing to do.
type gate struct {
	waiting atomic.Int32
	_       [cacheLine]byte // waiting is read for every window and seldom written
	wakes   chan struct{}   // as large as the number of goroutines that can wait: never full
	looks   int
}

func newGate(waiters int) *gate {
	g := &gate{wakes: make(chan struct{}, waiters)}
	if multicore() {
		g.looks = looks
	}
	return g
}

// await returns nil once ready reports true, or ctx's error when that comes first.
// ready must be a mere look, and whoever makes it true must call wake afterwards.
func (g *gate) await(ctx context.Context, ready func() bool) error {
	if g.poll(ready) {
		return nil
	}
	for {
		g.waiting.Add(1)
		if ready() {
			g.leave()
			return nil
		}
		select {
		case <-g.wakes:
			if ready() {
				return nil
			}
		case <-ctx.Done():
			g.leave()
			return ctx.Err()
		}
	}
}

// poll looks and yields for a while and reports whether ready came true.
func (g *gate) poll(ready func() bool) bool {
	for range g.looks {
		if ready() {
			return true
		}
	}
	for range yields {
		runtime.Gosched()
		if ready() {
			return true
		}
	}
	return false
}

// wake releases one parked goroutine, if there is any.
func (g *gate) wake() {
	if g.waiting.Load() > 0 && g.take() {
		g.wakes <- struct{}{}
	}
}

// wakeAll releases all that are parked.
func (g *gate) wakeAll() {
	for g.take() {
		g.wakes <- struct{}{}
	}
}

// leave gives this goroutine's unit back: its count or, when a waker has taken
// every count, a token.
func (g *gate) leave() {
	if !g.take() {
		<-g.wakes
	}
}

// served gives this goroutine's unit back after it was woken by other means than
// a token: the token that was meant for it or, without one, its count.
func (g *gate) served() {
	select {
	case <-g.wakes:
	default:
		g.leave()
	}
}

func (g *gate) take() bool {
	for {
		n := g.waiting.Load()
		if n == 0 {
			return false
		}
		if g.waiting.CompareAndSwap(n, n-1) {
			return true
		}
	}
}
