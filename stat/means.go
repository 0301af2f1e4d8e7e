package stat

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Means compares the means of two arms that were not paired, from one value per repetition of each. The test is
// Student's t of two samples with one variance (Student 1908, Biometrika 6). It suits counts, which scatter little or
// not at all and have few repetitions. Without any scatter the interval is the difference alone, and P is 0 or 1. The
// Value is the difference of the means. With fewer than two values of an arm there is no interval.
//
// Means assumes that repetitions of both arms scatter about normally, with the same variance. Paired and Unpaired do
// not assume that, and need more repetitions.
//
// An error means that the input is empty or not finite, or that confidence is out of range.
func Means(baseline, candidate []float64, confidence float64) (Shift, error) {
	if err := errors.Join(checkLogs("baseline", baseline, math.MaxFloat64/4), checkLogs("candidate", candidate, math.MaxFloat64/4), checkConfidence(confidence)); err != nil {
		return Shift{}, err
	}
	n, m := float64(len(baseline)), float64(len(candidate))
	a, sa := meanSD(baseline)
	b, sb := meanSD(candidate)
	s := Shift{Value: b - a, P: 1, Level: 1 - confidence, Rounds: min(len(baseline), len(candidate))}
	if s.Rounds < 2 {
		return s, nil
	}
	s.Confidence = confidence
	freedom := n + m - 2
	se := math.Sqrt(((n-1)*sa*sa + (m-1)*sb*sb) / freedom * (1/n + 1/m))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
	reach := 0.0
	switch {
	case se > 0:
		s.P = 2 * t.CDF(-math.Abs(s.Value)/se)
		reach = -t.Quantile(s.Level/2) * se
	case s.Value != 0:
		s.P = 0
	}
	s.Low, s.High = s.Value-reach, s.Value+reach
	return s, nil
}
