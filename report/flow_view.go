package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"contend/hist"
	"contend/internal/lazyregexp"
	"contend/internal/unit"
	"contend/load"
	"contend/report/plain"
)

// mostOfRequests are the named requests on the page of a run.
const mostOfRequests = 4

// isFlow reports whether the iterations of a run are several requests and checks.
func isFlow(r *load.Result) bool { return len(r.Checks) > 0 || len(r.Meters) > 0 }

// scenarioTable lists the loads that were driven side by side.
func scenarioTable(r *load.Result) table {
	t := table{columns: []string{"run", "callers", "successful", "failed", "never started", "throughput", "median", "p99", "start lag p99"}}
	for _, s := range r.Scenarios {
		perSec := 0.0
		if s.Duration > 0 {
			perSec = float64(s.Completed) / s.Duration.Seconds()
		}
		row := []string{plain.Line(s.Name), unit.Count(s.VUs), unit.Count(s.Completed), unit.Count(s.Wrong), unit.Count(s.Dropped), unit.Rate(perSec)}
		for _, d := range []time.Duration{quantile(s.Response, 0.5), quantile(s.Response, 0.99), quantile(s.StartLag, 0.99)} {
			row = append(row, unit.Duration(float64(d)))
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
		t.rows = append(t.rows, []string{plain.Clip(plain.Line(name), 40), unit.Count(n.Completed), unit.Count(n.Failed + n.Errored),
			unit.Duration(float64(n.Service.Quantile(0.5))), unit.Duration(float64(n.Service.Quantile(0.99)))})
	}
	scenarios := scenarioTable(r)
	scenarios.rows = scenarios.rows[:min(mostOfRequests, len(scenarios.rows))]
	v.rows(scenarios)
	v.rows(t)
	if more := len(names) - len(t.rows); more > 0 {
		v.aside("%d more: add --full", more)
	}
	for _, m := range ownMeters(r) {
		v.aside("%s", meterLine(m, r.MeterTime()))
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
			broken = append(broken, fmt.Sprintf("%s × %s", unit.Count(c.Failed), plain.Line(c.Name)))
		}
	}
	switch {
	case held+not == 0:
		return ""
	case not == 0:
		return fmt.Sprintf("all %s checks passed", unit.Count(held))
	}
	return plain.Clip(fmt.Sprintf("%s of %s checks failed: %s", unit.Count(not), unit.Count(held+not), strings.Join(broken, ", ")), textWidth-len(gutter))
}

// checkTable lists the checks of a flow.
func checkTable(r *load.Result) table {
	t := table{columns: []string{"check", "passed", "failed"}}
	for _, c := range r.Checks {
		t.rows = append(t.rows, []string{plain.Line(c.Name), unit.Count(c.Passed), unit.Count(c.Failed)})
	}
	return t
}

// ofEvery begins the names of the meters that each script has.
var ofEvery = lazyregexp.New(`^(http_|iteration|data_|vus|checks|ws_|grpc_|group_duration|dropped_iterations)`)

// ownMeters are those that a script made itself, without those of its tags, as many as a page shows.
func ownMeters(r *load.Result) []*load.MeterResult {
	own := slices.DeleteFunc(slices.Clone(r.Meters), func(m *load.MeterResult) bool {
		return m == nil || ofEvery().MatchString(m.Name) || strings.Contains(m.Name, "{")
	})
	return own[:min(mostOfRequests, len(own))]
}

// meterLine is a meter on a page.
func meterLine(m *load.MeterResult, during time.Duration) string {
	stats := load.MeterStats(m.Kind)
	if m.Kind == load.TrendMeter {
		stats = []string{"med", "p(95)", "max"}
	}
	row := meterRow(m, stats, during)
	for i, stat := range stats {
		stats[i] = stat + " " + row[i+1]
	}
	return plain.Clip(row[0]+": "+strings.Join(stats, ", "), textWidth-len(gutter))
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
				t.rows = append(t.rows, meterRow(m, stats, r.MeterTime()))
			}
		}
		if len(t.rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func meterRow(m *load.MeterResult, stats []string, during time.Duration) []string {
	row := []string{plain.Line(m.Name)}
	for _, stat := range stats {
		value, _ := m.Stat(stat, during)
		if m.Time {
			row = append(row, unit.Duration(value*float64(time.Millisecond)))
		} else {
			row = append(row, unit.Number(value))
		}
	}
	return row
}
