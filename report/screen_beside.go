package report

import (
	"fmt"
	"slices"
	"strings"

	"contend/internal/unit"
	"contend/metric"
	"contend/report/plain"
	"contend/stat"
	"contend/trial"
)

// shownMetrics are those shown of both arms, if they were compared.
var shownMetrics = []metric.Name{metric.Throughput, metric.ResponseP50, metric.ResponseP99, metric.ServerCPUPerOp}

// bothArms are the figures of both arms and their difference: of the metrics above, and of
// percentiles. The candidate's figure is the baseline's, changed by the difference; where
// nothing was compared both are as measured.
func (d *Document) bothArms(primary Comparison) table {
	compared, rows := map[metric.Name][]string{}, map[metric.Name][]string{}
	for _, c := range d.Comparisons {
		if c.Place != primary.Place || c.Candidate != primary.Candidate || c.Concurrency != primary.Concurrency ||
			(c.ChangedOver == nil) != (primary.ChangedOver == nil) {
			continue
		}
		compared[c.Metric] = []string{c.Metric.Words(), orNone(measured(c.Comparison, c.BaselineValue)), orNone(measured(c.Comparison, c.CandidateValue)), differenceIn(c.Comparison)}
		if c.Primary || slices.Contains(shownMetrics, c.Metric) {
			rows[c.Metric] = compared[c.Metric]
		}
	}
	for _, p := range ladderMetrics {
		row, known := compared[p]
		if !known {
			row, known = d.percentileOf(primary, p)
		}
		if known && primary.Verdict != stat.Invalid {
			rows[p] = row
		}
	}
	t := table{columns: []string{either(primary.Verdict == stat.Invalid, "measured, not usable", ""), primary.Baseline, primary.Candidate, comparedWith(primary)}}
	for _, m := range slices.Concat([]metric.Name{primary.Metric, metric.Throughput}, ladderMetrics, shownMetrics) {
		if rows[m] != nil {
			t.rows = append(t.rows, rows[m])
			delete(rows, m)
		}
	}
	for _, r := range primary.differing() {
		t.rows = append(t.rows, []string{plain.Line(r.Name), unit.Duration(r.BaselineMean), unit.Duration(r.BaselineMean * r.Ratio),
			ofMetric(ofRequests).changed(r.Effect)})
	}
	return grouped(t)
}

// grouped sets the words that a group of rows has in common on the first of them, in a column of their own.
func grouped(t table) table {
	const group = "response time"
	if !slices.ContainsFunc(t.rows, func(row []string) bool { return strings.HasPrefix(row[0], group+" ") }) {
		return t
	}
	t.columns = slices.Insert(t.columns, 1, "")
	within := false
	for i, row := range t.rows {
		rest, of := strings.CutPrefix(row[0], group+" ")
		name := []string{row[0], ""}
		if of {
			name = []string{either(within, "", group), rest}
		}
		t.rows[i], within = append(name, row[1:]...), of
	}
	return t
}

// comparedWith heads the differences, with the names of both where there is room.
func comparedWith(c Comparison) string {
	if head := plain.Line(c.Candidate + " compared with " + c.Baseline); plain.Width(head) <= mostOfHead {
		return head
	}
	return "difference"
}

// mostOfHead is how wide that may be.
const mostOfHead = 40

// ofRequests is the metric whose words describe a difference of the service times of a request.
const ofRequests = metric.ResponseP50

// mostRequests are the named requests that are shown.
const mostRequests = 3

// differing are the named requests that plainly differ, as many as are shown.
func (c Comparison) differing() []trial.RequestEffect {
	list := slices.DeleteFunc(slices.Clone(c.Requests), func(r trial.RequestEffect) bool { return !r.Differs() })
	if c.Verdict == stat.Invalid {
		return nil
	}
	return list[:min(len(list), mostRequests)]
}

// orNone replaces a missing figure by a word.
func orNone(figure string) string {
	if figure == "-" {
		return "none"
	}
	return figure
}

// ladderMetrics are the percentiles in their order.
var ladderMetrics = []metric.Name{metric.ResponseP50, "response_p90_ns", metric.ResponseP99, "response_p999_ns", "response_max_ns"}

// percentileOf has a percentile of both arms that was not compared; false: it is not known of both.
func (d *Document) percentileOf(primary Comparison, m metric.Name) (row []string, known bool) {
	if primary.ChangedOver != nil {
		return nil, false // the results are those from before
	}
	row = []string{m.Words()}
	for _, arm := range []string{primary.Baseline, primary.Candidate} {
		i := slices.IndexFunc(d.Results, func(r Result) bool {
			return r.Place == primary.Place && r.Arm == arm && r.Concurrency == primary.Concurrency
		})
		if i < 0 {
			return nil, false
		}
		value, ok := m.Beside(d.Results[i].Result)
		n, _ := m.Recorded(d.Results[i].Result)
		if q, is := m.Percentile(); !ok || is && !reaches(n, q) {
			return nil, false
		}
		row = append(row, m.Format(value))
	}
	return append(row, "not compared"), true
}

func differenceIn(c trial.Comparison) string {
	switch {
	case c.Verdict == stat.Invalid:
		return "invalid"
	case c.Verdict == stat.Inconclusive && !c.Bounded():
		return "not compared (too few rounds)"
	case c.Verdict == stat.Inconclusive:
		return fmt.Sprintf("inconclusive (%s)", ofMetric(c.Metric).interval(c.Effect))
	case c.Verdict == stat.Equivalent:
		return "equal within ±" + unit.Percent(c.Margin)
	}
	return ofMetric(c.Metric).changed(c.Effect)
}
