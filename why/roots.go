package why

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

const (
	// within is the share of a function's difference that own functions it calls must have for these to be its root.
	within = 0.6
	// elsewhereToo is the share of a function's time that other callers must have to say that it does not differ there.
	elsewhereToo = 0.2
	// shownCallees is how many functions say what most of a root's difference is.
	shownCallees = 2
	// leastCallee is the share of a root's difference from which a function that it calls says what it is.
	leastCallee = 0.25
)

// A Root is one of the fewest functions that together, with all that they call, explain a difference in CPU time.
type Root struct {
	Row // in ns of CPU time per operation, callees included; of a Level of 0: its time is not known to differ
	// Instructions are by how many more an operation of the candidate executes in it and what it calls; 0: not counted.
	Instructions float64
	// Only is true for a function that one side does not call.
	Only bool
	// Callee is a function that it calls, if the figures are those of this one; "": they are its own.
	Callee string
	// Was is its name in the baseline; "": the same.
	Was string
	// Callers are the program's own functions that call it, the outermost first.
	Callers []string
	// Mostly are the functions of libraries that it calls, in which most of its difference is; none: in itself.
	Mostly []string
	// Then is work elsewhere that follows from it.
	Then []Consequence
}

// What names it, and its Callee.
func (r Root) What() string {
	if r.Callee != "" {
		return ShortName(r.Callee) + " called by " + ShortName(r.Name)
	}
	return ShortName(r.Name)
}

// Where says in which of two variants alone it is called, if it is, and what most of its difference is in, as in ", not seen in
// A; most of it fmt.Fprintln"; "": neither is known.
func (r Root) Where(baseline, candidate string) (text string) {
	switch {
	case r.Was != "":
		text = ", " + ShortName(r.Was) + " in " + baseline
	case r.Only && r.Value > 0:
		text = ", not seen in " + baseline
	case r.Only:
		text = ", not seen in " + candidate
	}
	if len(r.Mostly) > 0 {
		names := make([]string, len(r.Mostly))
		for i, name := range r.Mostly {
			names[i] = ShortName(name)
		}
		text += "; most of it " + strings.Join(names, " and ")
	}
	return text
}

// IsRoot reports whether a function is one of the roots.
func (e Explanation) IsRoot(function string) bool {
	return slices.ContainsFunc(e.Roots, func(r Root) bool { return r.Name == function })
}

