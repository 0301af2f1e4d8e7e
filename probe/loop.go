package probe

import "time"

const (
	loopSteps   = 20_000
	loopRepeats = 250
)

// loop returns the time that the arithmetic takes on the slower of two CPUs.
func loop(p cpuPair, deadline time.Time) time.Duration {
	var medians [2]time.Duration
	on := func(i int) func() {
		return func() { medians[i] = repeat(deadline) }
	}
	p.run(on(0), on(1))
	return max(medians[0], medians[1])
}

func repeat(deadline time.Time) time.Duration {
	times := make([]time.Duration, 0, loopRepeats)
	for x, at := uint64(1), time.Now(); len(times) < loopRepeats && at.Before(deadline); {
		x = arithmetic(x)
		now := time.Now()
		times = append(times, now.Sub(at))
		at = now
	}
	return median(times)
}

// arithmetic is a chain of dependent multiplications, whose time the clock of
// the core alone decides: Knuth's MMIX generator (The Art of Computer
// Programming 2, 3.3.4).
//
//go:noinline
func arithmetic(x uint64) uint64 {
	for range loopSteps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}
