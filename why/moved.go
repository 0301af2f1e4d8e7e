package why

import (
	"math"
	"slices"

	"contend/why/symbol"
)

// layout is how much slower or faster a function may be for its place alone. Whole programs differ by up to 8% by their places
// in cache lines, pages and predictors (Mytkowicz et al. 2009, Producing wrong data without doing anything obviously wrong);
// functions of a server in C, of a few tight loops each, did by 37 to 45% (bench/README.md). A convention.
const layout = 0.5

// MovedOf are the functions whose machine code is the same in all arms, at different places: in a function that an arm does
// not change a difference of up to layout is one of place.
func MovedOf(arms [][]Stacks) []string {
	codes := make([]map[string][]symbol.Code, len(arms))
	for arm, levels := range arms {
		codes[arm] = map[string][]symbol.Code{}
		for _, s := range levels {
			for _, stack := range s.List {
				for _, f := range stack.Frames {
					if name := f.String(); !slices.Contains(codes[arm][name], f.Code) {
						codes[arm][name] = append(codes[arm][name], f.Code)
					}
				}
			}
		}
	}
	var moved []string
	for name, first := range codes[0] {
		places := slices.Clone(first)
		same := true
		for _, other := range codes[1:] {
			same = same && (sameCode(first, other[name]) || sameCode(other[name], first))
			places = append(places, other[name]...)
		}
		if same && slices.ContainsFunc(places, func(c symbol.Code) bool { return !slices.Contains(first, c) }) {
			moved = append(moved, name)
		}
	}
	slices.Sort(moved)
	return moved
}

// sameCode reports whether all code of one arm is some of the other's.
func sameCode(some, all []symbol.Code) bool {
	return len(some) > 0 && !slices.ContainsFunc(some, func(c symbol.Code) bool {
		return c.Digest == 0 || !slices.ContainsFunc(all, func(other symbol.Code) bool { return other.Digest == c.Digest })
	})
}

// unmoved are the rows without those that may differ by the place of moved functions alone.
func unmoved(differ []Row, moved []string) []Row {
	return slices.DeleteFunc(slices.Clone(differ), func(r Row) bool {
		return slices.Contains(moved, r.Name) && math.Abs(r.Value) < layout*math.Min(r.BaselineValue, r.CandidateValue)
	})
}
