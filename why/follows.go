package why

import (
	"cmp"
	"slices"

	"contend/why/symbol/work"
)

// follows are kinds of work that others make elsewhere: what allocates makes the collector work, and who waits for
// locks and channels has goroutines or threads scheduled.
var follows = map[string][]work.Kind{
	string(work.Collection): {work.Allocation},
	string(work.Scheduling): {work.Locks, work.Channels},
}

// A Consequence is a row of work that is mostly due to a root.
type Consequence struct {
	Row
	// Of is the kind of work that it follows, and Share how much of the difference in that is under the root, 0 to 1.
	Of    work.Kind
	Share float64
}

// Trace sets the Roots, with own calls (OwnCallsOf) and all calls (CallsOf) of both arms, after profiles of the
// candidate got other names (As), which all rows get back. Functions that have moved are none by a small difference, and those of
// the same code are not if a caller has changed.
func (e *Explanation) Trace(own, all []Call, baseline, candidate int, renamed map[string]string, program Program) {
	fresh := map[string]string{}
	for _, c := range own {
		if former, ok := renamed[c.Function]; ok {
			fresh[former] = c.Function
		}
	}
	own = rename(own, baseline, candidate, renamed)
	isNoRoot := func(r Row) bool { return !program.explains(r, e.CPU.BaselineValue) }
	e.Roots = Roots(slices.DeleteFunc(slices.Clone(e.Own), isNoRoot), own, baseline, candidate, program.Changed)
	if len(e.Roots) == 0 {
		e.Roots = slices.DeleteFunc(newTree(own, baseline, candidate).calling(e.Functions), func(r Root) bool { return isNoRoot(r.Row) })
	}
	if e.CPU.Excludes0() { // what goes the other way does not explain it
		slices.SortStableFunc(e.Roots, func(a, b Root) int { return cmp.Compare(b.Value*e.CPU.Value, 0) - cmp.Compare(a.Value*e.CPU.Value, 0) })
		if len(e.Roots) > 0 && e.Roots[0].Value*e.CPU.Value < 0 {
			e.Roots = nil
		}
	}
	for i, r := range e.Roots {
		if name, ok := fresh[r.Name]; ok {
			if e.Roots[i].Name = name; withoutFile(name) != withoutFile(r.Name) {
				e.Roots[i].Was = r.Name
			}
		}
	}
	for _, rows := range [][]Row{e.Own, e.Functions, e.Rows} {
		for i, r := range rows {
			rows[i].Name = cmp.Or(fresh[r.Name], r.Name)
		}
	}
	t := newTree(all, baseline, candidate)
	for _, row := range e.Rows {
		for _, kind := range follows[row.Name] {
			for i := range e.Roots {
				root := &e.Roots[i]
				if share := t.shareOf(kind, root.Name, row.Value > 0); share >= within && root.Value*row.Value > 0 {
					root.Then = append(root.Then, Consequence{row, kind, share})
				}
			}
		}
	}
}

// shareOf is how much of the difference in a kind of work is under a function, if there is more of it, or less.
func (t *tree) shareOf(kind work.Kind, function string, more bool) float64 {
	all, under := 0.0, 0.0
	is := func(function string) bool { return work.Of(function, "") == kind }
	for i, c := range t.calls {
		if !is(c.Function) || t.below(i, is) {
			continue
		}
		all += t.deltaAt(i)
		if t.under(i, function) {
			under += t.deltaAt(i)
		}
	}
	if all > 0 != more {
		return 0
	}
	return min(1, ratio(under, all))
}
