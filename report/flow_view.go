package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"contend/hist"
	"contend/load"
	"contend/metric"
)

// mostOfRequests are the named requests on the page of a run.
const mostOfRequests = 4

// isFlow says whether the iterations of a run are several requests and checks.
func isFlow(r *load.Result) bool { return len(r.Checks) > 0 || len(r.Meters) > 0 }

// scenarioTable lists the loads that were driven side by side.
func scenarioTable(r *load.Result) table {
	t := table{columns: []string{"run", "callers", "successful", "failed", "never started", "throughput", "median", "p99", "start lag p99"}}
	for _, s := range r.Scenarios {
		perSec := 0.0
		if s.Duration > 0 {
			perSec = float64(s.Completed) / s.Duration.Seconds()
		}
		row := []string{clean(s.Name), metric.Number(float64(s.VUs)), metric.Number(float64(s.Completed)), metric.Number(float64(s.Wrong)), metric.Number(float64(s.Dropped)), metric.Number(perSec) + "/s"}
		for _, d := range []time.Duration{quantile(s.Response, 0.5), quantile(s.Response, 0.99), quantile(s.StartLag, 0.99)} {
			row = append(row, metric.Duration(float64(d)))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func quantile(h *hist.Histogram, q float64) time.Duration {
	if h == nil {
		return 0
	}
	return h.Quantile(q)
}

// flow is what a page says of requests and checks: which requests take most of the time, and
// which checks did not hold.
func (v *view) flow(r *load.Result) {
	if !isFlow(r) {
		return
	}
	spent := func(name string) float64 {
		n := r.Requests[name]
		return float64(n.Completed) * float64(n.Service.Mean())
	}
	names := slices.SortedFunc(maps.Keys(r.Requests), func(a, b string) int { return cmp.Or(cmp.Compare(spent(b), spent(a)), cmp.Compare(a, b)) })
	t := table{columns: []string{"request", "successful", "failed", "p50", "p99"}}
	for _, name := range names[:min(mostOfRequests, len(names))] {
		n := r.Requests[name]
		t.rows = append(t.rows, []string{clip(clean(name), 40), metric.Number(float64(n.Completed)), metric.Number(float64(n.Failed + n.Errored)),
			metric.Duration(float64(n.Service.Quantile(0.5))), metric.Duration(float64(n.Service.Quantile(0.99)))})
	}
	scenarios := scenarioTable(r)
	scenarios.rows = scenarios.rows[:min(mostOfRequests, len(scenarios.rows))]
	v.rows(scenarios)
	v.rows(t)
	if more := len(names) - len(t.rows); more > 0 {
		v.aside("%d more: add --full", more)
	}
	if text := checked(r); text != "" {
		v.aside("%s", text)
	}
}

// checked is a line about the checks.
func checked(r *load.Result) string {
	var held, not int64
	var broken []string
	for _, c := range r.Checks {
		held, not = held+c.Passed, not+c.Failed
		if c.Failed > 0 {
			broken = append(broken, fmt.Sprintf("%s × %s", metric.Number(float64(c.Failed)), clean(c.Name)))
		}
	}
	switch {
	case held+not == 0:
		return ""
	case not == 0:
		return fmt.Sprintf("all %s checks passed", metric.Number(float64(held)))
	}
	return clip(fmt.Sprintf("%s of %s checks failed: %s", metric.Number(float64(not)), metric.Number(float64(held+not)), strings.Join(broken, ", ")), textWidth-len(gutter))
}

// checkTable lists the checks of a flow.
func checkTable(r *load.Result) table {
	t := table{columns: []string{"check", "passed", "failed"}}
	for _, c := range r.Checks {
		t.rows = append(t.rows, []string{clean(c.Name), metric.Number(float64(c.Passed)), metric.Number(float64(c.Failed))})
	}
	return t
}

// meterTables list what a script measured: one table for each kind.
func meterTables(r *load.Result) (all []table) {
	for _, kind := range []load.MeterKind{load.TrendMeter, load.CounterMeter, load.RateMeter, load.GaugeMeter} {
		stats := load.MeterStats(kind)
		if kind == load.TrendMeter {
			stats = []string{"avg", "min", "med", "p(90)", "p(95)", "p(99)", "max"}
		}
		t := table{columns: append([]string{"meter"}, stats...)}
		for _, m := range r.Meters {
			if m != nil && m.Kind == kind {
				t.rows = append(t.rows, meterRow(m, stats, r.Duration))
			}
		}
		if len(t.rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func meterRow(m *load.MeterResult, stats []string, during time.Duration) []string {
	row := []string{clean(m.Name)}
	for _, stat := range stats {
		value, _ := m.Stat(stat, during)
		if m.Time {
			row = append(row, metric.Duration(value*float64(time.Millisecond)))
		} else {
			row = append(row, metric.Number(value))
		}
	}
	return row
}
