package pipeline

import (
	"errors"
	"fmt"
)

// Layout of an item made by Item: the producer in the upper 8 bits, the number in
// the lower 40. The gap between makes "greater, and of the same producer" one
// comparison of a difference.
const (
	numberBits   = 40
	producerBits = 56
)

// MaxItems is the largest number of items per producer that a Tally can tell apart.
const MaxItems = 1<<numberBits - 1

// Item returns producer's item number n, for a Tally to check. It is the caller's
// to keep 0 ≤ producer < 256 and 1 ≤ n ≤ MaxItems.
func Item(producer int, n uint64) uint64 { return uint64(producer)<<producerBits | n }

// A Tally is one consumer's account of the items that it received, kept at less
// than a nanosecond an item: cheap enough for the measured run. The zero value is
// ready. Audit reads all of a pipeline's tallies together.
type Tally struct {
	count, sum, misordered uint64
	previous               uint64
	last                   [maxHandles]uint64 // numbers per producer, for all but previous's
}

// Add accounts for items in the order in which they were received.
func (t *Tally) Add(items ...uint64) {
	sum, previous := t.sum, t.previous
	for _, item := range items {
		sum += item
		if item-previous-1 >= MaxItems { // not a later one of the same producer
			t.turn(previous, item)
		}
		previous = item
	}
	t.count += uint64(len(items))
	t.sum, t.previous = sum, previous
}

// turn handles an item of another producer or out of order.
func (t *Tally) turn(previous, item uint64) {
	t.last[previous>>producerBits] = previous & MaxItems
	if item&MaxItems <= t.last[item>>producerBits] {
		t.misordered++
	}
}

// Count returns the number of items added.
func (t *Tally) Count() uint64 { return t.count }

// Audit checks that the tallies of all consumers together account for the items 1
// to sent[i] of every producer i: their count, their sum, and within each tally
// the order of each producer's items. The error says everything that is wrong.
//
// Count and sum can be fooled by a loss and a duplicate that cancel each other;
// within one tally the order then tells.
func Audit(sent []uint64, tallies ...*Tally) error {
	var count, sum, gotCount, gotSum, misordered uint64
	for i, n := range sent {
		count += n
		sum += uint64(i)<<producerBits*n + triangle(n)
	}
	for _, t := range tallies {
		gotCount += t.count
		gotSum += t.sum
		misordered += t.misordered
	}
	var errs []error
	if gotCount != count {
		errs = append(errs, fmt.Errorf("pipeline: %d items arrived of %d sent", gotCount, count))
	}
	if gotSum != sum {
		errs = append(errs, fmt.Errorf("pipeline: sum of items is %d, not %d", gotSum, sum))
	}
	if misordered > 0 {
		errs = append(errs, fmt.Errorf("pipeline: %d items out of their producer's order", misordered))
	}
	return errors.Join(errs...)
}

// triangle returns 1 + 2 + … + n modulo 2^64, halving the even factor first.
func triangle(n uint64) uint64 {
	if n%2 == 0 {
		return n / 2 * (n + 1)
	}
	return (n + 1) / 2 * n
}
