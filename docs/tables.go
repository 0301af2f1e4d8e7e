package docs

import (
	"slices"

	"contend/finding"
)

// held returns the table with this heading, in Markdown and with the heading, if
// the program holds it and the pages only repeat it; nil for any other.
func held(heading []string) [][]string {
	rows := [][]string{{"code", "when", "what to do"}}
	if !slices.Equal(heading, rows[0]) {
		return nil
	}
	for _, k := range finding.Kinds() {
		rows = append(rows, []string{"`" + k.Code + "`", k.When, k.Advice})
	}
	return rows
}
