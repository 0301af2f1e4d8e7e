package telemetry

import (
	"math"
	"slices"
	"time"

	"contend/hist"
)

// scale is that of the exponential histograms: 2^6 buckets for each doubling, 1.09% wide.
const scale = 6

// An exponential histogram has the counts of consecutive buckets: bucket i, starting at first,
// holds times above 2^(i/2^scale) seconds, up to 2^((i+1)/2^scale).
type exponential struct {
	zero, count uint64 // zero of the count are 0
	sum         float64
	first       int32
	counts      []uint64
}

// exponentialOf converts a histogram. Its own buckets are at most 0.1% wide and count where
// they begin.
func exponentialOf(h *hist.Histogram) exponential {
	e := exponential{count: uint64(h.Count()), sum: h.Mean().Seconds() * float64(h.Count())}
	for shortest, n := range h.Bars() {
		if shortest <= 0 {
			e.zero += uint64(n)
			continue
		}
		i := bucketOf(shortest)
		if e.counts == nil {
			e.first = i
		}
		for int(i-e.first) >= len(e.counts) { // ascending
			e.counts = append(e.counts, 0)
		}
		e.counts[i-e.first] += uint64(n)
	}
	return e
}

func bucketOf(d time.Duration) int32 {
	return int32(math.Ceil(math.Log2(d.Seconds())*(1<<scale))) - 1
}

// since returns what was counted since an earlier one; all, if the earlier one is empty.
func (e exponential) since(earlier exponential) exponential {
	counts := slices.Clone(e.counts)
	for i, n := range earlier.counts {
		at := int(earlier.first-e.first) + i
		if n > 0 && (at < 0 || at >= len(counts) || counts[at] < n) {
			return e
		}
		if n > 0 {
			counts[at] -= n
		}
	}
	if e.zero < earlier.zero {
		return e
	}
	return exponential{zero: e.zero - earlier.zero, count: e.count - earlier.count, sum: max(0, e.sum-earlier.sum), first: e.first, counts: counts}
}
