package report

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"contend/history"
	"contend/metric"
	"contend/report/plain"
)

// historyColumns are those of the table that CSV writes.
var historyColumns = []string{"commit", "committed", "measured", "subject", "anchor", "asked", "experiment", "part", "variant", "concurrency", "metric",
	"value", "baseline_value", "ratio_to_anchor", "ratio_low", "ratio_high", "verdict", "reason", "in_git", "toolchain", "cpu", "cores", "kernel", "placement", "file"}

// CSV writes every value of all lines as one table (RFC 4180): a row for each, in the order of commits. Numbers have all
// their digits; what is not known is empty.
func (h *History) CSV(w io.Writer) error {
	table := csv.NewWriter(w)
	table.UseCRLF = true
	table.Write(historyColumns) // Flush keeps the first error
	for _, l := range h.Lines {
		for _, p := range l.Points {
			table.Write(h.cells(l, p))
		}
	}
	table.Flush()
	return table.Error()
}

func (h *History) cells(l history.Line, p history.Point) []string {
	v := p.Value
	row := csvRow{"commit": p.Commit, "committed": instant(p.Committed), "measured": instant(p.Time), "subject": p.Subject, "anchor": p.Anchor,
		"experiment": l.Experiment, "part": l.Part, "variant": l.Variant, "concurrency": strconv.Itoa(l.Concurrency), "metric": l.Metric,
		"value": number(v.Value), "verdict": v.Verdict, "reason": v.Reason, "file": p.Name}
	for _, field := range p.Key.Fields() {
		row[field[0]] = field[1]
	}
	if v.Baseline > 0 {
		row["baseline_value"] = number(v.Baseline)
	}
	if p.Linked {
		row["ratio_to_anchor"] = number(math.Exp(p.LogRatio))
		if v.Level > 0 {
			row["ratio_low"], row["ratio_high"] = number(math.Exp(p.Low)), number(math.Exp(p.High))
		}
	}
	if h.InGit {
		row["in_git"] = strconv.FormatBool(p.Known)
	}
	return row.cells(historyColumns)
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Benchmarks writes the values in the Go benchmark format, a line for each result with its commit as configuration, so that
// benchstat -col commit reads them. Ratios to the anchor have the unit ratio.
func (h *History) Benchmarks(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, l := range h.Lines {
		for _, p := range l.Points {
			fmt.Fprintf(b, "commit: %s\ncommit-time: %s\ncpu: %s\n", p.Commit, instant(p.Committed), plain.Line(p.Key.CPU))
			name := Place{l.Experiment, l.Part}.benchmark(l.Variant)
			if l.Concurrency > 0 {
				name += fmt.Sprintf("/vus=%d", l.Concurrency)
			}
			fmt.Fprintf(b, "%s\t1\t%s %s", name, strconv.FormatFloat(p.Value.Value, 'g', 6, 64), benchmarkUnit(metric.Name(l.Metric)))
			if p.Linked {
				fmt.Fprintf(b, "\t%s ratio", strconv.FormatFloat(math.Exp(p.LogRatio), 'g', 6, 64))
			}
			b.WriteByte('\n')
		}
	}
	return b.Flush()
}

// benchmarkUnit is the unit of a metric in benchmark lines.
func benchmarkUnit(m metric.Name) string {
	for _, known := range benchmarkUnits {
		if known.metric == m {
			return known.unit
		}
	}
	return part(string(m))
}
