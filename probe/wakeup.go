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
func wakeup(p place) time.Duration {
	b, err := newBell()
	if err != nil {
		return 0
	}
	defer b.close()
	begin := time.Now()
	var rung atomic.Int64 // when, since begin; 0: answered; negative: the last
	times := make([]time.Duration, 0, wakeups)
	p.run(func() {
		for answered := true; answered && len(times) < wakeups; {
			spin(begin, time.Since(begin)+drowsy, func() bool { return false })
			rung.Store(int64(time.Since(begin)))
			b.ring()
			answered = spin(begin, limit, func() bool { return rung.Load() == 0 })
		}
		rung.Store(-1)
		b.ring()
	}, func() {
		for b.sleep() == nil {
			at := time.Since(begin)
			since := time.Duration(rung.Load())
			if since < 0 {
				return
			}
			times = append(times, at-since)
			rung.Store(0)
		}
	})
	return median(times)
}

// spin keeps its CPU until the condition holds, and returns false where it does
// not until the given time since begin.
func spin(begin time.Time, until time.Duration, condition func() bool) bool {
	for !condition() {
		if time.Since(begin) > until {
			return false
		}
	}
	return true
}
