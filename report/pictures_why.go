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
	"contend/trial"
	"contend/why"
)

// becausePictures are what makes candidates of a part slower.
func (d *Document) becausePictures(at Place) []picture {
	var list pictureList
	for _, t := range d.Trials {
		if t.Place != at || t.Why == nil {
			continue
		}
		for _, e := range t.Why.Explanations {
			list.add(because(e))
		}
		flames := min(len(t.Arms)-1, mostFlames)
		if d.isLab() {
			flames = 1
		}
		for candidate := 1; candidate <= flames; candidate++ {
			list.add(flame(t.Why.Calls, t.Arms, candidate, mostBoxes/min(len(t.Arms)-1, mostFlames), rootOf(t.Why, t.Arms[candidate])))
		}
	}
	return list
}

// rootOf is the function that most of a candidate's difference is in; "": none is known.
func rootOf(d *trial.Diagnosis, candidate string) string {
	for _, e := range d.Explanations {
		if e.Candidate == candidate && len(e.Roots) > 0 {
			return e.Roots[0].Name
		}
	}
	return ""
}

// mostWork are the rows of a picture of work.
const mostWork = 10

func because(e why.Explanation) (picture, bool) {
	rows := chart.Rows{X: chart.Axis{Label: "CPU time per op, difference", Format: tickTime, Zero: true},
		Mark: []chart.Mark{{AlongX: true}}, Alt: strings.Join(whySentences(e), " ")}
	times, parts := workTimes(e), e.Parts()
	for _, r := range parts[:min(mostWork, len(parts))] {
		row := chart.Row{Name: plain.Line(r.Name), Value: r.Value, Low: r.Low, High: r.High, Text: times.Signed(r.Value), Note: mostlyIn(r), Colour: 1}
		if r.Value < 0 {
			row.Colour = 2
		}
		rows.Rows = append(rows.Rows, row)
	}
	if len(rows.Rows) == 0 {
		return picture{}, false
	}
	return picture{title: fmt.Sprintf("Why %s differs from %s", plain.Line(e.Candidate), plain.Line(e.Baseline)), svg: rows.SVG(), table: whyTable(e, "work", parts),
		how: strings.Join(whySentences(e), " ")}, true
}

const (
	// mostFlames bounds those of a part; a part of a lab has one: each has about 40 kB.
	mostFlames = 2
	// deepest is the depth of the last box of a flame graph, and longestCall bounds the name of a
	// function.
	deepest     = 60
	longestCall = 100
	// mostBoxes are those of all flame graphs of a part, each of two variants.
	mostBoxes = 400
	// mostCalledRows are the rows of its table.
	mostCalledRows = 30
)

// flame has the calls in which a candidate and the baseline, the first arm, spend most CPU time, next to each other,
// opened at a function.
func flame(calls []why.Call, arms []string, candidate, most int, function string) (picture, bool) {
	if len(calls) < 2 || calls[0].PerOp[candidate] <= 0 || calls[0].PerOp[0] <= 0 {
		return picture{}, false
	}
	more := func(c why.Call) float64 { return c.PerOp[candidate] - c.PerOp[0] }
	baseline, name := plain.Line(arms[0]), plain.Line(arms[candidate])
	path := why.PathTo(calls, function, func(c why.Call) float64 { return math.Abs(more(c)) })
	svg, greatest := "", greatestOf(calls, more)
	for _, arm := range []int{0, candidate} {
		picked := chart.Flame{Alt: "CPU time per op by call path: " + plain.Line(arms[arm]) + " " + unit.Duration(calls[0].PerOp[arm])}
		least := leastOf(calls, arm, most/2)
		for i, begin := range why.Begins(calls, arm) {
			c := calls[i]
			if c.Depth > deepest || c.PerOp[arm] <= least {
				continue
			}
			if slices.Contains(path, i) {
				picked.Open = len(picked.Boxes) // the deepest is the last
			}
			said := fmt.Sprintf("%s %s, %s %s: %s", name, unit.Duration(c.PerOp[candidate]), baseline, unit.Duration(c.PerOp[0]), signed(more(c)))
			picked.Boxes = append(picked.Boxes, chart.Box{Name: shortName(c.Function), Note: plain.Clip(plain.Line(c.Function), longestCall) + ": " + said, Depth: c.Depth,
				From: begin / calls[0].PerOp[arm], Wide: c.PerOp[arm] / calls[0].PerOp[arm], More: more(c) / greatest})
		}
		svg += picked.SVG()
	}
	rows := table{columns: []string{"function with all that it called", baseline, name, "difference"}}
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b why.Call) int { return cmp.Compare(math.Abs(more(b)), math.Abs(more(a))) })
	for _, c := range calls[:min(len(calls), mostCalledRows)] {
		rows.rows = append(rows.rows, []string{shortName(c.Function), unit.Duration(c.PerOp[0]), unit.Duration(c.PerOp[candidate]), signed(more(c))})
	}
	return picture{title: fmt.Sprintf("Where %s and %s spend CPU time", baseline, name), svg: `<div class="flames">` + svg + "</div>", table: rows, wide: true,
		how: fmt.Sprintf("%s on the left, %s on the right. A box is a function with all that it called, below what called it, as wide as its CPU time per op. Orange: more in %s than in %s, blue: less. "+
			"A click enlarges, one on the topmost shows all. The table has the greatest differences.", baseline, name, name, baseline)}, true
}

// greatestOf is the greatest difference of a call, and not 0.
func greatestOf(calls []why.Call, more func(why.Call) float64) float64 {
	most := math.SmallestNonzeroFloat64
	for _, c := range calls {
		most = max(most, math.Abs(more(c)))
	}
	return most
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
