package docs

import (
	"slices"
	"strings"

	"contend/finding"
	"contend/metric"
)

// held returns the table with this heading, in Markdown and with the heading, if
// the program holds it and the pages only repeat it; nil for any other.
func held(heading []string) [][]string {
	for _, table := range [][][]string{warnings(), metrics(), histograms(), statistics()} {
		if slices.Equal(heading, table[0]) {
			return table
		}
	}
	return nil
}

func warnings() [][]string {
	rows := [][]string{{"code", "when", "what to do"}}
	for _, k := range finding.Kinds() {
		rows = append(rows, []string{"`" + k.Code + "`", k.When, k.Advice})
	}
	return rows
}

func metrics() [][]string {
	rows := [][]string{{"metric", "unit", "meaning"}}
	for _, m := range metric.Rows() {
		rows = append(rows, []string{called(m.Words, string(m.Name)), m.Kind.Unit(), m.Means})
	}
	return rows
}

func histograms() [][]string {
	rows := [][]string{{"metric of times", "unit", "meaning"}}
	for _, h := range metric.Histograms() {
		if h.Name != "" {
			rows = append(rows, []string{called(h.Words, h.Name) + ", `" + h.Name + "_ns`", metric.Time.Unit(), h.Means})
		}
	}
	return rows
}

func statistics() [][]string {
	rows := [][]string{{"of times", "meaning"}}
	for _, s := range metric.Statistics() {
		rows = append(rows, []string{called(s.Words, s.Name), s.Means})
	}
	return rows
}

// called names something in words and as it is written, once if that is the same.
func called(words, name string) string {
	if words == strings.ReplaceAll(name, "_", " ") {
		return words
	}
	return words + ", `" + name + "`"
}
