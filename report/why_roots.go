package report

import (
	"fmt"
	"strings"

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
	}
	if more := len(e.Roots) - mostRoots; more > 0 {
		t.rows = append(t.rows, []string{"", plural(more, "function") + " more: add --full"})
	}
	return t
}

// rootWords name a function, say how sure its difference is, and in what it is.
func rootWords(e why.Explanation, r why.Root, times unit.Times) string {
	text := fmt.Sprintf("in %s (%s to %s)", plain.Line(why.ShortName(r.Name)), unit.Signed(r.Low, times.Amount), times.Signed(r.High))
	switch {
	case r.Only && r.Value > 0:
		text += ", not in " + plain.Line(e.Baseline)
	case r.Only:
		text += ", not in " + plain.Line(e.Candidate)
	}
	if len(r.Mostly) > 0 {
		names := make([]string, len(r.Mostly))
		for i, name := range r.Mostly {
			names[i] = plain.Line(why.ShortName(name))
		}
		text += "; most of it " + strings.Join(names, " and ")
	}
	return text
}
