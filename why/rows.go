package why

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"contend/stat"
)

// rows compares what of reads from each profile, where it is enough of the whole to be looked
// at; as many rows as the rounds can tell apart together, the largest first.
func rows(pairs []pair, of func(Profile) map[string]float64, all func(Profile) float64, confidence float64) []Row {
	t := timesOf(pairs, of, all)
	names := slices.SortedFunc(maps.Keys(t.sums), func(a, b string) int { return cmp.Or(cmp.Compare(t.share(b), t.share(a)), cmp.Compare(a, b)) })
	names = slices.DeleteFunc(names, func(name string) bool { return t.share(name) < rowShare })
	// The least p-value that n rounds can show is 2/2ⁿ. More rows than this would each have a smaller share of the level.
	most := int(math.Ldexp(1-confidence, len(pairs)-1))
	names = names[:min(len(names), max(1, most))]
	level := (1 - confidence) / float64(max(1, len(names)))
	list := make([]Row, len(names))
	for n, name := range names {
		differences, before := make([]float64, len(pairs)), make([]float64, len(pairs))
		for i := range pairs {
			before[i] = t.of[i][0][name]
			differences[i] = t.of[i][1][name] - before[i]
		}
		list[n] = rowOf(name, before, differences, 1-level)
	}
	return list
}

// rowOf compares figures of the baseline with the differences of the candidate from them.
func rowOf(name string, before, differences []float64, confidence float64) Row {
	shift, err := stat.Differences(differences, confidence)
	if err != nil {
		return Row{Name: name} // too many rounds: nothing is claimed
	}
	before = slices.Sorted(slices.Values(before))
	base := before[len(before)/2]/2 + before[(len(before)-1)/2]/2
	return Row{Name: name, BaselineValue: base, CandidateValue: base + shift.Value, Shift: shift}
}

func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// differing returns the rows whose intervals exclude 0, the greatest difference first.
func differing(all []Row) []Row {
	all = slices.DeleteFunc(all, func(r Row) bool { return !r.Excludes0() })
	slices.SortStableFunc(all, func(a, b Row) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
	return all
}

// describe adds the functions that a kind of work differs by: those whose time moved in the direction of the row's.
func (r *Row) describe(pairs []pair) {
	grown := map[string]float64{}
	for _, p := range pairs {
		for side, sign := range []float64{-1, 1} {
			for _, w := range p[side].Work {
				if w.Kind != "" && w.Kind == r.Name {
					grown[w.Function] += math.Copysign(1, sign*r.Value) * p[side].perOp(w.Time)
				}
			}
		}
	}
	r.Functions = mostGrown(grown)
}
