package stat

import (
	"fmt"
	"math"
)

const (
	// courseLevel is the chance of a false alarm that the test over rounds may have.
	courseLevel = 0.01
	// roughly is by how much larger than a change that repeats in every round a change
	// in a single round must be: one round alone is correlated noise for the most part.
	roughly = 4
)

// Course judges whether an arm was in a steady state, from the values (throughput,
// say) of its blocks in the order of time, one slice per round, equally spaced within
// the round. It returns no warning if so, else one with the code not_steady whose text
// says what was seen:
//
//   - a change within rounds that repeats: the Theil–Sen change from the start to the end
//     of each round, in logarithms, is tested over rounds as in Paired, at 1 %, and must
//     be at least tolerance. An unfinished warm-up or a leak begins anew with each
//     round's processes; the drift of the machine does not. This needs 8 rounds.
//   - rounds that are not steady by themselves: more than half of the rounds, and at least
//     2, each fail Steady at four times the tolerance.
//
// Rounds of fewer than 4 blocks count for neither, and those of fewer than 10 not for the
// second; so do those with values that are not positive and finite.
func Course(rounds [][]float64, tolerance float64) []Warning {
	if w, found := repeatedChange(rounds, tolerance); found {
		return []Warning{w}
	}
	unsteady, judged, first := 0, 0, ""
	for _, values := range rounds {
		ws := Steady(values, roughly*tolerance)
		if len(ws) > 0 && ws[0].Code == "steadiness_unknown" {
			continue
		}
		judged++
		if len(ws) > 0 {
			unsteady++
			first = ws[0].Text
		}
	}
	if unsteady < 2 || 2*unsteady <= judged {
		return nil
	}
	return []Warning{{"not_steady", fmt.Sprintf("%d of %d rounds were not steady; the last of them: %s", unsteady, judged, first)}}
}

func repeatedChange(rounds [][]float64, tolerance float64) (Warning, bool) {
	var changes []float64
	for _, values := range rounds {
		if logs := logarithms(values); len(logs) >= 4 {
			changes = append(changes, theilSen(logs))
		}
	}
	effect, err := Paired(changes, 1-courseLevel)
	if err != nil || !effect.Bounded() || effect.P > courseLevel || math.Abs(math.Log(effect.Ratio)) < math.Log1p(tolerance) {
		return Warning{}, false
	}
	return Warning{"not_steady", fmt.Sprintf(
		"no steady state: from start to end of a round the values change by %+.1f %%, over and over in %d rounds",
		100*(effect.Ratio-1), len(changes))}, true
}

// logarithms is nil when a value has none.
func logarithms(values []float64) []float64 {
	logs := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 1) {
			return nil
		}
		logs[i] = math.Log(v)
	}
	return logs
}
