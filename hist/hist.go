// Package hist records durations in bounded memory with a stated relative error.
//
// A Histogram is an HDR histogram (Gil Tene, http://hdrhistogram.org) with 1 ns
// units, a range of 1 h and 3 significant digits. Buckets are at most 1/1024 of their lowest value wide, so a quantile
// is at most 0.1 % above the exact one; count, mean, minimum and maximum are exact.
//
// Histograms of several recorders merge without loss. Percentiles of several
// recorders must never be averaged; merge their histograms instead.
//
// An empty histogram returns 0 for everything: check Count first.
package hist

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Highest is the longest duration that a Histogram tells apart.
const Highest = time.Hour

// digits is the number of significant decimal digits that are kept.
const digits = 3

// places is the number of significant binary digits that are kept, as 3 decimal ones
// need 2000 values without gaps: counts are in the order of their values, one for each
// up to 2^places, then a doubling's for each.
const (
	places   = 11
	doubling = 1 << (places - 1)
	buckets  = (42 - places + 2) * doubling // Highest is below 2^42
)

// bucketError is the relative standard deviation of what is spread evenly over a bucket.
const bucketError = 1. / doubling / 3.46

// bucketOf returns the place of a value's bucket, and lowestOf the lowest value of a bucket.
func bucketOf(v int64) int {
	width := widthOf(v)
	return width<<(places-1) + int(v>>width)
}

func lowestOf(bucket int) int64 {
	width := max(bucket>>(places-1)-1, 0)
	return int64(bucket-width<<(places-1)) << width
}

// widthOf is how wide the bucket of a value is, as a power of 2.
func widthOf(v int64) int { return max(bits.Len64(uint64(v))-places, 0) }

// Rounded returns a duration with the three significant digits that a Histogram keeps.
func Rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d.Abs()/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// A Histogram counts durations from 0 to Highest. The zero value is empty and takes memory
// as it needs it, 8 kB for each doubling between the shortest and the longest; one of New takes
// all 270 kB at once, so that it never allocates. It is not safe for concurrent use: give
// every goroutine its own and Merge them afterwards.
type Histogram struct {
	first     int     // bucket of counts
	counts    []int64 // of whole doublings
	count     int64
	min, max  int64 // ns; meaningless while empty
	sum       sum128
	saturated int64
}

// New returns an empty Histogram with room for all durations.
func New() *Histogram { return &Histogram{counts: make([]int64, buckets)} }

// Record counts d once. A negative d counts as 0 and a d above Highest as
// Highest, and Saturated counts both.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN counts d n times, exactly as n calls of Record would. It ignores an n
// below 1. The count stops at math.MaxInt64.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	n = min(n, math.MaxInt64-h.count)
	if n < 1 {
		return
	}
	v := min(max(int64(d), 0), int64(Highest))
	if v != int64(d) {
		h.saturated += n
	}
	bucket := bucketOf(v)
	if i := bucket - h.first; uint(i) >= uint(len(h.counts)) {
		h.cover(bucket, bucket)
	}
	h.counts[bucket-h.first] += n
	if h.count == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.count += n
	h.sum.add(mul(v, n))
}

// cover makes room for the buckets from one to another.
func (h *Histogram) cover(from, to int) {
	h.first, h.counts = Cover(h.first, h.counts, from, to, doubling)
}

// Merge adds everything that o has counted to h and leaves o as it is. It takes time
// proportional to the number of buckets between the minimum and the maximum of o.
func (h *Histogram) Merge(o *Histogram) {
	if o.count == 0 {
		return
	}
	low, high := bucketOf(o.min), bucketOf(o.max)
	h.cover(low, high)
	into, from := h.counts[low-h.first:high-h.first+1], o.counts[low-o.first:high-o.first+1]
	full := o.count > math.MaxInt64-h.count
	for i, n := range from {
		if full {
			n = min(n, math.MaxInt64-h.count)
			h.count += n
		}
		into[i] += n
	}
	if full {
		h.take(o, 0)
		h.setMean(h.estimate()) // the sums no longer belong to the count
		return
	}
	h.take(o, o.count)
}

