package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// maxPlannedRounds is where RoundsNeeded gives up: no estimate is worth that much. It is far more than can be run, so that a
// page can tell how long a decision would take.
const maxPlannedRounds = 100_000

// RoundsNeeded estimates how many rounds beyond those given would settle an
// INCONCLUSIVE comparison: the smaller of what excludes 1 if the estimated effect is
// the true one, and what brings the whole interval within the margin (as in Decide).
// weights are those of Weighted, nil: of Paired; power is the chance to succeed with that many rounds, usually 0.9.
//
// Rounds differ by a spread s, and n of them fix the ratio to about s/√n. With the
// estimated log-ratio d and L = ln(1+margin):
//
//	to exclude 1:          n = ((z(confidence) + z₁(power)) · s / |d|)² + z(confidence)²/2
//	to be within margin:   n = ((z(confidence) + z(power)) · s / (L−|d|))² + z(confidence)²/2
//
// z is the two-sided and z₁ the one-sided normal quantile; the last term is Guenther's
// correction for a spread that is itself estimated ("Sample size formulas for normal
// theory t tests", American Statistician 35, 1981). s is read from the interval that
// the rounds have now, half its width · √n ÷ the t quantile of its confidence (Lehmann
// 1963, "Nonparametric confidence intervals for a shift parameter", Ann. Math.
// Statist. 34), which a single wild round sways less than a standard deviation.
//
// The result is a plan, not a promise: a spread seen in 6 rounds is itself uncertain,
// and the answer easily off by a factor of three; next to the least possible number of
// rounds it can be one short. It is at least 1. ok is false when there is nothing to go by (fewer than 2
// rounds, or input that Paired would refuse) or when over 100,000 rounds would be needed.
func RoundsNeeded(logRatios, weights []float64, margin, confidence, power float64) (more int, ok bool) {
	n := len(logRatios)
	if n < 2 || checkLogRatios(logRatios) != nil || checkWeights(weights, n) != nil || checkConfidence(confidence) != nil || !(power > 0 && power < 1) {
		return 0, false
	}
	w := newWalsh(logRatios, weights)
	effect := math.Abs(medianOf(w.logs))
	spread := w.spread(1 - confidence)
	z := twoSided(confidence)
	exclude := squared((z + distuv.UnitNormal.Quantile(power)) * spread / effect)
	within := math.Inf(1)
	if room := math.Log1p(margin) - effect; room > 0 {
		within = squared((z + twoSided(power)) * spread / room)
	}
	if spread == 0 {
		exclude = 0
	}
	total := math.Ceil(min(exclude, within) + z*z/2)
	if !(total <= maxPlannedRounds) {
		return 0, false
	}
	return max(1, max(int(total), FewestRounds(1-confidence))-n), true
}

// Spread estimates the standard deviation of one round's log-ratio, so scaled that
// Spread ÷ √rounds is the standard error of the ratio of Paired; RoundsNeeded says how.
// With too few rounds for an interval at this confidence the widest one is used for
// what it is worth. It is 0 for fewer than 2 rounds and for input that Paired refuses.
func Spread(logRatios []float64, confidence float64) float64 {
	if len(logRatios) < 2 || checkLogRatios(logRatios) != nil || checkConfidence(confidence) != nil {
		return 0
	}
	return newWalsh(logRatios, nil).spread(1 - confidence)
}

// Smallest is the smallest difference, as ratio − 1, that so many rounds find with the
// chance power when a round scatters by spread (see Spread): RoundsNeeded turned round,
//
//	ln(1 + difference) = (z(confidence) + z₁(power)) · spread ÷ √(rounds − z(confidence)²/2)
//
// with the confidence that so many rounds really have, which comes in steps. Where only
// rounds that all agree are significant (6 at 95%) it is at least
// spread · z₁(power^(1/rounds)), which makes them all agree that often. It is +Inf when so
// few rounds find nothing at that confidence, and for more than 2000.
func Smallest(spread float64, rounds int, confidence, power float64) float64 {
	level := 1 - confidence
	if rounds < FewestRounds(level) || rounds > maxRounds {
		return math.Inf(1)
	}
	test := inversion{tail: signedRankTail(rounds)}
	depth := test.depth(level)
	z := twoSided(1 - 2*test.tail[depth-1])
	effect := (z + distuv.UnitNormal.Quantile(power)) / math.Sqrt(float64(rounds)-z*z/2)
	if depth == 1 {
		effect = max(effect, distuv.UnitNormal.Quantile(math.Pow(power, 1/float64(rounds))))
	}
	return math.Expm1(effect * spread)
}

// spread estimates the standard deviation of one round's log-ratio, scaled so that
// spread/√n is the standard error of the Hodges–Lehmann estimate. With too few
// rounds for an interval at the level, the widest one is used for what it is worth.
func (w walsh) spread(level float64) float64 {
	depth := max(1, w.depth(level))
	_, _, confidence := w.interval(depth)
	t := distuv.StudentsT{Sigma: 1, Nu: float64(w.rounds - 1)}
	half := (w.logs[len(w.logs)-depth] - w.logs[depth-1]) / 2
	return half * math.Sqrt(float64(w.rounds)) / t.Quantile((1+confidence)/2)
}

func twoSided(probability float64) float64 {
	return distuv.UnitNormal.Quantile((1 + probability) / 2)
}

func squared(x float64) float64 { return x * x }
