package hist

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
)

// A Sketch sums up numbers of any sign and size: their count, sum and extremes, and their quantiles,
// which are exact while there are at most 64 different numbers and at most SketchError of the number
// off beyond that. Sketches add up to the same in any order, except for the rounding of sums. The
// zero value is empty. It is not safe for concurrent use.
type Sketch struct {
	count    int64
	sum      float64
	min, max float64
	// exact are the different numbers, in the order of their first, until there are too many.
	exact []sketched
	// blocks count the numbers by sign and exponent, their upper twelve bits, and then by the next
	// sketchBits of them; nil while the numbers are exact.
	blocks map[uint16]*[1 << sketchBits]int64
	// latest is the block that was counted in last, number latestBlock, which is most often also the next one.
	latest      *[1 << sketchBits]int64
	latestBlock uint16
}

// A sketched is a number and how often it came.
type sketched struct {
	value float64
	count int64
}

const (
	maxExact   = 64
	sketchBits = 9
	// SketchError bounds how far a quantile is off, as a share of it: half of a bucket, whose width
	// is the last bit of the mantissa that counts.
	SketchError = 1.0 / (2 << sketchBits)
)

// Record adds a number; NaN and infinities are passed over.
func (s *Sketch) Record(x float64) { s.add(x, 1) }

func (s *Sketch) add(x float64, n int64) {
	if math.IsNaN(x) || math.IsInf(x, 0) || n <= 0 {
		return
	}
	x += 0 // of -0
	if s.count == 0 || x < s.min {
		s.min = x
	}
	if s.count == 0 || x > s.max {
		s.max = x
	}
	s.count += n
	s.sum = finite(s.sum + x*float64(n))
	s.place(x, n)
}

// finite keeps a sum within what can be written.
func finite(sum float64) float64 { return min(max(sum, -math.MaxFloat64), math.MaxFloat64) }

// place counts a number for the quantiles.
func (s *Sketch) place(x float64, n int64) {
	if s.blocks == nil {
		for i := range s.exact {
			if s.exact[i].value == x {
				s.exact[i].count += n
				return
			}
		}
		if len(s.exact) < maxExact {
			s.exact = append(s.exact, sketched{x, n})
			return
		}
		s.spill()
	}
	s.bucket(math.Float64bits(x)>>(52-sketchBits), n)
}

// spill counts in buckets what was exact.
func (s *Sketch) spill() {
	all := s.exact
	s.exact, s.blocks = nil, map[uint16]*[1 << sketchBits]int64{}
	for _, e := range all {
		s.bucket(math.Float64bits(e.value)>>(52-sketchBits), e.count)
	}
}

func (s *Sketch) bucket(index uint64, n int64) {
	if block := uint16(index >> sketchBits); s.latest == nil || block != s.latestBlock {
		if s.blocks[block] == nil {
			s.blocks[block] = new([1 << sketchBits]int64)
		}
		s.latest, s.latestBlock = s.blocks[block], block
	}
	s.latest[index&(1<<sketchBits-1)] += n
}

// Merge adds what another sketch has, which is not changed.
func (s *Sketch) Merge(o *Sketch) {
	if o == nil || o.count == 0 {
		return
	}
	if s.count == 0 || o.min < s.min {
		s.min = o.min
	}
	if s.count == 0 || o.max > s.max {
		s.max = o.max
	}
	s.count += o.count
	s.sum = finite(s.sum + o.sum)
	for _, e := range o.exact {
		s.place(e.value, e.count)
	}
	if len(o.blocks) > 0 && s.blocks == nil {
		s.spill()
	}
	for index, n := range o.filled() {
		s.bucket(uint64(index), n)
	}
}

// IsZero reports whether there are no numbers.
func (s Sketch) IsZero() bool { return s.count == 0 }

// Count returns how many numbers there are.
func (s *Sketch) Count() int64 { return s.count }

// Sum returns their sum.
func (s *Sketch) Sum() float64 { return s.sum }

// Min returns the least of them, 0 without any.
func (s *Sketch) Min() float64 { return s.min }

// Max returns the greatest of them, 0 without any.
func (s *Sketch) Max() float64 { return s.max }

// Mean returns their arithmetic mean, 0 without any.
func (s *Sketch) Mean() float64 {
	if s.count == 0 {
		return 0
	}
	return s.sum / float64(s.count)
}

