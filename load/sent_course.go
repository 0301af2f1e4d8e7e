package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"contend/errkind"
	"contend/hist"
)

// appendBinary appends the form in which a course is sent: as varints its width, the intervals of
// its warm-up and all, and for each its numbers, its errors by kind and its times. Quantiles and
// heatmap follow from these.
func (c *Course) appendBinary(b []byte) []byte {
	for _, n := range []int64{int64(c.Width), int64(c.Warmup), int64(len(c.Intervals))} {
		b = binary.AppendVarint(b, n)
	}
	for i := range c.Intervals {
		in := &c.Intervals[i]
		for _, n := range in.numbers() {
			b = binary.AppendVarint(b, *n)
		}
		b = binary.AppendVarint(b, int64(len(in.Errored)))
		for _, kind := range slices.Sorted(maps.Keys(in.Errored)) {
			b = append(binary.AppendVarint(b, int64(len(kind))), kind...)
			b = binary.AppendVarint(b, in.Errored[kind])
		}
		b = hist.AppendSparse(b, in.times.each())
	}
	return b
}

// numbers are the places of what an interval adds up, and of its longest times.
func (in *Interval) numbers() []*int64 {
	numbers := []*int64{&in.Planned, &in.Completed, &in.Failed, &in.Dropped, &in.Ops, &in.Carried}
	for _, d := range []*time.Duration{&in.ResponseSum, &in.ResponseMax, &in.StartLagSum, &in.StartLagMax, &in.GeneratorCPU, &in.ServerCPU} {
		numbers = append(numbers, (*int64)(d))
	}
	return numbers
}

// readCourse reads what appendBinary wrote, and returns what follows it.
func readCourse(b []byte) (c *Course, rest []byte, err error) {
	in := varints{b, false}
	c = &Course{Width: time.Duration(in.next()), Warmup: int(in.next())}
	n := in.next()
	if in.short || n < 0 || n > maxIntervals {
		return nil, nil, fmt.Errorf("a course of %d intervals; expected at most %d", n, maxIntervals)
	}
	c.Intervals = make([]Interval, n)
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	for i := range c.Intervals {
		if i > 0 { // answers take about as long as before
			before := &c.Intervals[i-1].times
			c.Intervals[i].times.cover(before.first, before.first+len(before.counts))
		}
		if err := in.interval(&c.Intervals[i]); err != nil {
			return nil, nil, err
		}
	}
	c.close()
	return c, in.rest, nil
}

// varints are read one after another; short when one is missing.
type varints struct {
	rest  []byte
	short bool
}

func (v *varints) next() int64 {
	n, length := binary.Varint(v.rest)
	if length <= 0 {
		v.short, v.rest = true, nil
		return 0
	}
	v.rest = v.rest[length:]
	return n
}

func (v *varints) interval(to *Interval) (err error) {
	for _, n := range to.numbers() {
		*n = v.next()
	}
	for range v.next() {
		length := v.next()
		if v.short || length < 0 || length > int64(len(v.rest)) {
			break
		}
		if to.Errored == nil {
			to.Errored = map[errkind.Kind]int64{}
		}
		kind := errkind.Kind(v.rest[:length])
		v.rest = v.rest[length:]
		to.Errored[kind] = v.next()
	}
	if v.short {
		return errors.New("a course that is truncated")
	}
	v.rest, err = to.times.read(v.rest)
	return err
}
