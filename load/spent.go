package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// spent is when all arrivals of an open model had begun. Where that is later than planned it is when another one
// could have begun: each driver had a free VU and none left for it.
type spent struct {
	drivers atomic.Int32 // that still have some
	once    sync.Once
	all     chan struct{} // closed when none has
	at      time.Duration // when that was
}

func newSpent(drivers int) *spent {
	s := &spent{all: make(chan struct{})}
	s.drivers.Store(int32(drivers))
	return s
}

// note notes that a driver has none left.
func (s *spent) note(now time.Duration) {
	if s.drivers.Add(-1) == 0 {
		s.end(now)
	}
}

// end notes that no driver has arrivals left, or that all have ended.
func (s *spent) end(now time.Duration) {
	s.once.Do(func() {
		s.at = now
		close(s.all)
	})
}

// when returns when that was, or now where it is still to come.
func (s *spent) when(now time.Duration) time.Duration {
	select {
	case <-s.all:
		return s.at
	default:
		return now
	}
}

// spend notes that a driver has no arrival left.
func (r *run) spend(a *arrivals) {
	if !a.spent {
		a.spent = true
		r.spent.note(r.elapsed())
	}
}
