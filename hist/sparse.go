package hist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
)

// Geometry is the first byte of the binary form: it changes with the range and the digits.
const Geometry = 1

// AppendBinary appends the binary form, which MergeBinary reads: a byte for the geometry and, as
// unsigned varints, how many durations there are, how many of them are saturated, the shortest, the
// longest and the sum in two words; then how many buckets have any, and for each of these how many
// buckets were passed over and how many durations it has. The error is always nil.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(append(b, Geometry), uint64(h.Count()))
	if h.Count() == 0 {
		return b, nil
	}
	for _, n := range []uint64{uint64(h.saturated), uint64(h.min), uint64(h.max), h.sum.hi, h.sum.lo} {
		b = binary.AppendUvarint(b, n)
	}
	return AppendSparse(b, h.filled()), nil
}

// MergeBinary adds what AppendBinary wrote and returns what follows it. Damaged or
// impossible data is an error, and h is then unchanged.
func (h *Histogram) MergeBinary(b []byte) (rest []byte, err error) {
	if len(b) == 0 || b[0] != Geometry {
		return nil, fmt.Errorf("hist: no histogram of geometry %d", Geometry)
	}
	in := varints{all: b[1:]}
	count := in.next(math.MaxInt64)
	if count == 0 || in.short {
		return in.rest(), in.err()
	}
	o := Histogram{saturated: int64(in.next(count)), min: int64(in.next(uint64(Highest)))}
	o.max, o.sum = int64(in.next(uint64(Highest))), sum128{in.next(math.MaxUint64), in.next(math.MaxUint64)}
	if in.short {
		return nil, in.err()
	}
	rest, err = o.read(in.rest(), count)
	if err == nil && count > uint64(math.MaxInt64-h.count) {
		err = errors.New("hist: together they are more than can be counted")
	}
	if err != nil {
		return nil, err
	}
	if o.count = int64(count); h.counts == nil {
		*h = o
	} else {
		h.Merge(&o)
	}
	return rest, nil
}

// read reads the buckets of so many durations into h, which has the rest, and returns what follows
// them, or what of them contradicts that.
func (h *Histogram) read(b []byte, count uint64) (rest []byte, err error) {
	var least, most sum128
	first, last := -1, 0
	if h.min <= h.max {
		h.cover(bucketOf(h.min), bucketOf(h.max))
	}
	rest, err = ReadSparse(b, bucketOf(int64(Highest))+1, count, func(bucket int, n int64) {
		if first < 0 {
			first = bucket
		}
		last = bucket
		if i := bucket - h.first; i >= 0 && i < len(h.counts) { // another is an error below
			h.counts[i] += n
		}
		lowest := lowestOf(bucket)
		least.add(mul(lowest, n))
		most.add(mul(min(lowest+1<<widthOf(lowest)-1, int64(Highest)), n))
		count -= uint64(n)
	})
	switch {
	case err != nil:
		return nil, err
	case count != 0:
		return nil, fmt.Errorf("hist: %d durations are in no bucket", count)
	case h.max < h.min || bucketOf(h.min) != first || bucketOf(h.max) != last:
		return nil, fmt.Errorf("hist: shortest is %d and longest %d, but buckets begin with %d and end with %d", h.min, h.max, lowestOf(first), lowestOf(last))
	case h.sum.less(least) || most.less(h.sum):
		return nil, errors.New("hist: the sum is not one of what the buckets have")
	}
	return rest, nil
}

// varints are read one after another; short when one is missing or above its bound.
type varints struct {
	all   []byte
	at    int
	short bool
}

func (v *varints) next(most uint64) uint64 {
	if v.at < len(v.all) && uint64(v.all[v.at]) <= min(most, 0x7f) { // as most are
		v.at++
		return uint64(v.all[v.at-1])
	}
	n, length := binary.Uvarint(v.all[v.at:])
	if length <= 0 || n > most {
		v.short, v.at = true, len(v.all)
		return 0
	}
	v.at += length
	return n
}

func (v *varints) rest() []byte { return v.all[v.at:] }

func (v *varints) err() error {
	if v.short {
		return errors.New("hist: truncated, or beyond a bound")
	}
	return nil
}

// Cover returns counts by bucket, starting at bucket first, with room for the buckets from one to
// another: unchanged if they have it, else a copy that begins and ends with a multiple of step,
// which is a power of two.
func Cover(first int, counts []int64, from, to, step int) (int, []int64) {
	low, high := from&^(step-1), to&^(step-1)+step
	if len(counts) > 0 {
		low, high = min(low, first), max(high, first+len(counts))
	}
	if high-low == len(counts) {
		return first, counts
	}
	all := make([]int64, high-low)
	if len(counts) > 0 {
		copy(all[first-low:], counts)
	}
	return low, all
}

// AppendSparse appends buckets with their counts, none of them 0, in ascending order: how many there
// are, and for each how many buckets were skipped and its count, as unsigned varints.
func AppendSparse(b []byte, buckets iter.Seq2[int, int64]) []byte {
	var bars []byte
	filled, next := uint64(0), 0
	for bucket, n := range buckets {
		bars = binary.AppendUvarint(binary.AppendUvarint(bars, uint64(bucket-next)), uint64(n))
		filled, next = filled+1, bucket+1
	}
	return append(binary.AppendUvarint(b, filled), bars...)
}

// ReadSparse reads what AppendSparse wrote of so many buckets, whose counts together are at most
// most, and returns what follows it. It calls each for each bucket, in ascending order, even for
// those before damaged data.
func ReadSparse(b []byte, buckets int, most uint64, each func(bucket int, n int64)) (rest []byte, err error) {
	in := varints{all: b}
	bucket := -1
	for left := in.next(uint64(buckets)); left > 0; left-- {
		bucket += 1 + int(in.next(uint64(buckets)))
		n := in.next(most)
		if n == 0 || bucket >= buckets || in.short {
			return nil, errors.New("hist: truncated, or a bucket beyond the last, or one of none")
		}
		most -= n
		each(bucket, int64(n))
	}
	return in.rest(), in.err()
}
