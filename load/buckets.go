package load

import (
	"iter"
	"math/bits"
	"time"

	"contend/hist"
)

// A coarse histogram of times has parts buckets for each doubling, so that the middle of one
// is at most 1/64 off.
const (
	partBits = 5
	parts    = 1 << partBits
	buckets  = 38 * parts // hist.Highest is below 2^42 ns
)

// bucketOf returns the bucket of a time, 0 to hist.Highest: below 2·parts it is the time itself.
func bucketOf(d time.Duration) int {
	n := uint64(min(max(0, d), hist.Highest))
	shift := max(0, bits.Len64(n)-partBits-1)
	return shift*parts + int(n>>shift)
}

// lowestOf returns the shortest time of a bucket, and how many times it holds.
func lowestOf(bucket int) (lowest, width time.Duration) {
	shift := max(0, bucket/parts-1)
	return time.Duration(bucket-shift*parts) << shift, 1 << shift
}

// coarse is a coarse histogram: counts by bucket, starting at bucket first.
type coarse struct {
	first  int
	counts []int64
}

// newGlance returns one with room for all times, for whoever watches a run. Iterations wait while it is copied, which
// takes too long with a histogram of three digits.
func newGlance() *coarse { return &coarse{counts: make([]int64, buckets)} }

// record counts a time once. It allocates when the time is longer or shorter by a doubling
// than all before.
func (h *coarse) record(d time.Duration) { h.recordN(d, 1) }

func (h *coarse) recordN(d time.Duration, n int64) {
	bucket := bucketOf(d)
	if i := bucket - h.first; i < 0 || i >= len(h.counts) {
		h.cover(bucket, bucket+1)
	}
	h.counts[bucket-h.first] += n
}

// each returns the buckets in which there are times, ascending, and how many.
func (h *coarse) each() iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for i, n := range h.counts {
			if n > 0 && !yield(h.first+i, n) {
				return
			}
		}
	}
}

// cover makes room for the buckets from low up to high.
func (h *coarse) cover(low, high int) {
	if low >= high {
		return
	}
	h.first, h.counts = hist.Cover(h.first, h.counts, low, high-1, parts)
}

func (h *coarse) add(o *coarse) {
	h.cover(o.first, o.first+len(o.counts))
	for i, n := range o.counts {
		h.counts[o.first-h.first+i] += n
	}
}

// quantiles returns for each q, ascending and 0 < q ≤ 1, the middle of the bucket of the
// nearest-rank quantile; 0 where nothing was recorded.
func (h *coarse) quantiles(qs ...float64) []time.Duration {
	var all, seen int64
	for _, n := range h.counts {
		all += n
	}
	list := make([]time.Duration, len(qs))
	next := 0
	for bucket, n := range h.each() {
		for seen += n; next < len(qs) && float64(seen) >= qs[next]*float64(all); next++ {
			lowest, width := lowestOf(bucket)
			list[next] = lowest + width/2
		}
	}
	return list
}
