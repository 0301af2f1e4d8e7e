package report

import (
	"cmp"
	"fmt"
	"strings"

	"contend/report/plain"
)

// gutter separates the columns of a table, and mostOfWord is how wide a column of names
// or verdicts may be.
const (
	gutter     = "  "
	mostOfWord = 24
)

// labelWidth is how wide the labels of a block are, and mostFailed how many failed expectations it has.
const (
	labelWidth = 13
	mostFailed = 3
)

// block has the question of one of several experiments, how far it is answered, what was published and
// measured, and what follows.
func (v *view) block(e Experiment, r reply) {
	status := ""
	switch n := len(r.broken); {
	case r.standing != answered:
		status = r.why()
	case n > 0:
		status = "FAIL, " + plural(n, "expectation")
	}
	v.label(e.ID, cmp.Or(e.Question, e.Title), status)
	v.label(gutter+"published", e.Answer.published(), "")
	v.label(gutter+"here", r.said(e, len(r.answer)), "")
	v.broken(r)
	v.label(gutter+"so", strings.TrimSuffix(r.means(), "."), "")
}

// broken are the expectations that failed.
func (v *view) broken(r reply) {
	for _, text := range r.broken[:min(len(r.broken), mostFailed)] {
		v.label(gutter+"FAIL", text, "")
	}
	if more := len(r.broken) - mostFailed; more > 0 {
		v.label(gutter+"FAIL", fmt.Sprintf("%d more: add --full", more), "")
	}
}

// label writes a label, its text, and a remark at the end of the line; it writes nothing without a text.
func (v *view) label(label, text, remark string) {
	if text = plain.Line(text); text != "" {
		v.elements = append(v.elements, element{kind: labelled, label: plain.Printable(label), text: text, also: remark})
	}
}

// labelled are the lines of a label and its text, at most mostOfRow of them, and what the first ends with where
// there is room.
func (e element) labelled(most int) []string {
	wide := max(labelWidth, plain.Width(e.label)+len(gutter))
	lines := row([]string{"", e.text}, []int{wide - len(gutter), max(1, most-wide)}, mostOfRow)
	lines[0] = e.label + lines[0][min(len(e.label), len(lines[0])):]
	if room := most - plain.Width(lines[0]) - plain.Width(e.also); e.also != "" && len(lines) == 1 && room >= len(gutter) {
		lines[0] += strings.Repeat(" ", room) + e.also
	} else if e.also != "" {
		lines = append(lines, element{label: gutter + "status", text: e.also}.labelled(most)...)
	}
	return lines
}

// sentence joins a label and its text for use outside a table.
func (e element) sentence() string {
	if e.also != "" {
		return fmt.Sprintf("%s: %s (%s)", strings.TrimSpace(e.label), e.text, e.also)
	}
	return strings.TrimSpace(e.label) + ": " + e.text
}

// row sets texts side by side, each broken to the width of its column, on at most so many
// lines.
func row(cells []string, widths []int, most int) []string {
	columns := make([][]string, len(cells))
	height := 0
	for i, cell := range cells {
		columns[i] = broken(plain.Line(cell), widths[i])
		if len(columns[i]) > most {
			columns[i] = columns[i][:most]
			columns[i][most-1] = plain.Clip(columns[i][most-1]+"…", widths[i])
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
			lines[n] += text + strings.Repeat(" ", max(0, widths[i]-plain.Width(text)))
		}
		lines[n] = strings.TrimRight(lines[n], " ")
	}
	return lines
}
