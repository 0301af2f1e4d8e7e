package probe

import (
	"sync/atomic"
	"time"
)

const (
	roundTripBatch   = 64
	roundTripBatches = 600
	// spinsPerLook at the clock bound a wait for a thread that does not run.
	spinsPerLook = 1 << 12
)

// A baton is alone in its cache line, and in the one that is fetched with it.
type baton struct {
	_    [128]byte
	turn atomic.Uint32
	_    [128]byte
}

// await spins until the baton shows the turn, and returns false at the deadline.
func (b *baton) await(turn uint32, deadline time.Time) bool {
	for {
		for range spinsPerLook {
			if b.turn.Load() == turn {
				return true
			}
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// roundTrip passes a baton there and back.
func roundTrip(p cpuPair, deadline time.Time) time.Duration {
	var b baton
	batches := make([]time.Duration, 0, roundTripBatches)
	p.run(func() {
		for turn := uint32(0); len(batches) < roundTripBatches; {
			start := time.Now()
			for range roundTripBatch {
				b.turn.Store(turn + 1)
				if turn += 2; !b.await(turn, deadline) {
					return
				}
			}
			batches = append(batches, time.Since(start))
		}
	}, func() {
		const last = 2 * roundTripBatch * roundTripBatches
		for turn := uint32(1); turn < last && b.await(turn, deadline); turn += 2 {
			b.turn.Store(turn + 1)
		}
	})
	return median(batches) / roundTripBatch
}
