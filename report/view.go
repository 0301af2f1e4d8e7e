package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/hist"
	"contend/load"
	"contend/stat"
	"contend/trial"
	"contend/usl"
)

// Text writes the document for a terminal.
func (d *Document) Text(w io.Writer) error { return d.view().writeText(w) }

// Markdown writes the document as Markdown.
func (d *Document) Markdown(w io.Writer) error { return d.view().writeMarkdown(w) }

func (d *Document) view() *view {
	v := new(view)
	for _, e := range d.Experiments {
		d.experiment(v, e)
	}
	if len(d.Experiments) == 0 {
		d.place(v, Place{})
	}
	for _, n := range d.Notes {
		v.bullet("%s", n)
	}
	if len(d.Experiments) > 1 {
		d.summary(v)
	}
	v.say("%s", d.Environment.sentence(d.Version))
	return v
}

func (e Environment) sentence(version string) string {
	limit := ""
	if e.CPULimit > 0 {
		limit = fmt.Sprintf(", limited to %.2g cores", e.CPULimit)
	}
	return fmt.Sprintf("Measured %s by contend %s on %s, %d cores%s, GOMAXPROCS %d, %s %s, %s/%s.",
		e.Started.UTC().Format(time.RFC3339), version, e.CPU, e.Cores, limit, e.GOMAXPROCS, e.Kernel, e.Go, e.OS, e.Arch)
}

// place writes the results, verdicts and curves of one part.
func (d *Document) place(v *view, at Place) {
	var cells []trial.Cell
	var guards []Result
	for _, r := range d.Results {
		switch {
		case r.Place != at:
		case r.InProcess != nil:
			guards = append(guards, r)
		default:
			cells = append(cells, r.Cell)
		}
	}
	inProcess(v, guards)
	if len(cells) == 1 && cells[0].Arm == "" {
		run(v, cells[0].Result)
	} else {
		results(v, cells)
	}
	var list []trial.Comparison
	for _, c := range d.Comparisons {
		if c.Place == at {
			list = append(list, c.Comparison)
		}
	}
	comparisons(v, list)
	for _, c := range d.Curves {
		if c.Place == at {
			curve(v, c.Curve)
		}
	}
}

// run writes a single result in full.
func run(v *view, r *load.Result) {
	v.head("%s", r.Target)
	if r.Completed == 0 {
		v.say("NOTHING SUCCEEDED: %s", r.Warnings[len(r.Warnings)-1].Text)
	}
	model := "closed model: each VU waits for its answer"
	if r.Model == load.OpenModel {
		model = fmt.Sprintf("open model: arrivals %s, paced by the %s timer", r.Plan.Pacer, r.Timer)
	}
	v.say("%s; %s VUs; %v measured; stopped by: %s", model, Count(float64(r.Concurrency)), r.Duration.Round(time.Millisecond), r.Stopped)
	v.say("throughput %s/s (right answers only)", Count(r.ThroughputPerSec))
	v.say("%s planned = %s completed + %s failed + %s errored + %s dropped + %s unfinished",
		Count(float64(r.Planned)), Count(float64(r.Completed)), Count(float64(r.Failed)), Count(float64(r.ErroredTotal())),
		Count(float64(r.Dropped)), Count(float64(r.Unfinished)))
	v.table(times(r))
	v.table(errorTable(r))
	if len(r.Statuses) > 0 {
		v.say("answers by status: %s", statuses(r.Statuses))
	}
	v.say("%s in, %s out", Bytes(float64(r.BytesIn)), Bytes(float64(r.BytesOut)))
	v.say("%s", generator(r))
	warnings(v, r.Warnings)
}

func times(r *load.Result) table {
	t := table{columns: []string{"", "mean", "min", "p50", "p90", "p95", "p99", "p99.9", "max"}, words: 1}
	for _, row := range []struct {
		name string
		h    *hist.Histogram
	}{
		{"response time", r.Response}, {"service time", r.Service}, {"start lag", r.StartLag},
		{"connect", r.Connect}, {"first byte", r.FirstByte}, {"exchange", r.Exchange},
		{"service time, failed", r.FailedService}, {"service time, errored", r.ErroredService},
	} {
		if row.h == nil || row.h.Count() == 0 {
			continue
		}
		cells := []string{row.name, Duration(float64(row.h.Mean())), Duration(float64(row.h.Min()))}
		for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
			cells = append(cells, Duration(float64(row.h.Quantile(q))))
		}
		t.rows = append(t.rows, append(cells, Duration(float64(row.h.Max()))))
	}
	return t
}

func errorTable(r *load.Result) table {
	t := table{columns: []string{"errored", "count", "first example"}, words: 3}
	for _, kind := range load.ErrorKinds() {
		if n := r.Errored[kind]; n > 0 {
			t.rows = append(t.rows, []string{string(kind), Count(float64(n)), r.Examples[kind]})
		}
	}
	return t
}

func statuses(byStatus map[int]int64) string {
	var list []string
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		list = append(list, fmt.Sprintf("%d: %s", status, Count(float64(byStatus[status]))))
	}
	return strings.Join(list, ", ")
}

