package report

import (
	"fmt"
	"slices"

	"contend/internal/unit"
	"contend/report/plain"
	"contend/why"
)

// mostRoots are the functions that explain a difference on a page.
const mostRoots = 5

// rootRows are the functions that explain a difference, with their intervals.
func rootRows(e why.Explanation) table {
	t := table{columns: []string{"", ""}}
	var all []float64
	for _, r := range e.Roots {
		all = append(all, r.Value)
	}
	times := unit.TimesUpTo(all...)
	for _, r := range e.Roots[:min(len(e.Roots), mostRoots)] {
		t.rows = append(t.rows, []string{times.Signed(r.Value), rootWords(e, r, times)})
		for _, then := range r.Then {
			t.rows = append(t.rows, []string{times.Signed(then.Value), fmt.Sprintf("then in %s: %.0f%% of the %s %s is in that function",
				then.Name, 100*then.Share, either(then.Value > 0, "extra", "saved"), then.Of)})
		}
	}
	if more := len(e.Roots) - mostRoots; more > 0 {
		t.rows = append(t.rows, []string{"", plural(more, "function") + " more: add --full"})
	}
	return t
}

// rootWords name a function, say how sure its difference is, and in what it is.
func rootWords(e why.Explanation, r why.Root, times unit.Times) string {
	return fmt.Sprintf("in %s (%s to %s)", plain.Line(r.What()), unit.Signed(r.Low, times.Amount), times.Signed(r.High)) +
		plain.Line(r.Where(e.Baseline, e.Candidate))
}

// paths are the calls that lead to the functions that explain a difference.
func paths(e why.Explanation) table {
	t := table{columns: []string{"call path"}}
	for _, r := range e.Roots {
		if len(r.Callers) == 0 {
			continue
		}
		path := ""
		for _, name := range r.Callers {
			path += shortName(name) + " → "
		}
		t.rows = append(t.rows, []string{path + shortName(r.Name)})
	}
	return t
}

// instructions is by how many counted instructions a function of a comparison differs with what it calls, as far as
// sampled stacks show it; "": none were counted, or its have not clearly changed.
func (d *Document) instructions(of Comparison, function string) string {
	sum := 0.0
	for _, c := range d.counted() {
		if c.of.Place != of.Place || c.Candidate != of.Candidate {
			continue
		}
		for _, r := range slices.Concat(c.Rows, c.Runtime) {
			if r.Name == function || slices.Contains(c.under(r), function) {
				sum += r.Value
			}
		}
	}
	if sum == 0 {
		return ""
	}
	return " (" + signedAmount(sum) + " counted instructions)"
}

// ownFunctions writes those of the program itself that differ, and how those that explain it are called.
func (v *view) ownFunctions(e why.Explanation) {
	if len(e.Own) > 0 {
		v.say("Functions of the program itself that differ, callees included, of %d that were looked at:", e.OwnLooked)
		v.table(whyTable(e, "function", e.Own))
	}
	if t := paths(e); len(t.rows) > 0 {
		v.say("How the functions that explain it are called:")
		v.table(t)
	}
}
