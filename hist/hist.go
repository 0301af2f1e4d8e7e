// Package hist records durations in fixed memory with a stated relative error.
//
// A Histogram is an HDR histogram (Gil Tene, http://hdrhistogram.org) with 1 ns
// units, a range of 1 h and 3 significant digits. It takes 270 kB whatever is
// recorded. Buckets are at most 1/1024 of their lowest value wide, so a quantile
// is at most 0.1 % above the exact one; count, mean, minimum and maximum are exact.
//
// Histograms of several recorders merge without loss. Percentiles of several
// recorders must never be averaged; merge their histograms instead.
//
// An empty histogram answers every question with 0: check Count first.
package hist

import (
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Highest is the longest duration that a Histogram tells apart.
const Highest = time.Hour

// digits is the number of significant decimal digits that are kept.
const digits = 3

// places is the number of significant binary digits that are kept, as 3 decimal ones
// need 2000 values without gaps: counts are in the order of their values, one for each
// up to 2^places, then 2^(places-1) for each doubling.
const places = 11

// Rounded returns a duration with the three significant digits that a Histogram keeps.
func Rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d.Abs()/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// A Histogram counts durations from 0 to Highest. Make one with New; the zero
// value can only be unmarshalled into. It is not safe for concurrent use: give
// every goroutine its own and Merge them afterwards.
type Histogram struct {
	buckets   *hdrhistogram.Histogram
	min, max  int64 // ns; meaningless while empty
	sum       sum128
	saturated int64
}

// New returns an empty Histogram.
func New() *Histogram {
	return &Histogram{buckets: hdrhistogram.New(1, int64(Highest), digits), min: math.MaxInt64}
}

// Record counts d once. A negative d counts as 0 and a d above Highest as
// Highest, and Saturated counts both. It does not allocate.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN counts d n times, exactly as n calls of Record would. It ignores an n
// below 1. The count stops at math.MaxInt64.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	n = min(n, math.MaxInt64-h.buckets.TotalCount())
	if n < 1 {
		return
	}
	v := min(max(int64(d), 0), int64(Highest))
	if v != int64(d) {
		h.saturated += n
	}
	// Neither the value nor the count can be out of range here.
	_ = h.buckets.RecordValues(v, n)
	h.min = min(h.min, v)
	h.max = max(h.max, v)
	h.sum.add(mul(v, n))
}

// Merge adds everything that o has counted to h and leaves o as it is. It takes time
// proportional to the number of buckets between the minimum and the maximum of o, and
// 270 kB until it returns.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count() == 0 {
		return
	}
	counts := o.buckets.Export().Counts // a copy: o may be h
	full := false
	for v := o.min; v <= o.max; {
		width := max(bits.Len64(uint64(v))-places, 0) // of the bucket, as a power of 2
		if n := counts[int64(width)<<(places-1)+v>>width]; n > 0 && h.buckets.RecordValues(v, n) != nil {
			full = true
		}
		v = (v>>width + 1) << width
	}
	h.min = min(h.min, o.min)
	h.max = max(h.max, o.max)
	h.sum.add(o.sum)
	h.saturated = addSaturating(h.saturated, o.saturated)
	if full {
		// The count has reached math.MaxInt64, so the sums no longer belong to it.
		h.setMean(h.buckets.Mean())
	}
}

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() {
	h.buckets.Reset()
	h.min, h.max = math.MaxInt64, 0
	h.sum = sum128{}
	h.saturated = 0
}

// Clone returns an independent copy of h.
func (h *Histogram) Clone() *Histogram {
	c := *h
	c.buckets = h.buckets.Clone()
	return &c
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() int64 { return h.buckets.TotalCount() }

// Saturated returns how many of them were outside [0, Highest] and were
// recorded as the nearer end.
func (h *Histogram) Saturated() int64 { return h.saturated }

// Mean returns the exact arithmetic mean of what was recorded, rounded to the
// nanosecond. After ReadLog it is the mean of the bucket middles, at most
// 0.05 % away from the exact one. It is 0 when h is empty.
func (h *Histogram) Mean() time.Duration { return time.Duration(math.Round(h.mean())) }

// Min returns the shortest recorded duration, exact except after ReadLog, and 0
// when h is empty.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.min)
}

// Max returns the longest recorded duration, exact except after ReadLog, and 0
// when h is empty.
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
	rank := max(math.Ceil(math.Nextafter(q, 0)*float64(n)), 1)
	// The library rounds percentile/100·n to the nearest rank, which is this one.
	v := h.buckets.ValueAtPercentile(100 * rank / float64(n))
	return time.Duration(min(max(v, h.min), h.max))
}

// CountsUpTo returns for each limit how many recorded durations are not longer.
// Those in the same bucket as the limit, within 0.1 %, do not count as longer. It
// takes time proportional to the number of buckets, however many limits there are.
func (h *Histogram) CountsUpTo(limits ...time.Duration) []int64 {
	counts := make([]int64, len(limits))
	for _, bar := range h.buckets.Distribution() {
		if bar.Count == 0 {
			continue
		}
		for i, limit := range limits {
			if bar.From <= int64(limit) {
				counts[i] += bar.Count
			}
		}
	}
	return counts
}

func (h *Histogram) mean() float64 {
	if h.Count() == 0 {
		return 0
	}
	return h.sum.dividedBy(uint64(h.Count()))
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