// Quantile returns the number at rank q·(count − 1), from 0 for the least; between two ranks it is
// interpolated linearly (Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996, definition
// 7). 0 ≤ q ≤ 1. 0 without any number.
func (s *Sketch) Quantile(q float64) float64 {
	if s.count == 0 {
		return 0
	}
	rank := q * float64(s.count-1)
	below, rest := math.Modf(rank)
	all := s.sorted()
	low := s.at(all, int64(below))
	if rest == 0 {
		return low
	}
	return low + rest*(s.at(all, int64(below)+1)-low)
}

// at is the number of a rank.
func (s *Sketch) at(all []sketched, rank int64) float64 {
	switch {
	case rank <= 0:
		return s.min
	case rank >= s.count-1:
		return s.max
	}
	for _, e := range all {
		if rank -= e.count; rank < 0 {
			return min(max(e.value, s.min), s.max)
		}
	}
	return s.max
}

// sorted returns the numbers, of buckets their middles, in order.
func (s *Sketch) sorted() []sketched {
	all := slices.Clone(s.exact)
	for index, n := range s.filled() {
		all = append(all, sketched{sketchMiddle(uint64(index)), n})
	}
	slices.SortFunc(all, func(a, b sketched) int { return cmp.Compare(a.value, b.value) })
	return all
}

// sketchMiddle is the number in the middle of a bucket; that of the least numbers is 0.
func sketchMiddle(index uint64) float64 {
	if index&(1<<(11+sketchBits)-1) == 0 {
		return 0
	}
	return math.Float64frombits(index<<(52-sketchBits) | 1<<(51-sketchBits))
}

// sentSketch is a Sketch in JSON.
type sentSketch struct {
	Count int64        `json:"count"`
	Sum   float64      `json:"sum"`
	Min   float64      `json:"min"`
	Max   float64      `json:"max"`
	Exact [][2]float64 `json:"exact,omitempty"`
	// Buckets are what AppendSparse writes of them, in base64.
	Buckets string `json:"buckets,omitempty"`
}

// MarshalJSON returns all that the sketch knows.
func (s Sketch) MarshalJSON() ([]byte, error) {
	sent := sentSketch{Count: s.count, Sum: s.sum, Min: s.min, Max: s.max}
	for _, e := range s.exact {
		sent.Exact = append(sent.Exact, [2]float64{e.value, float64(e.count)})
	}
	slices.SortFunc(sent.Exact, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	if s.blocks != nil {
		sent.Buckets = base64.StdEncoding.EncodeToString(AppendSparse(nil, s.filled()))
	}
	return json.Marshal(sent)
}

// UnmarshalJSON reads what MarshalJSON wrote. Impossible values are an error.
func (s *Sketch) UnmarshalJSON(text []byte) error {
	var sent sentSketch
	if err := json.Unmarshal(text, &sent); err != nil {
		return err
	}
	read := Sketch{count: sent.Count, sum: sent.Sum, min: sent.Min, max: sent.Max}
	var total int64
	for _, e := range sent.Exact {
		n := int64(e[1])
		if n <= 0 || float64(n) != e[1] || len(sent.Exact) > maxExact || sent.Buckets != "" {
			return errors.New("hist: a sketch with numbers that cannot be")
		}
		read.exact = append(read.exact, sketched{e[0], n})
		total += n
	}
	if sent.Buckets != "" {
		n, err := read.readBuckets(sent.Buckets)
		if err != nil {
			return err
		}
		total = n
	}
	if total != read.count || read.min > read.max {
		return fmt.Errorf("hist: a sketch of %d numbers with %d", read.count, total)
	}
	*s = read
	return nil
}

// filled yields the buckets that have any, in the order of their indices.
func (s *Sketch) filled() iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for _, block := range slices.Sorted(maps.Keys(s.blocks)) {
			for i, n := range s.blocks[block] {
				if n > 0 && !yield(int(block)<<sketchBits|i, n) {
					return
				}
			}
		}
	}
}

// readBuckets returns how many numbers are in them.
func (s *Sketch) readBuckets(text string) (total int64, err error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return 0, err
	}
	s.blocks = map[uint16]*[1 << sketchBits]int64{}
	rest, err := ReadSparse(b, 1<<(12+sketchBits), uint64(max(0, s.count)), func(index int, n int64) {
		s.bucket(uint64(index), n)
		total += n
	})
	if err == nil && len(rest) > 0 {
		err = errors.New("hist: a sketch with more than its buckets")
	}
	return total, err
}
