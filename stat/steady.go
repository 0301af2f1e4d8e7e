package stat

import (
	"cmp"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// steadyLevel is the chance of a false alarm that each of the three tests may
	// have on independent noise; together 1.5 %.
	steadyLevel = 0.005
	// fewestSteady is the length below which a series says nothing either way.
	fewestSteady = 10
	// mostSlopes bounds the work on pairs of points: longer series are averaged down
	// to this length for trend and shift.
	mostSlopes = 300
	// shiftSplits is the number of places, evenly spaced, at which a shift is looked for.
	shiftSplits = 9
)

// Steady judges whether a series of equally spaced values (throughput per second, say,
// in order) stayed around one level. It returns no warning if so, else one with the
// code not_steady whose text says what was seen:
//
//   - a trend: Mann–Kendall test (Mann 1945, Econometrica 13; Kendall, "Rank Correlation
//     Methods"), sized by the Theil–Sen slope (Sen 1968, JASA 63) over the whole series;
//   - a shift of the level: rank-sum tests (Mann and Whitney 1947, Ann. Math. Statist.
//     18) at nine evenly spaced splits, Bonferroni-corrected, sized by the difference of
//     the medians of the two parts;
//   - an oscillation: the largest ordinate of the periodogram (Fisher 1929, "Tests of
//     significance in harmonic analysis", Proc. R. Soc. A 125; the first term of his
//     formula, an upper bound) of the values' normal scores, sized from trough to peak
//     of that wave in the values themselves.
//
// Each must be both significant at 0.5 % and at least tolerance in size, a fraction of
// the series' median; 0.05 suits per-second throughput. Tolerance also keeps noise
// that is correlated from second to second from being called a trend. Ranks make lone
// outliers harmless. A shift cannot be shown in fewer than about 20 values.
//
// A series of fewer than 10 values, with values that are not finite, or with a median
// that is not positive, cannot be judged: one warning steadiness_unknown.
func Steady(series []float64, tolerance float64) []Warning {
	if reason := whyNotJudged(series); reason != "" {
		return []Warning{{"steadiness_unknown", "the steady state was not judged: " + reason}}
	}
	if seen := movements(series, tolerance); seen != nil {
		return []Warning{{"not_steady", "no steady state: " + strings.Join(seen, "; ")}}
	}
	return nil
}

// movements says what is not steady in a series that can be judged.
func movements(series []float64, tolerance float64) []string {
	level := medianOf(slices.Sorted(slices.Values(series)))
	short := condense(series, mostSlopes)
	var seen []string
	if change := trend(short) / level; math.Abs(change) >= tolerance && change != 0 {
		seen = append(seen, fmt.Sprintf("a trend of %+.1f %% from start to end", 100*change))
	}
	if size, at := shift(short); math.Abs(size/level) >= tolerance && size != 0 {
		seen = append(seen, fmt.Sprintf("a shift of %+.1f %% after %.0f %% of the time", 100*size/level, 100*at))
	}
	if swing, period := oscillation(series); swing/level >= tolerance && swing != 0 {
		seen = append(seen, fmt.Sprintf("an oscillation of %.1f %% from trough to peak every %.3g values",
			100*swing/level, period))
	}
	return seen
}

func whyNotJudged(series []float64) string {
	if len(series) < fewestSteady {
		return fmt.Sprintf("%d values, at least %d are needed", len(series), fewestSteady)
	}
	for _, v := range series {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprintf("the series contains %g", v)
		}
	}
	if m := medianOf(slices.Sorted(slices.Values(series))); m <= 0 {
		return fmt.Sprintf("its median is %g, not positive", m)
	}
	return ""
}

// condense averages neighbours so that at most limit values remain. A last group
// that is not full is left out.
func condense(series []float64, limit int) []float64 {
	size := (len(series) + limit - 1) / limit
	var out []float64
	for group := range slices.Chunk(series, size) {
		if len(group) == size {
			mean, _ := meanSD(group)
			out = append(out, mean)
		}
	}
	return out
}

// trend is the Theil–Sen change from the first value to the last, or 0 when the
// Mann–Kendall test sees none.
func trend(series []float64) float64 {
	if !(mannKendall(series) <= steadyLevel) {
		return 0
	}
	return theilSen(series)
}

// mannKendall is the two-sided p-value against a trend; 1 when all values are equal.
func mannKendall(series []float64) float64 {
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
		return 1
	}
	return 2 * distuv.UnitNormal.Survival((math.Abs(score)-1)/math.Sqrt(variance))
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

// shift is the change of the median at the split where the ranks differ most, and
// that split as a fraction of the series; 0, 0 when no split is significant.
func shift(series []float64) (size, at float64) {
	ranks, ties := midranks(series)
	n := float64(len(series))
	spread := n + 1
	for _, t := range ties {
		spread -= t * (t*t - 1) / (n * (n - 1))
	}
	best, split := 0.0, 0
	for i := 1; i <= shiftSplits; i++ {
		left := i * len(series) / (shiftSplits + 1)
		n1, sum := float64(left), 0.0
		for _, r := range ranks[:left] {
			sum += r
		}
		z := math.Abs(sum-n1*(n+1)/2) / math.Sqrt(n1*(n-n1)*spread/12)
		if z > best {
			best, split = z, left
		}
	}
	if !(shiftSplits*2*distuv.UnitNormal.Survival(best) <= steadyLevel) {
		return 0, 0
	}
	before := medianOf(slices.Sorted(slices.Values(series[:split])))
	after := medianOf(slices.Sorted(slices.Values(series[split:])))
	return after - before, float64(split) / n
}

// oscillation is the trough-to-peak size and the period, in values, of the strongest
// wave; 0, 0 when it does not stand out from noise. The series is cut to an odd
// length, which gives every frequency, the alternation of neighbours too, an ordinate
// of the same distribution.
func oscillation(series []float64) (swing, period float64) {
	odd := series[:len(series)-1+len(series)%2]
	scores, _ := midranks(odd)
	for i, rank := range scores {
		scores[i] = distuv.UnitNormal.Quantile(rank / float64(len(odd)+1))
	}
	fft := fourier.NewFFT(len(odd))
	total, best, frequency := 0.0, 0.0, 0
	for k, c := range fft.Coefficients(nil, scores)[1:] {
		power := squared(cmplx.Abs(c))
		total += power
		if power > best {
			best, frequency = power, k+1
		}
	}
	waves := float64(len(odd) / 2)
	if total == 0 || waves*math.Pow(1-best/total, waves-1) > steadyLevel {
		return 0, 0
	}
	amplitude := 2 * cmplx.Abs(fft.Coefficients(nil, odd)[frequency]) / float64(len(odd))
	return 2 * amplitude, float64(len(odd)) / float64(frequency)
}

// midranks returns the rank of every value, equal values sharing the mean of theirs,
// and the sizes of the groups of equal values.
func midranks(values []float64) (ranks, ties []float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks = make([]float64, len(values))
	for start := 0; start < len(order); {
		end := start + 1
		for end < len(order) && values[order[end]] == values[order[start]] {
			end++
		}
		for _, i := range order[start:end] {
			ranks[i] = float64(start+1+end) / 2
		}
		ties = append(ties, float64(end-start))
		start = end
	}
	return ranks, ties
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
