package stat

import (
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	trendLevel = 0.005
	shiftLevel = 0.02
	waveLevel  = 0.01
	// oneWay is the least τ of a course with a single direction.
	oneWay = 0.85
	// shiftSplits is the number of places, evenly spaced, at which a shift is looked for.
	shiftSplits = 9
	// exactShift is up to which length the rank sums are counted and not approximated.
	exactShift = 40
	// clearTrend and clearShift are by how many standard errors in correlated noise a
	// movement must differ from none. As the correlation of neighbours is itself an
	// estimate they replace the levels above; found by simulation (see Steady).
	clearTrend = 4
	clearShift = 5
	// clearWave is by what factor the power of a wave must exceed the one that is as rare
	// in correlated noise as waveLevel says.
	clearWave = 2.5
)

// trend is the Theil–Sen change from the first value to the last, or 0 when the
// Mann–Kendall test sees none or noise explains it; clear is as in movements. A
// course that hardly ever turns back is a trend whatever its shape: what separates
// a bent one from a straight line is not noise.
func trend(series []float64, clear float64) float64 {
	p, tau := mannKendall(series)
	if p > trendLevel {
		return 0
	}
	if math.Abs(tau) >= oneWay {
		return theilSen(series)
	}
	slope, n := medianSlope(series), float64(len(series))
	rest := slices.Clone(series)
	for i := range rest {
		rest[i] -= slope * float64(i)
	}
	change := slope * (n - 1)
	if math.Abs(change) < clear*clearTrend*noise(rest)*math.Sqrt(12/n) {
		return 0
	}
	return change
}

// mannKendall is the two-sided p-value against a trend, 1 when all values are equal,
// and Kendall's τ: the share of pairs that rise minus that of those that fall.
func mannKendall(series []float64) (p, tau float64) {
	score := 0.0
	for i, earlier := range series {
		for _, later := range series[i+1:] {
			score += sign(later - earlier)
		}
	}
	n := float64(len(series))
	_, ties := midranks(series)
	variance := n * (n - 1) * (2*n + 5) / 18
	for _, t := range ties {
		variance -= t * (t - 1) * (2*t + 5) / 18
	}
	if variance == 0 || score == 0 {
		return 1, 0
	}
	return 2 * distuv.UnitNormal.Survival((math.Abs(score)-1)/math.Sqrt(variance)), score / (n * (n - 1) / 2)
}

// theilSen is the change from the first value to the last.
func theilSen(series []float64) float64 {
	return medianSlope(series) * float64(len(series)-1)
}

func medianSlope(series []float64) float64 {
	n := len(series)
	slopes := make([]float64, 0, n*(n-1)/2)
	for i, earlier := range series {
		for j := i + 1; j < n; j++ {
			slopes = append(slopes, (series[j]-earlier)/float64(j-i))
		}
	}
	slices.Sort(slopes)
	return medianOf(slopes)
}

// shift returns the medians before and after the split where the ranks differ most clearly,
// and that split as a fraction of the series; zeros when no split is significant or
// noise explains it.
func shift(series []float64, clear float64) (before, after, at float64) {
	p, split := clearestSplit(series)
	if shiftSplits*p > shiftLevel {
		return 0, 0, 0
	}
	before = medianOf(slices.Sorted(slices.Values(series[:split])))
	after = medianOf(slices.Sorted(slices.Values(series[split:])))
	rest := slices.Clone(series)
	for i := range rest {
		if i < split {
			rest[i] -= before
		} else {
			rest[i] -= after
		}
	}
	n, left := float64(len(series)), float64(split)
	// a median has √(π/2) = 1.25 times the standard error of a mean
	if math.Abs(after-before) < clear*clearShift*1.25*noise(rest)*math.Sqrt(1/left+1/(n-left)) {
		return 0, 0, 0
	}
	return before, after, left / n
}

// clearestSplit returns the least two-sided p-value of the rank-sum tests and its split.
func clearestSplit(series []float64) (p float64, split int) {
	ranks, ties := midranks(series)
	n := float64(len(series))
	spread := n + 1
	for _, t := range ties {
		spread -= t * (t*t - 1) / (n * (n - 1))
	}
	p = 1
	for i := 1; i <= shiftSplits; i++ {
		left := i * len(series) / (shiftSplits + 1)
		n1, sum := float64(left), 0.0
		for _, r := range ranks[:left] {
			sum += r
		}
		here := 2 * distuv.UnitNormal.Survival(math.Abs(sum-n1*(n+1)/2)/math.Sqrt(n1*(n-n1)*spread/12))
		if here < 0.1 && len(series) <= exactShift && len(ties) == len(series) { // near enough, and nothing tied
			u := sum - n1*(n1+1)/2
			here = 2 * rankSumTail(left, len(series)-left)[int(min(u, n1*(n-n1)-u))]
		}
		if here < p {
			p, split = here, left
		}
	}
	return p, split
}

