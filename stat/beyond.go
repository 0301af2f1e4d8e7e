package stat

import "math"

// casesOfPrior is how many cases the prior of Beyond is worth.
const casesOfPrior = 0.5

// Beyond says on which side of a share, between 0 and 1, a chance lies, if n answers had k cases: 1 above, -1 below, 0 not
// known yet. It may be asked after each answer: the chance that it is ever wrong is at most the level.
//
// It compares how likely the answers are under a mixture of chances, a beta distribution with the share as its mean, with
// how likely they are at the share itself. If the share is the chance, the ratio is a martingale with mean 1. By Ville's
// inequality it ever reaches 1 ÷ level with at most that chance (Robbins, "Statistical methods related to the law of the
// iterated logarithm", Ann. Math. Statist. 41, 1970). If cases come in groups and count as fewer, k and n need not be whole.
func Beyond(k, n, share, level float64) int {
	if !(n > 0) {
		return 0
	}
	a, b := casesOfPrior, casesOfPrior*(1-share)/share
	ratio := logBeta(k+a, n-k+b) - logBeta(a, b) - k*math.Log(share) - (n-k)*math.Log1p(-share)
	switch {
	case ratio < -math.Log(level):
		return 0
	case k > share*n:
		return 1
	}
	return -1
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}
