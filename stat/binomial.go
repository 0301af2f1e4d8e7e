package stat

import "gonum.org/v1/gonum/stat/distuv"

// Binomial bounds the chance of an event that was seen in k of n independent cases:
// the interval of Clopper and Pearson ("The use of confidence or fiducial limits
// illustrated in the case of the binomial", Biometrika 26, 1934), which covers the
// true chance at least as often as confidence, in (0, 1), says. Without any case, or
// when k is not from 0 to n, nothing is known: 0 and 1.
func Binomial(k, n int, confidence float64) (low, high float64) {
	if n < 1 || k < 0 || k > n {
		return 0, 1
	}
	side := (1 - confidence) / 2
	high = 1
	if k > 0 {
		low = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(side)
	}
	if k < n {
		high = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - side)
	}
	return low, high
}
