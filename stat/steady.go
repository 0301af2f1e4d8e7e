package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/finding"
)

const (
	// fewestSteady is the length below which a series says nothing either way.
	fewestSteady = 10
	// mostSlopes bounds the work on pairs of points: longer series are averaged down
	// to this length for trend and shift.
	mostSlopes = 300
	// clearly is what a single series is judged by: clearTrend, clearShift and clearWave.
	clearly = 1
)

// SteadyThroughput is the relative change of a throughput that is still a steady
// state. A convention of this project.
const SteadyThroughput = 0.05

// Steady judges whether a series of equally spaced values (throughput per second, say,
// in order) stayed around one level. It returns no warning if so, else one with the
// code not_steady whose text says what was seen:
//
//   - a trend: Mann–Kendall test (Mann 1945, Econometrica 13; Kendall, "Rank Correlation
//     Methods") at 0.5%, sized by the Theil–Sen slope (Sen 1968, JASA 63) over the whole
//     series;
//   - a shift of the level: rank-sum tests (Mann and Whitney 1947, Ann. Math. Statist.
//     18) at nine evenly spaced splits, together at 2% (Bonferroni), sized by the
//     difference of the medians of the two parts;
//   - an oscillation: the largest ordinate of the periodogram (Fisher 1929, "Tests of
//     significance in harmonic analysis", Proc. R. Soc. A 125; the first term of his
//     formula, an upper bound) of the values' normal scores, at 1%, sized from trough to
//     peak of the wave of about that frequency that fits the values best.
//
// Each must also be large: at least tolerance, a fraction of the series' median (0.05
// suits per-second throughput), and a multiple of what the noise would explain that
// remains without it, where neighbouring values are alike as they are (see likeness).
// Throughput is correlated from second to second, which the tests by themselves would
// take for movement. Ranks make lone outliers harmless. A shift cannot be shown when the
// shorter part has fewer than about 3 values.
//
// On independent noise all three together raise a false alarm in at most 1.5% of
// series; where neighbours correlate by 0.3 in 0.5 to 4% of those with 60 to 20 values,
// and by 0.7 in 2 to 16%.
//
// A series of fewer than 10 values, with values that are not finite, or with a median
// that is not positive, cannot be judged: one warning steadiness_unknown.
func Steady(series []float64, tolerance float64) []finding.Warning {
	if reason := whyNotJudged(series); reason != "" {
		return []finding.Warning{finding.SteadinessUnknown.Warning("steadiness is unknown: %s", reason)}
	}
	if seen := movements(series, tolerance, clearly); seen != nil {
		return []finding.Warning{finding.NotSteady.Warning("not steady: %s", strings.Join(seen, "; "))}
	}
	return nil
}

// movements says what is not steady in a series that can be judged. clear scales by how
// much a movement must exceed correlated noise.
func movements(series []float64, tolerance, clear float64) []string {
	level := medianOf(slices.Sorted(slices.Values(series)))
	short := condense(series, mostSlopes)
	var seen []string
	if change := trend(short, clear) / level; math.Abs(change) >= tolerance && change != 0 {
		seen = append(seen, fmt.Sprintf("a trend of %+.1f%% from start to end", 100*change))
	}
	if size, at := shift(short, clear); math.Abs(size/level) >= tolerance && size != 0 {
		seen = append(seen, fmt.Sprintf("a shift of %+.1f%% after %.0f%% of the time", 100*size/level, 100*at))
	}
	if swing, period := oscillation(series, clear); swing/level >= tolerance && swing != 0 {
		seen = append(seen, fmt.Sprintf("an oscillation of %.1f%% from trough to peak every %.3g values",
			100*swing/level, period))
	}
	return seen
}

func whyNotJudged(series []float64) string {
	if len(series) < fewestSteady {
		return fmt.Sprintf("%d values, but at least %d are needed", len(series), fewestSteady)
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
