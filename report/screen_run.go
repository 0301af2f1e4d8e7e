package report

import (
	"fmt"
	"strings"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/trial"
)

// mostOfRun are the lines of a page about a run.
const mostOfRun = 15

// barColumns is how long the longest bar of a page is.
const barColumns = 40

// marks draws a share, 0 to 1, of the longest bar; one mark at least.
func marks(share float64) string {
	return strings.Repeat("█", min(barColumns, max(1, int(share*barColumns+0.5))))
}

// runScreen answers what a target did under one load.
func (d *Document) runScreen(c trial.Cell) *screen {
	s := &screen{care: new(findings), hidden: len(d.Notes), most: mostOfRun, mood: good}
	r := c.Result
	s.first = runSentence(r)
	under := fmt.Sprintf("%s, %s measured", plural(r.Concurrency, "VU"), window(r.Duration))
	if r.Model == load.OpenModel {
		under = fmt.Sprintf("arrivals %s, %s", r.Plan.Pacer, under)
	}
	doubt := c.Doubt()
	switch {
	case doubt != nil:
		s.first, s.mood = "Do not believe it: "+s.first, doubted
		s.trust = fmt.Sprintf("INVALID %s: %s", doubt.Code, doubt.Text)
	case r.Stopped == load.Interrupted:
		s.trust = "Interrupted, so this is only a part: " + under
	case len(r.Warnings) > 0:
		s.trust = "Believe it with what is marked ! in mind: " + under
	default:
		s.trust = "Believe it: " + under
	}
	s.body = append(s.body, "  "+clean(r.Target))
	if wrong := append(failures(r), kindsOf(r)...); len(wrong) > 0 {
		s.body = append(s.body, fmt.Sprintf("  %s × %s: %s", metric.Number(float64(wrong[0].count)), wrong[0].what, wrong[0].example))
	}
	s.body = append(s.body, percentiles(r)...)
	for _, w := range r.Warnings {
		if doubt == nil || w.Code != doubt.Code {
			s.care.add(w, "")
		}
	}
	s.next = "contend sweep finds the best concurrency of this target, sweep --rate its highest rate"
	if doubt != nil {
		s.next = afterDoubt(doubt.Code)
	}
	return s
}

func afterDoubt(code string) string {
	if advice := finding.Advice(code); advice != "" {
		return advice
	}
	return "contend explain " + code
}

// runSentence has throughput, response time and errors.
func runSentence(r *load.Result) string {
	if r.Completed == 0 {
		return fmt.Sprintf("nothing succeeded: %s failed, %s errored", metric.Number(float64(r.Failed)), metric.Number(float64(r.ErroredTotal())))
	}
	text := perSec(r.ThroughputPerSec)
	if r.Response.Count() > 0 {
		text += fmt.Sprintf(" at %s in the median, %s at p99", metric.Duration(float64(r.Response.Quantile(0.5))), metric.Duration(float64(r.Response.Quantile(0.99))))
	}
	if n := r.Wrong(); n > 0 {
		return text + fmt.Sprintf("; %s of %s failed or errored (%.2g %%)", metric.Number(float64(n)), metric.Number(float64(r.Planned)), 100*float64(n)/float64(r.Planned))
	}
	return text + "; no errors"
}

// percentiles draws those of the response time.
func percentiles(r *load.Result) []string {
	if r.Response == nil || r.Response.Count() == 0 {
		return nil
	}
	longest := float64(max(1, r.Response.Quantile(1)))
	t := table{columns: []string{"response time", "", ""}}
	for _, q := range []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}} {
		value := float64(r.Response.Quantile(q.share))
		t.rows = append(t.rows, []string{q.name, metric.Duration(value), marks(value / longest)})
	}
	return t.lines()[1:]
}
