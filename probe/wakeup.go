package probe

import (
	"sync/atomic"
	"time"
)

const (
	wakeups = 150
	// drowsy is how long a thread that waits is given to fall asleep.
	drowsy = 100 * time.Microsecond
)

// wakeup returns how long after the ring of a bell the thread that sleeps on it
// runs.
func wakeup(p cpuPair, deadline time.Time) time.Duration {
	b, err := newBell()
	if err != nil {
		return 0
	}
	defer b.close()
	begin := time.Now()
	var rung atomic.Int64 // when, since begin; 0: answered
	var over atomic.Bool
	times := make([]time.Duration, 0, wakeups)
	p.run(func() {
		for answered := true; answered && len(times) < wakeups; {
			spin(time.Now().Add(drowsy), func() bool { return false })
			rung.Store(int64(time.Since(begin)))
			b.ring()
			answered = spin(deadline, func() bool { return rung.Load() == 0 })
		}
		over.Store(true)
		b.ring()
	}, func() {
		for b.sleep() == nil {
			at := time.Since(begin)
			if over.Load() {
				return
			}
			times = append(times, at-time.Duration(rung.Load()))
			rung.Store(0)
		}
	})
	return median(times)
}

// spin keeps its CPU until the condition holds, and returns false where it does
// not before the deadline.
func spin(deadline time.Time, condition func() bool) bool {
	for !condition() {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
