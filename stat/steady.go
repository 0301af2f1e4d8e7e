package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/finding"
	"contend/internal/unit"
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
		return []finding.Warning{finding.NotSteady.Warning("not steady: %s", inWords(seen))}
	}
	return nil
}

// A Movement is one way in which a series did not stay around one level, its median: a trend; a shift, which has an At; or an
// oscillation, which has a Period.
type Movement struct {
	// From and To are the ends of a trend, the medians before and after a shift, or the trough and peak of a wave.
	From, To float64
	At       float64 // the share of the series before a shift
	Period   float64 // of a wave, in values

	level float64
}

// Movements returns in which ways a series is not steady, as Steady judges it; of a trend and a shift, where both would do, the one that
// explains more of it. nil: none, or it cannot be judged.
func Movements(series []float64, tolerance float64) []Movement {
	if whyNotJudged(series) != "" {
		return nil
	}
	seen := movements(series, tolerance, clearly)
	if len(seen) > 1 && seen[0].Period == 0 && seen[1].Period == 0 {
		worse := 0
		if seen[1].rest(series) > seen[0].rest(series) {
			worse = 1
		}
		seen = slices.Delete(seen, worse, worse+1)
	}
	if len(seen) > 1 && seen[1].Period > float64(len(series))/2 { // it repeats nothing, and is the shape of the other
		seen = seen[:1]
	}
	return seen
}

// rest is the sum of what a trend or a shift leaves of a series.
func (m Movement) rest(series []float64) (sum float64) {
	for i, v := range series {
		at := float64(i) / float64(len(series))
		switch {
		case m.At == 0:
			sum += math.Abs(v - m.From - at*(m.To-m.From))
		case at < m.At:
			sum += math.Abs(v - m.From)
		default:
			sum += math.Abs(v - m.To)
		}
	}
	return sum
}

// movements says what is not steady in a series that can be judged. clear scales by how
// much a movement must exceed correlated noise.
func movements(series []float64, tolerance, clear float64) (seen []Movement) {
	level := medianOf(slices.Sorted(slices.Values(series)))
	short := condense(series, mostSlopes)
	large := func(change float64) bool { return math.Abs(change)/level >= tolerance && change != 0 }
	if change := trend(short, clear); large(change) {
		seen = append(seen, Movement{From: level - change/2, To: level + change/2, level: level})
	}
	if before, after, at := shift(short, clear); large(after - before) {
		seen = append(seen, Movement{From: before, To: after, At: at, level: level})
	}
	if swing, period := oscillation(series, clear); large(swing) {
		seen = append(seen, Movement{From: level - swing/2, To: level + swing/2, Period: period, level: level})
	}
	return seen
}

// inWords says all movements of a series, in per cent of its median.
func inWords(seen []Movement) string {
	var words []string
	for _, m := range seen {
		change := 100 * (m.To - m.From) / m.level
		switch {
		case m.Period > 0:
			words = append(words, fmt.Sprintf("an oscillation of %.1f%% from trough to peak every %s values", change, unit.Digits(m.Period)))
		case m.At > 0:
			words = append(words, fmt.Sprintf("a shift of %+.1f%% after %.0f%% of the time", change, 100*m.At))
		default:
			words = append(words, fmt.Sprintf("a trend of %+.1f%% from start to end", change))
		}
	}
	return strings.Join(words, "; ")
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