// Roots finds them among the program's own functions that clearly differ, with own calls (OwnCallsOf) of both arms: the
// deepest under which a difference stays together, or their caller if it is only that one under which they differ, or if its
// machine code has changed and theirs has not. The greatest difference is first.
func Roots(differ []Row, calls []Call, baseline, candidate int, changed []string) []Root {
	t := newTree(calls, baseline, candidate)
	rows := map[string]Row{}
	for _, r := range differ {
		rows[r.Name] = r
	}
	var roots []Root
	for _, r := range differ {
		below := 0.0
		for _, delta := range t.nearest(r.Name, rows) {
			if delta*r.Value > 0 {
				below += delta
			}
		}
		if math.Abs(below) < within*math.Abs(t.delta(r.Name)) || len(t.at[r.Name]) == 0 {
			roots = append(roots, Root{Row: r})
		}
	}
	all := slices.Clone(roots)
	roots = slices.DeleteFunc(roots, func(r Root) bool { // part of another, if neither calls the other in turn
		return slices.ContainsFunc(all, func(other Root) bool {
			return other.Name != r.Name && t.mostlyUnder(r.Name, other.Name) && !t.mostlyUnder(other.Name, r.Name)
		})
	})
	for i := range roots {
		t.tell(&roots[i], rows)
		t.blame(&roots[i], rows, changed)
	}
	roots = slices.DeleteFunc(roots, func(r Root) bool { return r.Only && t.onlyMoved(r.Name) })
	slices.SortStableFunc(roots, func(a, b Root) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
	named := map[string]bool{}
	return slices.DeleteFunc(roots, func(r Root) bool { // two that one caller calls more often
		again := named[r.What()]
		named[r.What()] = true
		return again
	})
}

// blame makes the caller the root whose machine code has changed, of a function whose code has not, and which is called on
// both sides: the nearest such caller, if most of the difference is under it.
func (t *tree) blame(r *Root, rows map[string]Row, changed []string) {
	if r.Only || slices.Contains(changed, r.Name) {
		return
	}
	under := t.nearestCallers(r.Name, func(function string) bool { return slices.Contains(changed, function) }, t.deltaAt)
	for _, name := range slices.Sorted(maps.Keys(under)) {
		if under[name]/t.delta(r.Name) < within {
			continue
		}
		callee := *r
		if *r = (Root{Row: callee.Row, Callee: callee.Name}); rows[name].Name != "" {
			*r = Root{Row: rows[name], Mostly: []string{callee.Name}}
		}
		r.Name = name
		r.Callers = callee.Callers[:max(0, slices.Index(callee.Callers, name))]
		return
	}
}

// nearestCallers are the nearest functions above one that are so, each with what the calls of it below are worth.
func (t *tree) nearestCallers(function string, are func(string) bool, worth func(call int) float64) map[string]float64 {
	under := map[string]float64{}
	for _, i := range t.at[function] {
		up := t.up[i]
		for up > 0 && !are(t.calls[up].Function) {
			up = t.up[up]
		}
		if up > 0 {
			under[t.calls[up].Function] += worth(i)
		}
	}
	return under
}

// A tree is the calls by function.
type tree struct {
	calls []Call
	sides [2]int           // baseline and candidate, in PerOp
	up    []int            // the caller of each call; -1: none
	at    map[string][]int // the outermost calls of a function
}

func newTree(calls []Call, baseline, candidate int) *tree {
	t := &tree{calls: calls, sides: [2]int{baseline, candidate}, at: map[string][]int{}}
	var path []int
	for i, c := range calls {
		path = append(path[:min(c.Depth, len(path))], i)
		up := -1
		if c.Depth > 0 && len(path) > 1 {
			up = path[len(path)-2]
		}
		t.up = append(t.up, up)
		if !slices.ContainsFunc(path[:len(path)-1], func(above int) bool { return calls[above].Function == c.Function }) {
			t.at[c.Function] = append(t.at[c.Function], i)
		}
	}
	return t
}

// ns is the CPU time of a call per operation, of a side.
func (t *tree) ns(call, side int) float64 { return t.calls[call].PerOp[t.sides[side]] }

func (t *tree) deltaAt(call int) float64 { return t.ns(call, 1) - t.ns(call, 0) }

func (t *tree) delta(function string) float64 { return t.sum(function, 1) - t.sum(function, 0) }

func (t *tree) sum(function string, side int) (sum float64) {
	for _, i := range t.at[function] {
		sum += t.ns(i, side)
	}
	return sum
}

// under reports whether a call is somewhere below calls of a function.
func (t *tree) under(call int, function string) bool {
	return t.below(call, func(above string) bool { return above == function })
}

// below reports whether a call is somewhere below those of functions that are so.
func (t *tree) below(call int, is func(function string) bool) bool {
	for up := t.up[call]; up >= 0; up = t.up[up] {
		if is(t.calls[up].Function) {
			return true
		}
	}
	return false
}

// nearest are the differences, under a function, of those of the rows that it reaches first.
func (t *tree) nearest(function string, rows map[string]Row) map[string]float64 {
	found := map[string]float64{}
	for i, c := range t.calls {
		if _, ok := rows[c.Function]; !ok || c.Function == function {
			continue
		}
		for up := t.up[i]; up >= 0; up = t.up[up] {
			if t.calls[up].Function == function {
				found[c.Function] += t.deltaAt(i)
				break
			}
			if _, between := rows[t.calls[up].Function]; between {
				break
			}
		}
	}
	return found
}

// mostlyUnder reports whether most of a function's difference is under another.
func (t *tree) mostlyUnder(function, other string) bool {
	below := 0.0
	for _, i := range t.at[function] {
		if t.under(i, other) {
			below += t.deltaAt(i)
		}
	}
	return math.Abs(below) > within*math.Abs(t.delta(function)) && below != 0
}

// tell adds who calls a root and what it calls. One that differs under one caller alone, and has others, is called more
// by that one, which then is the root.
func (t *tree) tell(r *Root, rows map[string]Row) {
	if caller, ok := rows[t.more(r.Name)]; ok {
		r.Row = caller
	}
	r.Only = len(t.at[r.Name]) > 0 && (t.sum(r.Name, 0) == 0 || t.sum(r.Name, 1) == 0)
	most, at := 0.0, -1
	for _, i := range t.at[r.Name] {
		if d := math.Abs(t.deltaAt(i)); d >= most {
			most, at = d, i
		}
	}
	if at < 0 {
		return
	}
	for up := t.up[at]; up > 0; up = t.up[up] {
		r.Callers = append(r.Callers, t.calls[up].Function)
	}
	slices.Reverse(r.Callers)
	grown := map[string]float64{}
	for i, c := range t.calls {
		if t.under(i, r.Name) && t.leaf(i) && c.Function != r.Name {
			grown[c.Function] += t.deltaAt(i) * math.Copysign(1, r.Value)
		}
	}
	for _, name := range mostGrown(grown) {
		if len(r.Mostly) < shownCallees && grown[name] >= leastCallee*math.Abs(t.delta(r.Name)) {
			r.Mostly = append(r.Mostly, name)
		}
	}
}

// calling are own functions that call one of a library which clearly differs, mostly from there; of each that with the
// greatest difference.
func (t *tree) calling(differ []Row) (roots []Root) {
	for _, r := range differ {
		callers := map[string]float64{}
		for _, i := range t.at[r.Name] {
			if t.leaf(i) && t.up[i] > 0 {
				callers[t.calls[t.up[i]].Function] += t.deltaAt(i)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(callers)) {
			if callers[name]/r.Value >= within && !slices.ContainsFunc(roots, func(r Root) bool { return r.Name == name }) {
				root := Root{Row: r, Callee: r.Name}
				root.Name = name
				t.tell(&root, nil)
				root.Mostly = nil
				roots = append(roots, root)
			}
		}
	}
	return roots
}

// onlyMoved reports whether its callers have lost by themselves what a function has that one side alone calls: it is
// inlined in the other.
func (t *tree) onlyMoved(function string) bool {
	lost, seen := 0.0, map[int]bool{}
	for _, i := range t.at[function] {
		if up := t.up[i]; up > 0 && !seen[up] {
			seen[up] = true
			lost -= t.deltaAt(up)
			for call, above := range t.up {
				if above == up {
					lost += t.deltaAt(call)
				}
			}
		}
	}
	return lost/t.delta(function) >= within
}

// leaf reports whether a call is one of a library, which has none below it.
func (t *tree) leaf(call int) bool {
	return call+1 == len(t.calls) || t.calls[call+1].Depth <= t.calls[call].Depth
}

// more returns the caller under which alone a function differs, if it has others under which it does not; "": none.
func (t *tree) more(function string) string {
	type part struct{ base, delta float64 }
	parts, all := map[string]*part{}, part{}
	for _, i := range t.at[function] {
		name := ""
		if t.up[i] > 0 {
			name = t.calls[t.up[i]].Function
		}
		if parts[name] == nil {
			parts[name] = new(part)
		}
		parts[name].base += t.ns(i, 0)
		parts[name].delta += t.deltaAt(i)
		all.base += t.ns(i, 0)
		all.delta += t.deltaAt(i)
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		p := parts[name]
		others := part{all.base - p.base, all.delta - p.delta}
		if name != "" && p.delta*all.delta > 0 && others.base >= elsewhereToo*all.base && others.base > 0 &&
			math.Abs(others.delta/others.base) < leastCallee*math.Abs(all.delta/all.base) {
			return name
		}
	}
	return ""
}

// mostGrown are up to three names that have grown, the one that has most first.
func mostGrown(grown map[string]float64) []string {
	var most []string
	names := slices.SortedFunc(maps.Keys(grown), func(a, b string) int { return cmp.Or(cmp.Compare(grown[b], grown[a]), cmp.Compare(a, b)) })
	for _, name := range names[:min(len(names), shownFunctions)] {
		if name != "" && grown[name] > 0 {
			most = append(most, name)
		}
	}
	return most
}