// noise is the standard deviation of what is left of a series, robust (1.4826 times the
// median absolute deviation) and so enlarged by the likeness r of neighbours that ÷ √n
// gives the standard error of a mean: by √((1+r)/(1−r)), which is right for noise
// whose correlation decays geometrically (Bartlett 1946, "On the theoretical
// specification and sampling properties of autocorrelated time-series", J. R. Statist.
// Soc. Suppl. 8).
func noise(rest []float64) float64 {
	middle := medianOf(slices.Sorted(slices.Values(rest)))
	distances := make([]float64, len(rest))
	for i, v := range rest {
		distances[i] = math.Abs(v - middle)
	}
	slices.Sort(distances)
	r := likeness(rest)
	return 1.4826 * medianOf(distances) * math.Sqrt((1+r)/(1-r))
}

// likeness is the rank correlation of neighbours, from 0 to 0.9, corrected for the
// (1+3r)/n by which it comes out too small (Marriott and Pope 1954, "Bias in the
// estimation of autocorrelations", Biometrika 41).
func likeness(values []float64) float64 {
	r := rankCorrelation(values)
	return max(0, min(0.9, r+(1+3*r)/float64(len(values))))
}

// oscillation is the trough-to-peak size and the period, in values, of the strongest
// wave; 0, 0 if it does not exceed the noise. The series is cut to an odd length,
// which gives every frequency, including the alternation of neighbours, an ordinate
// of the same distribution.
func oscillation(series []float64, clear float64) (swing, period float64) {
	odd := series[:len(series)-1+len(series)%2]
	n, waves := float64(len(odd)), float64(len(odd)/2)
	share, frequency := strongest(odd)
	if frequency == 0 || waves*math.Pow(1-share, waves-1) > waveLevel {
		return 0, 0
	}
	best := fitWave(odd, float64(frequency))
	for _, off := range []float64{-0.5, -0.375, -0.25, -0.125, 0.125, 0.25, 0.375, 0.5} {
		if f := float64(frequency) + off; f >= 0.75 && f <= waves {
			if w := fitWave(odd, f); w.power > best.power {
				best = w
			}
		}
	}
	// In noise the power of a wave ÷ its mean there is exponentially distributed.
	_, sd := meanSD(best.rest)
	r := likeness(best.rest)
	density := (1 - r*r) / (1 + r*r - 2*r*math.Cos(2*math.Pi*best.frequency/n))
	if waves*math.Exp(-best.power/(2*sd*sd*density*clearWave*clear*clear)) > waveLevel {
		return 0, 0
	}
	return 2 * math.Sqrt(2*best.power/n), n / best.frequency
}

// strongest is the frequency, in periods over the series, with the largest ordinate of
// the periodogram of the normal scores, and its share of all; 0 when all values are equal.
func strongest(values []float64) (share float64, frequency int) {
	scores, _ := midranks(values)
	for i, rank := range scores {
		scores[i] = distuv.UnitNormal.Quantile(rank / float64(len(values)+1))
	}
	total, best := 0.0, 0.0
	for k, c := range fourier.NewFFT(len(values)).Coefficients(nil, scores)[1:] {
		power := squared(cmplx.Abs(c))
		total += power
		if power > best {
			best, frequency = power, k+1
		}
	}
	if total == 0 {
		return 0, 0
	}
	return best / total, frequency
}

// fitted is a wave that was fitted to a series by least squares.
type fitted struct {
	frequency float64   // in periods over the series
	power     float64   // sum of squares that it explains
	rest      []float64 // the series without it and without its mean
}

func fitWave(series []float64, frequency float64) fitted {
	mean, _ := meanSD(series)
	var cc, ss, cs, yc, ys float64
	step := 2 * math.Pi * frequency / float64(len(series))
	for i, v := range series {
		sin, cos := math.Sincos(step * float64(i))
		cc, ss, cs = cc+cos*cos, ss+sin*sin, cs+cos*sin
		yc, ys = yc+(v-mean)*cos, ys+(v-mean)*sin
	}
	det := cc*ss - cs*cs
	a, b := (yc*ss-ys*cs)/det, (ys*cc-yc*cs)/det
	w := fitted{frequency: frequency, power: a*yc + b*ys, rest: make([]float64, len(series))}
	for i, v := range series {
		sin, cos := math.Sincos(step * float64(i))
		w.rest[i] = v - mean - a*cos - b*sin
	}
	return w
}