// take adds what another histogram knows apart from its buckets, and a count.
func (h *Histogram) take(o *Histogram, count int64) {
	if h.count == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.count += count
	h.sum.add(o.sum)
	h.saturated = addSaturating(h.saturated, o.saturated)
}

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() {
	if h.count > 0 {
		clear(h.counts[bucketOf(h.min)-h.first : bucketOf(h.max)-h.first+1])
	}
	*h = Histogram{first: h.first, counts: h.counts}
}

// Clone returns an independent copy of h.
func (h *Histogram) Clone() *Histogram {
	c := *h
	c.counts = slices.Clone(h.counts)
	return &c
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() int64 { return h.count }

// Saturated returns how many of them were outside [0, Highest] and were
// recorded as the nearer end.
func (h *Histogram) Saturated() int64 { return h.saturated }

// Mean returns the exact arithmetic mean of what was recorded, rounded to the
// nanosecond, and 0 when h is empty.
func (h *Histogram) Mean() time.Duration { return time.Duration(math.Round(h.mean())) }

// Min returns the shortest recorded duration, exactly, and 0 when h is empty.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.min)
}

// Max returns the longest recorded duration, exactly, and 0 when h is empty.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Quantile returns the duration that at least the share q of all recorded
// durations do not exceed: of n durations the ⌈q·n⌉th shortest (the nearest-rank
// quantile), or up to 0.1 % more. It never leaves [Min, Max], Quantile(0) is Min
// and Quantile(1) is Max. A q below 0 or NaN counts as 0, one above 1 as 1. It is
// 0 when h is empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	n := h.Count()
	switch {
	case n == 0:
		return 0
	case !(q > 0):
		return time.Duration(h.min)
	case q >= 1:
		return time.Duration(h.max)
	}
	// One ulp less, so that a q like 0.1, which is stored a little too large,
	// does not reach the next rank. HdrHistogram's Java original does the same.
	rank := uint64(max(math.Ceil(math.Nextafter(q, 0)*float64(n)), 1))
	bucket, _ := h.bucketAt(rank)
	return time.Duration(min(max(lowestOf(bucket+1)-1, h.min), h.max))
}

// bucketAt returns the bucket of one of the n durations in their order, from 1, and how many are in those before it.
func (h *Histogram) bucketAt(rank uint64) (bucket int, before uint64) {
	low, high := bucketOf(h.min), bucketOf(h.max)
	for i, n := range h.counts[low-h.first : high-h.first] {
		if before+uint64(n) >= rank {
			return low + i, before
		}
		before += uint64(n)
	}
	return high, before
}

// Estimate returns the logarithm of the quantile q, above 0 and below 1, of what the n recorded
// durations are a sample of, in nanoseconds, and its standard error if they were drawn
// independently; 0 and 0 when h is empty.
//
// The quantile is the duration at the place (n + ⅓)·q + ⅓ in their order, which is nearly as often too
// short as too long whatever n is (definition 8 of Hyndman and Fan 1996, "Sample quantiles in
// statistical packages", American Statistician 50), as Quantile is not: that of few durations
// differs from that of many. The standard error is half the distance between the quantiles
// q ± √(q(1 − q)/n) (Woodruff 1952, "Confidence intervals for medians and other position measures",
// JASA 47), and at least what the width of a bucket leaves open. Durations are spread evenly over theirs.
func (h *Histogram) Estimate(q float64) (log, standardError float64) {
	if h.count == 0 {
		return 0, 0
	}
	n := float64(h.count)
	place := (n+1./3)*q + 1./3
	off := math.Sqrt(n * q * (1 - q))
	return h.logAt(place), max(bucketError, (h.logAt(place+off)-h.logAt(place-off))/2)
}

