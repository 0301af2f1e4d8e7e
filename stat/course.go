package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"contend/finding"
)

const (
	// courseLevel is the chance of a false alarm that either test over rounds may have; that of
	// the smallest p of courseRounds rounds, 0.016, where these are all there are.
	courseLevel  = 0.01
	courseRounds = 7
	// fewestBlocks is the length of a round below which it has no slope to speak of.
	fewestBlocks = 4
	// roughly is by how much more than the tolerance a single round must move.
	roughly = 4
	// unclearly is by how much less a single round must exceed correlated noise than a
	// series that is judged alone: the number of such rounds decides.
	unclearly = 0.5
	// restless is the share of rounds that may then move without a reason. With a
	// standard deviation of 10% and neighbouring blocks correlated by 0.7, at most 25%
	// of rounds of noise do (30 blocks in a round; fewer with more or less).
	restless = 0.25
)

// Course judges whether something was in a steady state, from its values (the ratio of two throughputs, say) in the
// blocks in the order of time, one slice per round, about equally spaced within the round. It returns no warning if
// so, else one with the code not_steady whose text says what was seen:
//
//   - a change within rounds that repeats, see RepeatedChange.
//   - single rounds that are not steady: each is judged like a series by Steady, but with
//     four times the tolerance and half as much above correlated noise, and more rounds
//     fail than the quarter that strongly correlated noise would explain (binomial test
//     at 1%: 4 of 4 rounds, 6 of 8, 8 of 12).
//
// tolerance is a fraction, usually 0.05. Rounds of fewer than 4 blocks count for neither test, those of fewer than 10
// only for the first, and rounds with values that are not positive and finite for neither. Too few rounds for both
// give no warning.
func Course(rounds [][]float64, tolerance float64) []finding.Warning {
	var seen string
	if ratio, over := RepeatedChange(rounds, tolerance); over > 0 {
		seen = fmt.Sprintf("a change of %+.1f%% from the start of a round to its end, which repeats over %d rounds", 100*(ratio-1), over)
	} else if seen = restlessRounds(rounds, roughly*tolerance); seen == "" {
		return nil
	}
	return []finding.Warning{finding.NotSteady.Warning("not steady: %s", seen)}
}

// RepeatedChange returns the factor by which values change from the start to the end of rounds, and over how many of
// them; 0: it does not repeat. The Theil–Sen change of each round, in logarithms, is tested over rounds as in
// Paired, at 1%, and must be at least tolerance, a fraction. An unfinished warm-up or a leak begins anew with
// each round's processes; the drift of the machine does not. This needs 8 rounds of 4 blocks or more, or 7 that all
// agree, which is as many as end a comparison at its first look.
func RepeatedChange(rounds [][]float64, tolerance float64) (ratio float64, over int) {
	var changes []float64
	for _, values := range rounds {
		if logs := logarithms(values); len(logs) >= fewestBlocks {
			changes = append(changes, theilSen(logs))
		}
	}
	level := courseLevel
	if len(changes) == courseRounds {
		level = math.Ldexp(2, -courseRounds)
	}
	effect, err := Paired(changes, 1-level)
	if err != nil || effect.P > level || max(effect.Ratio, 1/effect.Ratio) < 1+tolerance {
		return 1, 0
	}
	return effect.Ratio, len(changes)
}

func restlessRounds(rounds [][]float64, tolerance float64) string {
	judged, moved, last := 0, 0, ""
	for _, values := range rounds {
		if whyNotJudged(values) != "" {
			continue
		}
		judged++
		if seen := movements(values, tolerance, unclearly); seen != nil {
			moved++
			last = inWords(seen)
		}
	}
	noise := distuv.Binomial{N: float64(judged), P: restless}
	if moved == 0 || noise.Survival(float64(moved-1)) > courseLevel {
		return ""
	}
	return fmt.Sprintf("%d of %d rounds changed within themselves, the last with %s", moved, judged, last)
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
