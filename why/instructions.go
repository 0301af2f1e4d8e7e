package why

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
)

// matters is the least share of all instructions by which a function is named. It is the margin of counted comparisons.
const matters = 0.0005

// Instructions are what the baseline and another arm execute for an operation, which a simulator counted function by function.
// They are exact, whatever else the machine does, and say nothing about time.
type Instructions struct {
	Arm  string `json:"arm"`
	Tool string `json:"tool"` // as in valgrind-3.19.0
	// Baseline and Candidate are all of them, per operation.
	Baseline  float64 `json:"baseline_instructions_per_op"`
	Candidate float64 `json:"candidate_instructions_per_op"`
	// Same is true if what does the same for each operation differs by less than matters.
	Same bool `json:"same,omitempty"`
	// Differ are the functions that clearly differ.
	Differ []Executed `json:"functions,omitempty"`
}

// Executed is what a function executes for an operation of the baseline, and of the candidate, without what it calls.
type Executed struct {
	Function  string  `json:"function"`
	Of        Origin  `json:"of,omitempty"`
	Baseline  float64 `json:"baseline_instructions_per_op"`
	Candidate float64 `json:"candidate_instructions_per_op"`
}

func (f Executed) delta() float64 { return f.Candidate - f.Baseline }

// onlyOne reports whether one of both does not execute it.
func (f Executed) onlyOne() bool { return f.Baseline == 0 || f.Candidate == 0 }

// Trace says of each function where it is from: as stacks of the arms have it, with own as in NewProfile, or of Go the others of its
// package.
func (in *Instructions) Trace(arms [][]Stacks, own *regexp.Regexp) {
	of, packages := map[string]Origin{}, map[string]Origin{}
	for _, levels := range arms {
		for _, s := range levels {
			for _, stack := range s.List {
				for _, f := range stack.Frames {
					if _, known := of[f.String()]; known {
						continue
					}
					origin := originOf(f, own)
					if of[f.String()] = origin; origin != "" && f.File != "" {
						packages[f.Package] = origin
					}
				}
			}
		}
	}
	for i, f := range in.Differ {
		origin, sampled := of[f.Function]
		if !sampled {
			origin = packages[goPackage(f.Function)]
		}
		in.Differ[i].Of = origin
	}
}

// goPackage is the package of a function of Go: up to the first dot after the last slash.
func goPackage(function string) string {
	name := strings.LastIndexByte(function, '/') + 1
	return function[:name+max(0, strings.IndexByte(function[name:], '.'))]
}

// roots are the program's own functions that explain the counts, with own calls and all calls (OwnCallsOf, CallsOf) of both sides:
// each with what libraries execute that it calls. Of a function whose code has not changed it is the nearest caller whose code has.
// The greatest difference is first.
func (in Instructions) roots(own, all *tree, changed []string) (roots []Root) {
	isChanged := func(function string) bool { return slices.Contains(changed, function) }
	libraries := map[string]float64{}
	for _, f := range withoutInlined(in.Differ) {
		if f.Of != Own {
			libraries[f.Function] = f.delta()
			continue
		}
		name := f.Function
		if !isChanged(name) && !f.onlyOne() {
			name = cmp.Or(own.caller(name, isChanged), name)
		}
		at := slices.IndexFunc(roots, func(r Root) bool { return r.Name == name })
		if at < 0 {
			at = len(roots)
			roots = append(roots, Root{Row: Row{Name: name}, Only: name == f.Function && f.onlyOne()})
		}
		roots[at].Instructions += f.delta()
	}
	isRoot := func(function string) bool {
		return slices.ContainsFunc(roots, func(r Root) bool { return r.Name == function })
	}
	called := map[string]map[string]float64{}
	for name, delta := range libraries {
		by := ""
		if len(roots) == 1 {
			by = roots[0].Name
		} else {
			by = all.caller(name, isRoot)
		}
		if called[by] == nil {
			called[by] = map[string]float64{}
		}
		called[by][name] = delta
	}
	for i := range roots {
		r := &roots[i]
		for _, delta := range called[r.Name] {
			r.Instructions += delta
		}
		grown := map[string]float64{}
		for name, delta := range called[r.Name] {
			grown[name] = delta * math.Copysign(1, r.Instructions)
		}
		for _, name := range mostGrown(grown) {
			if len(r.Mostly) < shownCallees && grown[name] >= leastCallee*math.Abs(r.Instructions) {
				r.Mostly = append(r.Mostly, name)
			}
		}
	}
	roots = slices.DeleteFunc(roots, func(r Root) bool { return math.Abs(r.Instructions) < matters*in.Baseline })
	slices.SortStableFunc(roots, func(a, b Root) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Instructions), math.Abs(a.Instructions)), cmp.Compare(a.Name, b.Name))
	})
	return roots
}

// withoutInlined puts a function that one side alone executes together with what its caller has lost, or gained, for it: there it is
// inlined.
func withoutInlined(differ []Executed) []Executed {
	list := slices.Clone(differ)
	for i := range list {
		f := &list[i]
		if f.Of != Own || !f.onlyOne() {
			continue
		}
		for j := range list {
			o := &list[j]
			if o.Of == Own && !o.onlyOne() && f.delta()*o.delta() < 0 && math.Abs(o.delta()) >= within*math.Abs(f.delta()) {
				f.Baseline, f.Candidate = f.Baseline+o.Baseline, f.Candidate+o.Candidate
				o.Baseline, o.Candidate = 0, 0
				break
			}
		}
	}
	return slices.DeleteFunc(list, func(f Executed) bool { return f.delta() == 0 })
}

// caller is the nearest function above one that is so, where most of its time is; "": none is.
func (t *tree) caller(function string, is func(string) bool) string {
	spent := t.nearestCallers(function, is, func(call int) float64 { return t.ns(call, 0) + t.ns(call, 1) })
	if most := mostGrown(spent); len(most) > 0 {
		return most[0]
	}
	return ""
}

// Count names as roots the functions that explain what was counted, in place of those whose time alone differs, with own and all
// calls (OwnCallsOf, CallsOf) of the arms. Without counts of the candidate, or if these differ in libraries alone, it names none.
func (e *Explanation) Count(counted []Instructions, own, all []Call, baseline, candidate int, changed []string) {
	at := slices.IndexFunc(counted, func(in Instructions) bool { return in.Arm == e.Candidate })
	if at < 0 {
		return
	}
	e.Counted = &counted[at]
	roots := e.Counted.roots(newTree(own, baseline, candidate), newTree(all, baseline, candidate), changed)
	if len(roots) == 0 && !e.Counted.Same {
		return
	}
	for i, r := range roots {
		if at := slices.IndexFunc(e.Roots, func(timed Root) bool { return timed.Name == r.Name && timed.Callee == "" }); at >= 0 {
			roots[i] = e.Roots[at]
			roots[i].Instructions = r.Instructions
		}
	}
	e.Roots = roots
}
