package report

import (
	"cmp"
	"fmt"
	"strings"
)

// gutter stands between the columns of a table, and mostOfWord is how wide one for a name
// or a verdict may be.
const (
	gutter     = "  "
	mostOfWord = 24
)

// labelWidth is how wide the labels of a block are, and mostFailed how many failed expectations it has.
const (
	labelWidth = 13
	mostFailed = 3
)

// labBlock has the question of one of several experiments, how far it is answered, what was published and
// measured, and what follows.
func (d *Document) labBlock(e Experiment, r reply, most int) []string {
	status := ""
	switch n := len(r.broken); {
	case r.standing != answered:
		status = r.why()
	case n > 0:
		status = "FAIL, " + plural(n, "expectation")
	}
	lines := labelled(e.ID, cmp.Or(e.Question, e.Title), most)
	if room := most - width(lines[0]) - width(status); status != "" && len(lines) == 1 && room >= len(gutter) {
		lines[0] += strings.Repeat(" ", room) + status
	} else if status != "" {
		lines = append(lines, labelled(gutter+"status", status, most)...)
	}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, labelled(gutter+label, text, most)...)
		}
	}
	add("published", e.Answer.published())
	add("here", r.said(e, len(r.answer)))
	for _, text := range r.broken[:min(len(r.broken), mostFailed)] {
		add("FAIL", text)
	}
	if more := len(r.broken) - mostFailed; more > 0 {
		add("FAIL", fmt.Sprintf("%d more: add --full", more))
	}
	add("so", strings.TrimSuffix(r.means(), "."))
	return lines
}

// labelled sets a text beside its label, on at most mostOfRow lines.
func labelled(label, text string, most int) []string {
	wide := max(labelWidth, width(label)+len(gutter))
	lines := row([]string{"", text}, []int{wide - len(gutter), max(1, most-wide)}, mostOfRow)
	lines[0] = label + lines[0][min(len(label), len(lines[0])):]
	return lines
}

// row sets texts side by side, each broken to the width of its column, on at most so many
// lines.
func row(cells []string, widths []int, most int) []string {
	columns := make([][]string, len(cells))
	height := 0
	for i, cell := range cells {
		columns[i] = broken(clean(cell), widths[i], "")
		if len(columns[i]) > most {
			columns[i] = columns[i][:most]
			columns[i][most-1] = clip(columns[i][most-1]+"…", widths[i])
		}
		height = max(height, len(columns[i]))
	}
	lines := make([]string, height)
	for n := range lines {
		for i, column := range columns {
			text := ""
			if n < len(column) {
				text = column[n]
			}
			if i > 0 {
				lines[n] += gutter
			}
			lines[n] += text + strings.Repeat(" ", max(0, widths[i]-width(text)))
		}
		lines[n] = strings.TrimRight(lines[n], " ")
	}
	return lines
}