// logAt returns the logarithm of the duration at a place among the n in their order, from 1 to n, or at
// the nearest of these. Between two it is on the line from the one to the other.
func (h *Histogram) logAt(place float64) float64 {
	whole, part := math.Modf(min(max(place, 1), float64(h.count)))
	log := h.logOf(whole)
	if part > 0 {
		log += part * (h.logOf(whole+1) - log)
	}
	return log
}

// logOf returns the logarithm of one of the n durations in their order, from 1, which are in the
// middle of an even share of their bucket each.
func (h *Histogram) logOf(place float64) float64 {
	bucket, before := h.bucketAt(uint64(place))
	lowest, next := float64(lowestOf(bucket)), float64(lowestOf(bucket+1))
	value := lowest + (next-lowest)*(place-0.5-float64(before))/float64(h.counts[bucket-h.first])
	return math.Log(max(value, 0.5)) // what took 0 ns took less than 1
}

// CountsUpTo returns for each limit how many recorded durations are not longer.
// Those in the same bucket as the limit, within 0.1 %, do not count as longer. It
// takes time proportional to the number of buckets, however many limits there are.
func (h *Histogram) CountsUpTo(limits ...time.Duration) []int64 {
	counts := make([]int64, len(limits))
	for shortest, n := range h.Bars() {
		for i, limit := range limits {
			if shortest <= limit {
				counts[i] += n
			}
		}
	}
	return counts
}

// Bars returns how many durations were recorded in each bucket in which there are any, by the
// shortest of the bucket, ascending. It takes time proportional to the number of buckets between
// the minimum and the maximum. Nothing may be recorded until it ends.
func (h *Histogram) Bars() iter.Seq2[time.Duration, int64] {
	return func(yield func(time.Duration, int64) bool) {
		for i, n := range h.filled() {
			if !yield(time.Duration(lowestOf(i)), n) {
				return
			}
		}
	}
}

// filled returns the buckets in which there are any, ascending, and how many.
func (h *Histogram) filled() iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		if h.count == 0 {
			return
		}
		low := bucketOf(h.min)
		for i, n := range h.counts[low-h.first : bucketOf(h.max)-h.first+1] {
			if n > 0 && !yield(low+i, n) {
				return
			}
		}
	}
}

func (h *Histogram) mean() float64 {
	if h.Count() == 0 {
		return 0
	}
	return h.sum.dividedBy(uint64(h.Count()))
}

// estimate returns the mean of the buckets' middles.
func (h *Histogram) estimate() (mean float64) {
	for bucket, n := range h.filled() {
		lowest := lowestOf(bucket)
		mean += float64(n) / float64(h.count) * float64(lowest+1<<widthOf(lowest)/2)
	}
	return mean
}

// setMean makes the sum agree with a mean that was read or estimated.
func (h *Histogram) setMean(mean float64) {
	whole, part := math.Modf(mean)
	h.sum = mul(int64(whole), h.Count())
	h.sum.add(sum128{lo: uint64(math.Round(part * float64(h.Count())))})
}

// A sum128 is an exact sum of durations: 64 bits would overflow after 106 days
// of recorded time under 1000 virtual users.
type sum128 struct{ hi, lo uint64 }

func mul(v, n int64) sum128 {
	hi, lo := bits.Mul64(uint64(v), uint64(n))
	return sum128{hi, lo}
}

func (s *sum128) add(o sum128) {
	lo, carry := bits.Add64(s.lo, o.lo, 0)
	s.lo = lo
	s.hi += o.hi + carry
}

func (s sum128) less(o sum128) bool { return s.hi < o.hi || s.hi == o.hi && s.lo < o.lo }

// dividedBy needs s/n < 2⁶⁴, which holds for any mean of recorded durations.
func (s sum128) dividedBy(n uint64) float64 {
	quotient, rest := bits.Div64(s.hi, s.lo, n)
	return float64(quotient) + float64(rest)/float64(n)
}

func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
