package report

import (
	"fmt"
	"slices"

	"contend/stat"
)

// ahead begins the first line of three or more variants at one level with those that are ahead of all others: whose
// interval reaches that of the best. "" if that is not known of each.
func ahead(list, decided []Comparison) string {
	level := func(c Comparison) string { return c.Baseline + at(c.Comparison) + string(c.Metric) }
	kind := list[0].Metric.Kind().Verdict()
	if len(list) < 2 || len(decided) < len(list) || len(distinct(list, level)) > 1 || kind == stat.Amount ||
		slices.ContainsFunc(list, func(c Comparison) bool { return !c.Bounded() }) {
		return ""
	}
	names, low, high := []string{list[0].Baseline}, []float64{1}, []float64{1}
	for _, c := range list {
		l, h := c.Low, c.High
		if kind == stat.LowerIsFaster {
			l, h = 1/c.High, 1/c.Low
		}
		names, low, high = append(names, c.Candidate), append(low, l), append(high, h)
	}
	best := slices.Index(low, slices.Max(low))
	var first []string
	for i, name := range names {
		if high[i] >= low[best] {
			first = append(first, name)
		}
	}
	return fmt.Sprintf("%s %s the fastest of %d: ", enumerated(first), either(len(first) == 1, "is", "are"), len(names))
}

// withValues adds what was measured of each of three or more variants, with the baseline above those that were
// compared with it at a load.
func withValues(t table, list []Comparison) table {
	name := func(c Comparison) string { return c.Candidate }
	against := func(c Comparison) string { return c.Baseline + string(c.Metric) }
	if len(distinct(list, name)) < 2 || len(distinct(list, against)) > 1 {
		return t
	}
	with := table{columns: slices.Insert(t.columns, 2, list[0].Metric.ShortWords())}
	seen := map[string]bool{}
	for i, c := range list {
		row := t.rows[i]
		if load := row[1]; !seen[load] {
			seen[load] = true
			with.rows, with.bars = append(with.rows, []string{c.Baseline, load, measured(c.Comparison, c.BaselineValue), "", "", ""}), append(with.bars, bar{})
		}
		with.rows, with.bars = append(with.rows, slices.Insert(row, 2, measured(c.Comparison, c.CandidateValue))), append(with.bars, t.bars[i])
	}
	return with
}
