// Package paired compares programs in alternating blocks: generators of load by
// what they complete per second of their own CPU, or servers by what they answer
// per second of theirs.
//
// The machine's speed and its other work affect all blocks of a round, so a ratio
// within a round is reliable and absolute numbers are not. Another program begins in
// every round. CPU time is user plus system time as the kernel accounts it.
package paired

import (
	"fmt"
	"math"
	"slices"

	"contend/stat"
)

// Alternate runs so many rounds of one block of each of n alternatives, another
// one first in every round, and returns what they measured: by alternative, then
// by round.
func Alternate[T any](n, rounds int, measure func(which int) (T, error)) ([][]T, error) {
	measured := make([][]T, n)
	for round := range rounds {
		for i := range n {
			which := (round + i) % n
			m, err := measure(which)
			if err != nil {
				return nil, err
			}
			measured[which] = append(measured[which], m)
		}
	}
	return measured, nil
}

// A Ratio is what one alternative, ours, measured relative to another in the same
// rounds. Its Effect is that of stat.Paired at 95 % confidence.
type Ratio struct {
	Ours, Theirs []float64 // one value for each round, above 0
	stat.Effect
}

// NewRatio pairs the values by round.
func NewRatio(ours, theirs []float64) (Ratio, error) {
	logs := make([]float64, len(ours))
	for i := range ours {
		logs[i] = math.Log(ours[i] / theirs[i])
	}
	effect, err := stat.Paired(logs, 0.95)
	return Ratio{ours, theirs, effect}, err
}

// Report gives the median of the ratios, the interval where there is one, n, what
// follows, and the warnings on lines of their own.
func (r Ratio) Report(verdict string) string {
	ratios := make([]float64, len(r.Ours))
	for i := range r.Ours {
		ratios[i] = r.Ours[i] / r.Theirs[i]
	}
	text := fmt.Sprintf("ratio: median %.3f", Median(ratios))
	if r.Bounded() {
		text += fmt.Sprintf(", %.1f %% interval %.3f to %.3f", 100*r.Confidence, r.Low, r.High)
	}
	text += fmt.Sprintf(", n = %d; %s", len(ratios), verdict)
	for _, warning := range r.Warnings {
		text += "\n    warning: " + warning.Text
	}
	return text
}

// tolerance is how far the lower end of an interval may stay below its bar.
const tolerance = 0.02

// Against reports whether the ratio reached a bar; 0 means no bar.
func (r Ratio) Against(bar float64) string {
	switch {
	case bar == 0:
		return "no bar"
	case !r.Bounded():
		return fmt.Sprintf("bar %.2f: too few rounds to tell", bar)
	case r.Low >= bar-tolerance:
		return fmt.Sprintf("bar %.2f: reached", bar)
	}
	return fmt.Sprintf("bar %.2f: MISSED (lower end %.3f < %.2f)", bar, r.Low, bar-tolerance)
}

// Median returns the middle of values, or the mean of the two in the middle.
// There must be at least one.
func Median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
