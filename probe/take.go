package probe

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// limit of each of the three figures and of all: where threads are kept from
	// running, a measurement ends with the repetitions that it has.
	limit    = 40 * time.Millisecond
	allLimit = 100 * time.Millisecond
	// quorum of repetitions: with fewer, one of them that was interrupted could
	// be the median.
	quorum = 20
)

// Take measures the machine in about 40 ms, and needs it to itself: load that
// runs at the same time is measured as well. The two threads are pinned to the
// first and the last CPU that the caller may use, if the system can do so.
func Take() Sample {
	cpus, _ := CPUs() // none: any
	return TakeOn(cpus)
}

// TakeOn is Take between the first and the last of the CPUs, which may be other
// than those that the caller may use. Exchanges between threads need GOMAXPROCS
// of at least 2, and the round trip two CPUs.
func TakeOn(cpus []int) Sample {
	p := cpuPair{-1, -1}
	two := runtime.NumCPU() > 1
	if len(cpus) > 0 {
		p = cpuPair{cpus[0], cpus[len(cpus)-1]}
		two = p[0] != p[1]
	}
	end := time.Now().Add(allLimit)
	s := Sample{Loop: loop(p, deadline(end))}
	if runtime.GOMAXPROCS(0) > 1 {
		if two {
			s.RoundTrip = roundTrip(p, deadline(end))
		}
		s.Wakeup = wakeup(p, deadline(end))
	}
	return s
}

// deadline returns that of a measurement which begins now, when all must end at
// the given time.
func deadline(end time.Time) time.Time {
	if own := time.Now().Add(limit); own.Before(end) {
		return own
	}
	return end
}

// A cpuPair is the CPUs of two threads; negative: any.
type cpuPair [2]int

// run runs two functions at the same time, each on a thread of its own.
func (p cpuPair) run(here, there func()) {
	var both sync.WaitGroup
	for i, f := range []func(){here, there} {
		both.Go(func() {
			runtime.LockOSThread()
			restore := pin(p[i])
			f()
			if restore() == nil {
				runtime.UnlockOSThread() // else the thread ends with the goroutine
			}
		})
	}
	both.Wait()
}

// median returns 0 for less than a quorum.
func median(d []time.Duration) time.Duration {
	if len(d) < quorum {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}
