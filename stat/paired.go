package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"contend/finding"
	"contend/internal/unit"
)

const (
	// maxRounds bounds the memory of the Walsh averages (rounds²/2 numbers).
	maxRounds = 2000
	// maxLogRatio keeps ratios, and ratios of ratios, finite and positive: float64 ends
	// at about exp(±700).
	maxLogRatio = 350
)

// Effect is the candidate relative to the baseline, over rounds. The zero value
// claims nothing: no rounds, no interval.
type Effect struct {
	// Ratio is candidate ÷ baseline: 1.05 is 5% more. Always positive.
	Ratio float64 `json:"ratio"`
	// Low and High are the ends of the interval for the ratio, both included; they
	// exist only when Bounded says so.
	Low  float64 `json:"ratio_low,omitzero"`
	High float64 `json:"ratio_high,omitzero"`
	// P is how often rounds of two equal arms would show a difference at least this
	// clear, in (0, 1]; of one of several effects, how often any of them would (Among).
	P float64 `json:"p"`
	// Level is the significance level that was asked for, 1 − the requested confidence.
	// P ≤ Level if and only if there is an interval that excludes 1.
	Level float64 `json:"level"`
	// Confidence is that of the interval as it is, at least the requested one, or that of
	// the intervals of several effects together (Among); 0 when there is no interval.
	Confidence float64 `json:"confidence,omitzero"`
	// Rounds is the number of replications.
	Rounds   int               `json:"rounds"`
	Warnings []finding.Warning `json:"warnings,omitempty"`
}

// Bounded reports whether there is an interval. Too few rounds have no interval.
func (e Effect) Bounded() bool { return e.Confidence > 0 }

// Among returns the effect as one of n that share the level, n at least 1. Each of them
// was computed by Paired or Unpaired at the confidence 1 − level/n; then all n intervals
// hold their true ratios together with the confidence 1 − level, and the chance that any
// of n effects without a difference is significant is at most level (Bonferroni's
// inequality; Dunn 1961, "Multiple comparisons among means", JASA 56), whatever they have
// to do with each other. P, at most 1, Level and 1 − Confidence are multiplied by n; the
// ratio and its interval stay.
func (e Effect) Among(n int) Effect {
	e.P, e.Level = min(1, float64(n)*e.P), float64(n)*e.Level
	if e.Bounded() {
		e.Confidence = 1 - float64(n)*(1-e.Confidence)
	}
	return e
}

// Paired compares two arms from one paired log-ratio per round, ln(candidate ÷
// baseline); the order of the rounds does not matter. confidence is that of the
// interval, between 0 and 1, usually 0.95.
//
//   - The ratio is the Hodges–Lehmann estimate, the median of the geometric means of
//     all pairs of rounds (Hodges and Lehmann 1963, "Estimates of location based on
//     rank tests", Ann. Math. Statist. 34).
//   - P is the exact sign-flip permutation test of the signed-rank statistic (Wilcoxon
//     1945, "Individual comparisons by ranking methods", Biometrics Bulletin 1): were
//     the arms equal, every round's log-ratio could as well have had the other sign.
//   - The interval holds exactly the ratios that this test does not reject (Hollander,
//     Wolfe and Chicken, "Nonparametric Statistical Methods", 3rd ed., section 3.3).
//
// So P ≤ Level if and only if 1 is outside the interval. Ties and zeros are resolved
// against a difference: P is the largest over all ways to break them, and level and
// coverage hold (Noether 1967, "Wilcoxon confidence intervals for location parameters
// in the discrete case", JASA 62). Midranks were rejected for this: with three rounds
// at a ratio of 1 and six above it they exclude 1 at p = 0.031 and accept every ratio
// a hair above 1, so that test and interval would contradict each other.
//
// With n rounds the smallest possible P is 2/2ⁿ, so a level of 0.05 needs 6 rounds;
// with fewer there is no interval but a warning too_few_rounds. Rounds that are all
// equal get the warning identical_values. Beyond 200 rounds the permutation
// distribution is approximated by the normal one.
//
// An error means that the input is not a set of log-ratios (none, more than 2000, not
// finite, beyond ±350) or that confidence is out of range.
func Paired(logRatios []float64, confidence float64) (Effect, error) {
	return Weighted(logRatios, nil, confidence)
}

