package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/internal/unit"
	"contend/report/chart"
	"contend/report/plain"
	"contend/why"
)

// becausePictures are what makes candidates of a part slower.
func (d *Document) becausePictures(at Place) []picture {
	var list []picture
	for _, t := range d.Trials {
		if t.Place != at || t.Why == nil {
			continue
		}
		for _, e := range t.Why.Explanations {
			if p, ok := because(e); ok {
				list = append(list, p)
			}
		}
		flames := min(len(t.Arms)-1, mostFlames)
		if d.isLab() {
			flames = 1
		}
		for candidate := 1; candidate <= flames; candidate++ {
			if p, ok := flame(t.Why.Calls, t.Arms, candidate, mostBoxes/min(len(t.Arms)-1, mostFlames)); ok {
				list = append(list, p)
			}
		}
	}
	return list
}

// mostWork are the rows of a picture of work.
const mostWork = 10

func because(e why.Explanation) (picture, bool) {
	rows := chart.Rows{X: chart.Axis{Label: "CPU time per op, difference", Format: tickTime, Zero: true},
		Mark: []chart.Mark{{AlongX: true}}, Alt: strings.Join(whySentences(e), " ")}
	times := workTimes(e)
	for _, r := range e.Rows[:min(mostWork, len(e.Rows))] {
		row := chart.Row{Name: plain.Line(r.Name), Value: r.Value, Low: r.Low, High: r.High, Text: times.Signed(r.Value), Note: mostlyIn(r), Colour: 1}
		if r.Value < 0 {
			row.Colour = 2
		}
		rows.Rows = append(rows.Rows, row)
	}
	if len(rows.Rows) == 0 {
		return picture{}, false
	}
	return picture{title: fmt.Sprintf("Why %s differs from %s", plain.Line(e.Candidate), plain.Line(e.Baseline)), svg: rows.SVG(), table: whyTable(e, "work", e.Rows),
		how: strings.Join(whySentences(e), " ")}, true
}

const (
	// mostFlames bounds those of a part; a part of a lab has one: each has about 40 kB.
	mostFlames = 2
	// deepest is the depth of the last box of a flame graph, and longestCall bounds the name of a
	// function.
	deepest     = 60
	longestCall = 100
	// mostBoxes are those of all flame graphs of a part.
	mostBoxes = 260
	// mostCalledRows are the rows of its table.
	mostCalledRows = 30
)

// flame has the calls in which a candidate spends most CPU time, next to the baseline, the
// first arm.
func flame(calls []why.Call, arms []string, candidate, most int) (picture, bool) {
	if len(calls) < 2 || calls[0].PerOp[candidate] <= 0 {
		return picture{}, false
	}
	more := func(c why.Call) float64 { return c.PerOp[candidate] - c.PerOp[0] }
	whole, greatest := calls[0].PerOp[candidate], 0.0
	for _, c := range calls {
		greatest = max(greatest, math.Abs(more(c)))
	}
	baseline, name := plain.Line(arms[0]), plain.Line(arms[candidate])
	said := func(c why.Call) string {
		return fmt.Sprintf("%s %s, %s %s: %s", name, unit.Duration(c.PerOp[candidate]), baseline, unit.Duration(c.PerOp[0]), signed(more(c)))
	}
	picked := chart.Flame{Alt: "CPU time per op by call path: " + said(calls[0])}
	least := leastOf(calls, candidate, most)
	for i, begin := range why.Begins(calls, candidate) {
		if c := calls[i]; c.Depth <= deepest && c.PerOp[candidate] > least {
			picked.Boxes = append(picked.Boxes, chart.Box{Name: shortName(c.Function), Note: plain.Clip(plain.Line(c.Function), longestCall) + ": " + said(c), Depth: c.Depth,
				From: begin / whole, Wide: c.PerOp[candidate] / whole, More: more(c) / max(greatest, math.SmallestNonzeroFloat64)})
		}
	}
	rows := table{columns: []string{"function with all that it called", baseline, name, "difference"}}
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b why.Call) int { return cmp.Compare(math.Abs(more(b)), math.Abs(more(a))) })
	for _, c := range calls[:min(len(calls), mostCalledRows)] {
		rows.rows = append(rows.rows, []string{shortName(c.Function), unit.Duration(c.PerOp[0]), unit.Duration(c.PerOp[candidate]), signed(more(c))})
	}
	return picture{title: fmt.Sprintf("Where %s spends CPU time", name), svg: picked.SVG(), table: rows, wide: true,
		how: fmt.Sprintf("A box is a function with all that it called, below what called it, as wide as its CPU time per op. Orange: more than %s, blue: less. The table has the greatest differences.", baseline)}, true
}

// leastOf is a time that no more than most calls exceed.
func leastOf(calls []why.Call, arm, most int) float64 {
	var times []float64
	for _, c := range calls {
		times = append(times, c.PerOp[arm])
	}
	slices.Sort(times)
	least := why.LeastCall * times[len(times)-1]
	if more := len(times) - most; more > 0 {
		least = max(least, times[more-1])
	}
	return least
}
