package load

import (
	"math/bits"
	"time"
)

// A glance is a coarse histogram of response times for whoever watches a run: glanceParts
// buckets for each doubling, so that the middle of one is at most 1/32 off. It is copied
// while an iteration may wait, which a histogram of three digits would take too long for.
type glance [glanceParts * (64 - glanceBits)]int64

const (
	glanceBits  = 4
	glanceParts = 1 << glanceBits
)

// glanceBucket returns the bucket of a time: below 2·glanceParts it is the time itself.
func glanceBucket(d time.Duration) int {
	n := uint64(max(0, d))
	shift := max(0, bits.Len64(n)-glanceBits-1)
	return shift*glanceParts + int(n>>shift)
}

// glanceMiddle returns the middle of a bucket.
func glanceMiddle(bucket int) time.Duration {
	shift := max(0, bucket/glanceParts-1)
	first := uint64(bucket-shift*glanceParts) << shift
	return time.Duration(first + 1<<shift/2)
}

func (g *glance) record(d time.Duration) { g[glanceBucket(d)]++ }

func (g *glance) add(other *glance) {
	for i, n := range other {
		g[i] += n
	}
}

// quantile returns the q-quantile, 0 < q ≤ 1, or 0 where nothing was recorded.
func (g *glance) quantile(q float64) time.Duration {
	var all, seen int64
	for _, n := range g {
		all += n
	}
	for i, n := range g {
		if seen += n; n > 0 && float64(seen) >= q*float64(all) {
			return glanceMiddle(i)
		}
	}
	return 0
}
