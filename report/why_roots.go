package report

import (
	"fmt"
	"slices"

	"contend/count"
	"contend/internal/unit"
	"contend/report/plain"
	"contend/trial"
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
		time := ""
		if r.Level > 0 {
			time = times.Signed(r.Value)
		}
		t.rows = append(t.rows, []string{time, rootWords(e, r, times)})
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
	text := "in " + plain.Line(r.What())
	if r.Level > 0 {
		text += fmt.Sprintf(" (%s to %s)", unit.Signed(r.Low, times.Amount), times.Signed(r.High))
	}
	return text + executes(e, r) + plain.Line(r.Where(e.Baseline, e.Candidate))
}

// executes says how many more instructions a function that explains a difference executes; "": that was not counted.
func executes(e why.Explanation, r why.Root) string {
	if e.Counted == nil || r.Instructions == 0 {
		return ""
	}
	return fmt.Sprintf(": %s instructions (%s)", signedAmount(r.Instructions), signedShare(r.Instructions/max(1, e.Counted.Baseline)))
}

// onlyCounted reports whether no time of the functions that explain a difference is known to differ, but their instructions.
func onlyCounted(e why.Explanation) bool {
	return len(e.Roots) > 0 && !slices.ContainsFunc(e.Roots, func(r why.Root) bool { return r.Level > 0 })
}

// countedSentence says what counting showed in addition to functions, or why it failed; "": it was not needed.
func countedSentence(d *trial.Diagnosis, e why.Explanation) string {
	switch {
	case e.Counted == nil && d.Uncounted != "" && len(e.Roots) == 0:
		return "Instructions were not counted: " + plain.Line(d.Uncounted)
	case e.Counted == nil:
		return ""
	case e.Counted.Same:
		return fmt.Sprintf("Both execute the same instructions per op, within ±%s, counted under %s", unit.Percent(count.Margin), plain.Line(e.Counted.Tool))
	case len(e.Roots) == 0:
		return fmt.Sprintf("Your functions execute the same instructions, others do not (counted under %s): add --full", plain.Line(e.Counted.Tool))
	}
	return fmt.Sprintf("Instructions were counted exactly under %s; they are not time", plain.Line(e.Counted.Tool))
}

// executedTable has the functions whose counted instructions differ.
func executedTable(e why.Explanation) table {
	t := table{columns: []string{"function", plain.Line(e.Baseline), plain.Line(e.Candidate), "difference"}}
	for _, f := range e.Counted.Differ {
		t.rows = append(t.rows, []string{functionName(f.Function), amount(f.Baseline), amount(f.Candidate), signedAmount(f.Candidate - f.Baseline)})
	}
	return t
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
	if e.Counted != nil && len(e.Counted.Differ) > 0 {
		v.say("Functions whose instructions per op differ, counted under %s, without what they call:", plain.Line(e.Counted.Tool))
		v.table(executedTable(e))
	}
	if t := paths(e); len(t.rows) > 0 {
		v.say("How the functions that explain it are called:")
		v.table(t)
	}
}
