package report

import (
	"fmt"
	"slices"

	"contend/internal/unit"
	"contend/metric"
	"contend/trial"
)

// published writes published figures next to ours, metric by metric. Levels
// that this profile did not run are counted, not listed.
func published(v *view, p Published, cells []trial.Cell) {
	v.head("Published next to measured: %s", p.Title)
	v.say("Theirs: %s", p.Environment)
	rows, left := p.shown(cells)
	arms := distinct(rows, func(f PublishedFigure) string { return f.Arm })
	t := table{columns: []string{"metric", "concurrency", "variant", "ours", "theirs", "ratio", "comparable"}}
	sideBySide := len(arms) == 2 && distinctKeys(rows)
	if sideBySide {
		t.columns = []string{"metric", "concurrency", arms[0] + ": ours", "theirs", "ratio", arms[1] + ": ours", "theirs", "ratio", "comparable"}
	}
	var because []string
	for _, m := range distinct(rows, func(f PublishedFigure) metric.Name { return f.Metric }) {
		of := slices.DeleteFunc(slices.Clone(rows), func(f PublishedFigure) bool { return f.Metric != m })
		answer, reason := p.comparable(m)
		if reason != "" {
			if !slices.Contains(because, reason) {
				because = append(because, reason)
			}
			answer += fmt.Sprintf(" (%d)", slices.Index(because, reason)+1)
		}
		block := oneByOne(of)
		if sideBySide {
			block = pairs(of, arms)
		}
		// The name of the metric is printed once, as the heading of its rows.
		block[0][0], block[0][len(block[0])-1] = m.Words(), answer
		t.rows = append(t.rows, block...)
	}
	v.table(t)
	if len(t.rows) > 0 {
		v.say("ratio is ours ÷ theirs; - is not measured.")
	}
	if len(because) > 0 {
		v.say("Why they may or may not be compared:")
	}
	for i, reason := range because {
		v.bullet("(%d) %s", i+1, reason)
	}
	if left > 0 {
		v.say("%d published figures are of levels that this profile does not run; --profile published runs them all.", left)
	}
}

// shown leaves out the figures of levels that were not run, when others were.
func (p Published) shown(cells []trial.Cell) (rows []PublishedFigure, left int) {
	for _, f := range p.Rows {
		if f.Ours == nil && f.Concurrency > 0 && len(cells) > 0 && !hasLevel(cells, f.Concurrency) {
			left++
			continue
		}
		rows = append(rows, f)
	}
	return rows, left
}

func hasLevel(cells []trial.Cell, n int) bool {
	return slices.ContainsFunc(cells, func(c trial.Cell) bool { return c.Concurrency == n })
}

// distinctKeys reports whether no two figures would fall on the same place of a
// table with the arms side by side.
func distinctKeys(rows []PublishedFigure) bool {
	type key struct {
		arm         string
		concurrency int
		metric      metric.Name
	}
	return len(distinct(rows, func(f PublishedFigure) key { return key{f.Arm, f.Concurrency, f.Metric} })) == len(rows)
}

// oneByOne gives each figure a row; the first and last cell are left empty.
func oneByOne(rows []PublishedFigure) [][]string {
	var list [][]string
	for _, f := range rows {
		row := append([]string{"", vus(f.Concurrency), f.Arm}, f.cells()...)
		list = append(list, append(row, ""))
	}
	return list
}

// pairs gives each level a row; the first and last cell are left empty.
func pairs(rows []PublishedFigure, arms []string) [][]string {
	var list [][]string
	for _, n := range distinct(rows, func(f PublishedFigure) int { return f.Concurrency }) {
		row := []string{"", vus(n)}
		for _, arm := range arms {
			i := slices.IndexFunc(rows, func(f PublishedFigure) bool { return f.Arm == arm && f.Concurrency == n })
			if i < 0 {
				row = append(row, "-", "-", "-")
			} else {
				row = append(row, rows[i].cells()...)
			}
		}
		list = append(list, append(row, ""))
	}
	return list
}

func vus(n int) string {
	if n == 0 {
		return "-"
	}
	return unit.Count(n)
}

// cells are ours, theirs and the ratio.
func (f PublishedFigure) cells() []string {
	ours, ratio := "-", "-"
	if f.Ours != nil {
		ours = f.Metric.Format(*f.Ours)
	}
	if f.Ratio != nil {
		ratio = unit.Digits(*f.Ratio)
	}
	return []string{ours, f.Metric.Format(f.Theirs), ratio}
}

// comparable returns the answer for a metric and the reason for it. The note
// that names the metric comes before the one that is for all.
func (p Published) comparable(m metric.Name) (answer, because string) {
	for _, name := range []metric.Name{m, ""} {
		for _, n := range p.Notes {
			if n.Metric != name {
				continue
			}
			if n.Comparable {
				return "yes", n.Because
			}
			return "no", n.Because
		}
	}
	return "yes", ""
}
