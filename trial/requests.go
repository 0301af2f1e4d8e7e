package trial

import (
	"maps"
	"math"
	"slices"

	"contend/load"
	"contend/stat"
)

// A RequestEffect compares one named request of the candidate with that of the baseline: the
// ratio of their mean service times, round by round. It says where a difference is, and decides
// nothing.
type RequestEffect struct {
	Name string `json:"name"`
	// BaselineMean is the mean service time over all rounds; the candidate's is that times the Ratio.
	BaselineMean float64 `json:"baseline_service_mean_ns"`
	stat.Effect
}

// Differs reports whether the interval excludes that they are equal.
func (e RequestEffect) Differs() bool { return e.Bounded() && (e.Low > 1 || e.High < 1) }

// difference is how much longer the candidate's takes, in nanoseconds; below 0: shorter.
func (e RequestEffect) difference() float64 { return e.BaselineMean * (e.Ratio - 1) }

// requests compares the named requests that both arms have, at a confidence that holds for all of them
// together: first the one that takes most of the difference.
func (t *Trials) requests(base, cand Cell, candidate string, level int) []RequestEffect {
	names := namedByBoth(base, cand)
	var list []RequestEffect
	for _, name := range names {
		var logs []float64
		for round := 1; round <= t.roundsDone(); round++ {
			if log, ok := t.roundLog(candidate, level, round, meanOf(name)); ok {
				logs = append(logs, log)
			}
		}
		effect, err := stat.Paired(logs, t.confidenceAmong(len(names)))
		if err != nil {
			continue // too few rounds have it
		}
		effect.Warnings = nil // the verdict has them
		list = append(list, RequestEffect{name, float64(base.Requests[name].Service.Mean()), effect.Among(len(names))})
	}
	slices.SortStableFunc(list, func(a, b RequestEffect) int {
		return int(math.Abs(b.difference()) - math.Abs(a.difference()))
	})
	return list
}

// namedByBoth are the requests that both have answered, in the order of their names.
func namedByBoth(base, cand Cell) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(base.Requests)) {
		if base.Requests[name].Completed > 0 && cand.Requests[name] != nil && cand.Requests[name].Completed > 0 {
			names = append(names, name)
		}
	}
	return names
}

// canTell reports whether so many rounds are enough to tell all of n requests apart.
func (t *Trials) canTell(n, rounds int) bool {
	return n < 2 || stat.FewestRounds(1-t.confidenceAmong(n)) <= rounds
}

// meanOf reads the mean service time of a named request.
func meanOf(name string) func(*load.Result) (float64, bool) {
	return func(r *load.Result) (float64, bool) {
		one := r.Requests[name]
		if one == nil || one.Completed == 0 {
			return 0, false
		}
		return float64(one.Service.Mean()), true
	}
}
