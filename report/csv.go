package report

import (
	"cmp"
	"encoding/csv"
	"io"
	"math"
	"strconv"
	"strings"

	"contend/finding"
	"contend/metric"
	"contend/report/plain"
	"contend/stat"
	"contend/usl"
)

// csvColumns are those of the table that CSV writes.
var csvColumns = []string{"started", "experiment", "part", "row", "variant", "concurrency", "metric", "value", "value_low", "value_high", "unit",
	"baseline", "baseline_value", "ratio", "ratio_low", "ratio_high", "p", "confidence", "verdict", "reason"}

// CSV writes every figure of the results and every comparison as one table (RFC 4180): a row for
// each metric of a variant at a level, with the columns of csvColumns. In a row of a comparison
// variant is the candidate and value the baseline's, changed by the ratio. Rows of sweeps and
// searches are their answers, with the ends of their intervals. Numbers have all their
// digits; what is not known is empty. Names that a spreadsheet would run as a formula begin with
// an apostrophe.
func (d *Document) CSV(w io.Writer) error {
	table := csv.NewWriter(w)
	table.UseCRLF = true
	table.Write(csvColumns) // Flush keeps the first error
	for _, r := range d.Results {
		for _, f := range r.figures() {
			row := d.csvRow(r.Place, "result", cmp.Or(r.Arm, r.Target), r.Concurrency, f.metric)
			row["value"] = number(f.value)
			if refusal := r.RefusalOf(f.metric); refusal != nil && f.metric.Kind() != metric.Count { // counts are what was
				row["verdict"], row["reason"] = string(stat.Invalid), refusal.Code
			}
			table.Write(row.cells(csvColumns))
		}
	}
	for _, c := range d.Comparisons {
		table.Write(d.csvCompared(c).cells(csvColumns))
	}
	for _, c := range d.counted() {
		table.Write(d.csvCounted(c).cells(csvColumns))
	}
	for _, c := range d.Curves {
		d.csvSwept(c, table)
	}
	for _, s := range d.Searches {
		d.csvSearched(s, table)
	}
	table.Flush()
	return table.Error()
}

type resultFigure struct {
	metric metric.Name
	value  float64
}

// figures are the metrics that describe the result. For a guard in this process they include what
// the document stores next to the result, by its keys.
func (r Result) figures() []resultFigure {
	var list []resultFigure
	for _, name := range metric.Names() {
		if m := metric.Name(name); interesting(m, r.Cell) {
			value, _ := m.Beside(r.Cell.Result)
			list = append(list, resultFigure{m, value})
		}
	}
	p := r.InProcess
	if p == nil {
		return list
	}
	for _, s := range metric.Statistics() {
		if p.Latency.Count() > 0 {
			list = append(list, resultFigure{metric.Name("latency_" + s.Name + "_ns"), float64(s.Of(p.Latency))})
		}
	}
	return append(list, resultFigure{"fairness_jain", p.Jain}, resultFigure{"allocs_per_op", p.AllocsPerOp})
}

// A csvRow has the cells of a row by their columns.
type csvRow map[string]string

func (d *Document) csvRow(at Place, row, variant string, concurrency int, m metric.Name) csvRow {
	return csvRow{"started": instant(d.Environment.Started), "experiment": at.Experiment, "part": at.Part, "row": row, "variant": variant,
		"concurrency": strconv.Itoa(concurrency), "metric": string(m), "unit": m.Kind().Unit()}
}

func (d *Document) csvCompared(c Comparison) csvRow {
	row := d.csvRow(c.Place, "comparison", c.Candidate, c.Concurrency, c.Metric)
	row["baseline"], row["verdict"] = c.Baseline, string(c.Verdict)
	if c.BaselineValue != 0 || c.CandidateValue != 0 || c.Reason == nil {
		row["value"], row["baseline_value"] = number(c.CandidateValue), number(c.BaselineValue)
	}
	if c.Rounds > 0 {
		row["ratio"], row["p"] = number(c.Ratio), number(c.P)
	}
	if c.Bounded() {
		row["ratio_low"], row["ratio_high"], row["confidence"] = number(c.Low), number(c.High), number(c.Confidence)
	}
	row["reason"] = cmp.Or(c.Reason, new(finding.Warning)).Code
	return row
}

// csvSwept writes the levels and throughputs that a sweep answers with: enough is the smallest
// level within 5% of the best, and peak that of the fitted law.
func (d *Document) csvSwept(c Curve, table *csv.Writer) {
	refused := refusedLevels(c.Curve)
	if c.Bound != nil {
		refused = []string{c.Bound.Reason.Code}
	}
	answer := func(what string, n, x usl.Estimate) {
		for _, figure := range []struct {
			metric string
			is     usl.Estimate
		}{{"concurrency", n}, {"throughput_per_s", x}} {
			row := d.csvRow(c.Place, "sweep", c.Arm, int(math.Round(n.Value)), metric.Name(what+"_"+figure.metric))
			row["value"] = number(figure.is.Value)
			if i := figure.is.Interval; i != nil {
				row["value_low"], row["value_high"] = number(i.Low), number(i.High)
			}
			if len(refused) > 0 {
				row["verdict"], row["reason"] = string(stat.Invalid), refused[0]
			}
			table.Write(row.cells(csvColumns))
		}
	}
	if c.Enough != nil && c.Best != nil && c.Knee != nil {
		answer("enough", c.Enough.N, usl.Estimate{Value: c.Enough.Throughput})
		answer("knee", c.Knee.N, usl.Estimate{Value: c.Knee.Throughput})
		answer("best", c.Best.N, usl.Estimate{Value: c.Best.Throughput})
	}
	if c.Fit != nil && c.Fit.Peak != nil {
		answer("peak", c.Fit.Peak.N, c.Fit.Peak.Throughput)
	}
}

// csvSearched writes the highest rate that passed, and as its upper bound the lowest that failed
// above it.
func (d *Document) csvSearched(s Search, table *csv.Writer) {
	callers := s.Design.VUs
	if s.Found != nil {
		callers = s.Found.Concurrency
	}
	row := d.csvRow(s.Place, "search", s.Arm, callers, "sustained_rate_per_s")
	row["verdict"], row["reason"] = string(s.Verdict), cmp.Or(s.Reason, new(finding.Warning)).Code
	if s.HeldPerSec > 0 {
		row["value"], row["value_low"] = number(s.HeldPerSec), number(s.HeldPerSec)
	}
	if s.MissedPerSec > 0 {
		row["value_high"] = number(s.MissedPerSec)
	}
	table.Write(row.cells(csvColumns))
}

// cells are in the order of the columns.
func (r csvRow) cells(columns []string) []string {
	var cells []string
	for _, column := range columns {
		cells = append(cells, inert(plain.Line(r[column])))
	}
	return cells
}

// inert keeps a spreadsheet from running a cell that is not a number as a
// formula (owasp.org/www-community/attacks/CSV_Injection).
func inert(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); err != nil && cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// number has all digits, and no exponent, which not every spreadsheet reads.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
