package stat

// Verdict is the outcome of a comparison, in the word that is printed.
type Verdict string

// The verdicts. Decide never returns Invalid: callers do, if the measurement
// itself is not valid.
const (
	Faster       Verdict = "FASTER"
	Slower       Verdict = "SLOWER"
	More         Verdict = "MORE"
	Less         Verdict = "LESS"
	Equivalent   Verdict = "EQUIVALENT"
	Inconclusive Verdict = "INCONCLUSIVE"
	Invalid      Verdict = "INVALID"
)

// Differs reports whether the two differ, in whichever direction.
func (v Verdict) Differs() bool { return v == Faster || v == Slower || v == More || v == Less }

// Worse reports whether the candidate is slower than the baseline or takes more than that.
func (v Verdict) Worse() bool { return v == Slower || v == More }

// Kind says what a larger value of a metric means.
type Kind int

// The kinds of metric. The zero value, Amount, never claims a speed.
const (
	Amount         Kind = iota // CPU per operation, memory, errors: MORE or LESS
	HigherIsFaster             // throughput
	LowerIsFaster              // response time, service time
)

// Decide turns an effect into a verdict. margin is the largest difference that does
// not matter, as a fraction: 0.02 calls ratios from 1/1.02 to 1.02 equivalent (the
// same distance either way in logarithms, so that swapping the arms keeps the
// verdict). With 0 nothing but an interval of exactly [1, 1] is equivalent.
//
// EQUIVALENT takes precedence: the whole interval lies within the margin, even where
// it excludes 1. This is two one-sided tests (Schuirmann 1987, J. Pharmacokin.
// Biopharm. 15), each at half the level, so rather stricter than usual. FASTER, SLOWER,
// MORE and LESS need significance: 1 outside the interval, which is P ≤ Level.
// Everything else, and every effect without an interval, is INCONCLUSIVE.
func Decide(e Effect, margin float64, kind Kind) Verdict {
	if !e.Bounded() {
		return Inconclusive
	}
	if e.Low >= 1/(1+margin) && e.High <= 1+margin {
		return Equivalent
	}
	more, less := kind.words()
	switch {
	case e.Low > 1:
		return more
	case e.High < 1:
		return less
	}
	return Inconclusive
}

func (k Kind) words() (more, less Verdict) {
	switch k {
	case HigherIsFaster:
		return Faster, Slower
	case LowerIsFaster:
		return Slower, Faster
	}
	return More, Less
}