func generator(r *load.Result) string {
	text := fmt.Sprintf("generator: %.2f CPU s in %.2f s on %d cores", r.GeneratorCPUSec, r.Duration.Seconds(), r.GeneratorCores)
	if r.GeneratorShare != nil {
		text += fmt.Sprintf("; %.1f %% of each VU's cycle was spent in the generator", 100**r.GeneratorShare)
	}
	return text
}

func warnings(v *view, list []stat.Warning) {
	for _, w := range list {
		v.bullet("%s: %s", w.Code, w.Text)
	}
}

// results writes one line per arm and level.
func results(v *view, cells []trial.Cell) {
	t := table{columns: []string{"arm", "VUs"}, words: 1}
	metrics := []trial.Metric{trial.Throughput, "response_mean_ns", "response_p50_ns", "response_p99_ns", "exchange_mean_ns",
		trial.WallPerOp, trial.ServerCPUPerOp, trial.GeneratorCPUPerOp, trial.Errors}
	metrics = slices.DeleteFunc(metrics, func(m trial.Metric) bool {
		return !slices.ContainsFunc(cells, func(c trial.Cell) bool { return interesting(m, c) })
	})
	for _, m := range metrics {
		t.columns = append(t.columns, Name(m))
	}
	for _, c := range cells {
		row := []string{c.Arm, strconv.Itoa(c.Concurrency)}
		for _, m := range metrics {
			text := "-"
			if value, ok := m.Of(c); ok {
				text = Value(m, value)
			}
			row = append(row, text)
		}
		t.rows = append(t.rows, row)
	}
	v.table(t)
}

// interesting leaves out columns that say nothing: the time per operation where
// an iteration is one operation, and the time of an iteration where it is many.
func interesting(m trial.Metric, c trial.Cell) bool {
	if batches := c.Ops > c.Completed; m == trial.WallPerOp && !batches || strings.HasPrefix(string(m), "response_") && batches {
		return false
	}
	_, ok := m.Of(c)
	return ok
}

func comparisons(v *view, list []trial.Comparison) {
	t := table{columns: []string{"candidate", "VUs", "metric", "baseline", "candidate", "difference", "95 % interval", "p", "verdict"}, words: 3}
	var notes []string
	for _, c := range list {
		interval := "none"
		if c.Bounded() {
			interval = percent(c.Low) + " … " + percent(c.High)
		}
		verdict := string(c.Verdict)
		if c.Reason != nil {
			verdict += " " + c.Reason.Code
			notes = note(notes, fmt.Sprintf("%s: %s", c.Reason.Code, c.Reason.Text))
		}
		if c.Verdict == stat.Inconclusive && c.RoundsNeeded > 0 {
			verdict += fmt.Sprintf(" (about %d more rounds)", c.RoundsNeeded)
		}
		t.rows = append(t.rows, []string{c.Candidate, strconv.Itoa(c.Concurrency), Name(c.Metric),
			Value(c.Metric, c.BaselineValue), Value(c.Metric, c.CandidateValue), percent(c.Ratio), interval,
			fmt.Sprintf("%.3f", c.P), verdict})
		for _, w := range c.Warnings {
			notes = note(notes, fmt.Sprintf("%s: %s", w.Code, w.Text))
		}
	}
	if len(list) > 0 {
		v.say("Compared with %s, over %d rounds of interleaved blocks (±%.3g %% counts as equivalent):",
			list[0].Baseline, list[0].Rounds, 100*list[0].Margin)
	}
	v.table(t)
	for _, n := range notes {
		v.bullet("%s", n)
	}
}

func note(notes []string, text string) []string {
	if slices.Contains(notes, text) {
		return notes
	}
	return append(notes, text)
}

func curve(v *view, c trial.Curve) {
	switch {
	case c.Fit == nil:
		v.say("No fit: %s", c.NoFit)
	case c.Fit.Peak == nil:
		v.say("Universal Scalability Law: %s. No peak: %s", coefficients(c), c.Fit.NoPeak)
	default:
		p := c.Fit.Peak
		v.say("Universal Scalability Law: %s. Peak at %s VUs of %s/s; run at %d.", coefficients(c),
			estimate(p.N.Value, p.N.Interval, Count), estimate(p.Throughput.Value, p.Throughput.Interval, Count), p.Optimum)
	}
	if c.Enough != nil {
		v.say("The smallest level within 5 %% of the best throughput: %.0f VUs (%s/s).", c.Enough.N, Count(c.Enough.X))
	}
	if c.Fit != nil {
		warnings(v, c.Fit.Warnings)
	}
}

func coefficients(c trial.Curve) string {
	f := c.Fit
	return fmt.Sprintf("α %s, β %s, γ %s/s", estimate(f.Alpha.Value, f.Alpha.Interval, small),
		estimate(f.Beta.Value, f.Beta.Interval, small), estimate(f.Gamma.Value, f.Gamma.Interval, Count))
}

func small(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

func estimate(value float64, i *usl.Interval, format func(float64) string) string {
	if i == nil {
		return format(value)
	}
	return fmt.Sprintf("%s [%s … %s]", format(value), format(i.Low), format(i.High))
}
