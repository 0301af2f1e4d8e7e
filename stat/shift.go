package stat

import (
	"errors"
	"math"
)

// A Shift is how much more the candidate shows than the baseline, over rounds, in the
// unit of what was measured. The zero value claims nothing.
type Shift struct {
	// Value is the estimate of candidate − baseline; negative: the candidate has less.
	Value float64
	// Low and High are the ends of its interval, both included; they exist only when
	// Bounded says so.
	Low  float64
	High float64
	// P, Level, Confidence and Rounds are as in an Effect, with 0 for its ratio of 1.
	P          float64
	Level      float64
	Confidence float64
	Rounds     int
}

// Bounded reports whether there is an interval. Too few rounds have no interval.
func (s Shift) Bounded() bool { return s.Confidence > 0 }

// Excludes0 reports whether the two clearly differ: the interval is to one side of 0.
func (s Shift) Excludes0() bool { return s.Bounded() && (s.Low > 0 || s.High < 0) }

// Differences compares two arms from one difference per round, candidate − baseline, for what
// can be 0 in one of them and so has no ratio. Estimate, test and interval are those of Paired, of
// differences instead of log-ratios: the median of the means of all pairs of rounds, the exact
// sign-flip test, and the differences that it does not reject. P ≤ Level if and only if 0 is
// outside the interval; ties count against a difference.
//
// For one of n shifts that share the level, ask at the confidence 1 − level/n.
//
// An error means that the input is not one finite difference for each of 1 to 2000 rounds, or that
// confidence is out of range.
func Differences(differences []float64, confidence float64) (Shift, error) {
	if err := errors.Join(checkLogs("difference", differences, math.MaxFloat64/4), checkConfidence(confidence)); err != nil {
		return Shift{}, err
	}
	v := inversion{values: walshAverages(differences, nil), tail: signedRankTail(len(differences))}
	s := Shift{Value: medianOf(v.values), P: v.p(0), Level: 1 - confidence, Rounds: len(differences)}
	if depth := v.depth(s.Level); depth > 0 {
		s.Low, s.High, s.Confidence = v.interval(depth)
	}
	return s, nil
}