// Weighted is Paired for rounds that are not equally well known: each has a weight above 0, 1 ÷
// the standard error of its log-ratio. nil weights are all equal.
//
// For a supposed ratio ρ, rounds are ranked by |w · (r − ln ρ)|: by how many standard errors
// the log-ratio r is from it. Were ρ the true ratio, and an exchange of the arms left the
// weights as they are, every sign could as well be the other one, so the sign-flip test is as
// exact as that of Paired, and SequentialLevels holds for it. The statistic is again the number
// of means of two rounds on the thinner side of ρ (Tukey, as for Paired), which are
//
//	exp( (wᵢ·rᵢ + wⱼ·rⱼ) ÷ (wᵢ + wⱼ) )
//
// because this is above ρ if and only if w · (r − ln ρ) of both rounds together is above 0.
// Estimate and interval invert the test, as Hodges and Lehmann (1963) do with any such test.
func Weighted(logRatios, weights []float64, confidence float64) (Effect, error) {
	if err := errors.Join(checkLogRatios(logRatios), checkWeights(weights, len(logRatios)), checkConfidence(confidence)); err != nil {
		return Effect{}, err
	}
	e := newWalsh(logRatios, weights).effect(len(logRatios), confidence)
	if !e.Bounded() {
		e.Warnings = append(e.Warnings, tooFewRounds(e.Rounds, confidence))
	}
	if e.Rounds > 1 && slices.Min(logRatios) == slices.Max(logRatios) {
		e.Warnings = append(e.Warnings, finding.IdenticalValues.Warning("all %d rounds gave exactly the same ratio: the measurement is too coarse to vary, or was not repeated",
			e.Rounds))
	}
	return e, nil
}

// FewestRounds is the least number of rounds that can reject at the level at all:
// the smallest n with 2/2ⁿ ≤ level.
func FewestRounds(level float64) int {
	n := 1
	for math.Ldexp(2, -n) > level {
		n++
	}
	return n
}

func tooFewRounds(have int, confidence float64) finding.Warning {
	return finding.TooFewRounds.Warning("%d rounds are too few for an interval at %s confidence, which needs at least %d",
		have, unit.Percent(confidence), FewestRounds(1-confidence))
}

func checkLogRatios(logRatios []float64) error { return checkLogs("log-ratio", logRatios, maxLogRatio) }

// checkLogs refuses what are no logarithms, one for each round.
func checkLogs(what string, logs []float64, most float64) error {
	if n := len(logs); n == 0 || n > maxRounds {
		return fmt.Errorf("stat: have %d rounds with a %s; expected 1 to %d", n, what, maxRounds)
	}
	for i, x := range logs {
		if math.IsNaN(x) || math.Abs(x) > most {
			return fmt.Errorf("stat: %s of round %d is %g; expected %g to %g", what, i+1, x, -most, most)
		}
	}
	return nil
}

// checkWeights refuses what are no weights of so many rounds.
func checkWeights(weights []float64, rounds int) error {
	if weights != nil && len(weights) != rounds {
		return fmt.Errorf("stat: have %d weights of %d rounds", len(weights), rounds)
	}
	for i, w := range weights {
		if !(w > 0 && w <= math.MaxFloat32) {
			return fmt.Errorf("stat: weight of round %d is %g; expected above 0, at most %g", i+1, w, math.MaxFloat32)
		}
	}
	return nil
}

func checkConfidence(confidence float64) error {
	if !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("stat: confidence is %g; expected above 0, below 1 (for example 0.95)", confidence)
	}
	return nil
}
