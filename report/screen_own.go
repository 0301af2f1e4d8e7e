package report

import (
	"slices"

	"contend/finding"
)

// mostOwnFigures are the lines of the table of both sides' figures.
const mostOwnFigures = 8

// ownFigures are those of both sides of a user's own experiment, and what was wrong with their
// answers, where it is one comparison at one level; else none.
func (d *Document) ownFigures(e Experiment) []string {
	list := d.primaryOf(e)
	if e.File == "" || len(list) != 1 {
		return nil
	}
	var lines []string
	if list[0].Reason.Is(finding.Errors) {
		lines = d.wrongOf(list[0])
	}
	if len(d.nothingRight(list)) > 0 {
		return lines
	}
	return append(lines, d.beside(list[0], mostOwnFigures)...)
}

// primaryOf are the comparisons that an experiment asks for.
func (d *Document) primaryOf(e Experiment) []Comparison {
	return slices.DeleteFunc(d.primary(), func(c Comparison) bool { return c.Experiment != e.ID })
}
