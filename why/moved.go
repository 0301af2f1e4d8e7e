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

// recompiled is the share of the CPU time by which functions of a Node script may differ that were not edited: two did by 0.9% and 2%
// (bench/README.md). A convention.
const recompiled = 0.05

// A Program is what the machine code of arms shows, of scripts their source, of the functions that were sampled in all of them.
type Program struct {
	// Moved are those whose code is the same, at different places: in a function that an arm does not change a difference of
	// up to layout is one of place.
	Moved []string `json:"moved,omitempty"`
	// Changed are those whose code is another.
	Changed []string `json:"changed,omitempty"`
	// Recompiled are those of scripts whose source is the same where that of others has changed: each process compiles them anew, and
	// inlines others in them or not, which can make a difference of up to recompiled of the CPU time.
	Recompiled []string `json:"recompiled,omitempty"`
}

// ProgramOf compares the code of arms, which are given by their stacks at each level.
func ProgramOf(arms [][]Stacks) (p Program) {
	codes, compiled := make([]map[string][]symbol.Code, len(arms)), map[string]bool{}
	for arm, levels := range arms {
		codes[arm] = map[string][]symbol.Code{}
		for _, s := range levels {
			for _, stack := range s.List {
				for _, f := range stack.Frames {
					name := f.String()
					compiled[name] = f.Package == symbol.Compiled
					if !slices.Contains(codes[arm][name], f.Code) {
						codes[arm][name] = append(codes[arm][name], f.Code)
					}
				}
			}
		}
	}
	for name, first := range codes[0] {
		places := slices.Clone(first)
		same, known := true, isKnown(first)
		for _, other := range codes[1:] {
			same, known = same && (sameCode(first, other[name]) || sameCode(other[name], first)), known && isKnown(other[name])
			places = append(places, other[name]...)
		}
		switch {
		case !known:
		case !same:
			p.Changed = append(p.Changed, name)
		case slices.ContainsFunc(places, func(c symbol.Code) bool { return !slices.Contains(first, c) }):
			p.Moved = append(p.Moved, name)
		}
	}
	isCompiled := func(name string) bool { return compiled[name] }
	if slices.ContainsFunc(p.Changed, isCompiled) { // else they are the same scripts with other settings
		p.Recompiled = slices.DeleteFunc(slices.Clone(p.Moved), func(name string) bool { return !isCompiled(name) })
	}
	p.Moved = slices.DeleteFunc(p.Moved, isCompiled)
	slices.Sort(p.Recompiled)
	slices.Sort(p.Moved)
	slices.Sort(p.Changed)
	return p
}

// isKnown reports whether there is code, and all of it was read.
func isKnown(codes []symbol.Code) bool {
	return len(codes) > 0 && !slices.ContainsFunc(codes, func(c symbol.Code) bool { return c.Digest == 0 })
}

// sameCode reports whether all code of one arm is some of the other's.
func sameCode(some, all []symbol.Code) bool {
	return len(some) > 0 && !slices.ContainsFunc(some, func(c symbol.Code) bool {
		return c.Digest == 0 || !slices.ContainsFunc(all, func(other symbol.Code) bool { return other.Digest == c.Digest })
	})
}

// explains reports whether a difference of a function is more than its place can make, or what a runtime makes of it, of the baseline's CPU
// time.
func (p Program) explains(r Row, cpu float64) bool {
	if slices.Contains(p.Recompiled, r.Name) && math.Abs(r.Value) < recompiled*cpu {
		return false
	}
	return !slices.Contains(p.Moved, r.Name) || math.Abs(r.Value) >= layout*math.Min(r.BaselineValue, r.CandidateValue)
}
