package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"contend/errkind"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/report/plain"
)

// run writes a single result in full; of uplinks, with what belongs to them.
func run(v *view, r *load.Result, u *Uplink) {
	v.head("%s", r.Target)
	v.bullet("%s", arrivals(r, u))
	v.bullet("concurrency %d, %s measured, stopped by: %s", r.Concurrency, window(r.Duration), r.Stopped)
	for _, w := range r.Changes {
		v.bullet("%s", w.Text)
	}
	if u == nil || !u.incomplete(r) { // else it is that of the uplinks that came
		v.bullet("throughput %s/s (successful responses only)", unit.Number(r.ThroughputPerSec))
	}
	v.bullet("%s planned = %s completed + %s failed + %s errored + %s dropped + %s unfinished",
		unit.Count(r.Planned), unit.Count(r.Completed), unit.Count(r.Failed), unit.Count(r.ErroredTotal()),
		unit.Count(r.Dropped), unit.Count(r.Unfinished))
	if len(r.Statuses) > 0 {
		v.bullet("answers by status: %s", statuses(r.Statuses))
	}
	v.bullet("%s in, %s out", unit.Bytes(float64(r.BytesIn)), unit.Bytes(float64(r.BytesOut)))
	v.bullet("%s", generator(r))
	if text, known := server(r); known {
		v.bullet("%s", text)
	}
	v.table(times(r))
	v.table(generatorTable(r))
	v.table(scenarioTable(r))
	v.table(requestTable(r))
	v.table(checkTable(r))
	for _, t := range meterTables(r) {
		v.table(t)
	}
	v.table(wrongTable("failed", failures(r)))
	v.table(wrongTable("errored", kindsOf(r)))
	if u != nil {
		u.write(v, r)
	}
	care(v, r.Warnings)
}

// arrivals says when iterations begin.
func arrivals(r *load.Result, u *Uplink) string {
	switch {
	case r.Model == load.OpenModel && r.Timer != "":
		text := fmt.Sprintf("open model: arrivals %s, paced by the %s timer", r.Plan.Pacer, r.Timer)
		if lag := r.StartLagAllowed; lag > 0 {
			text += fmt.Sprintf(", started up to %s late to start together", unit.Duration(float64(lag)))
		}
		return text
	case r.Model == load.OpenModel:
		return fmt.Sprintf("open model: arrivals %s", r.Plan.Pacer)
	case u != nil:
		return "no rate: uplinks are sent as fast as they are taken, and wait on their way"
	case r.Model == load.MixedModel:
		return "scenarios side by side, of the closed and of the open model"
	case r.Plan.Callers != nil:
		return fmt.Sprintf("closed model: each caller waits for its answer; callers %s", r.Plan.Callers)
	}
	return "closed model: each caller waits for its answer"
}

// window formats the length of a measured window.
func window(d time.Duration) string {
	if d >= 100*time.Second {
		return d.Round(time.Second).String()
	}
	return unit.Duration(float64(d))
}

func times(r *load.Result) table {
	t := table{columns: []string{"time"}}
	for _, s := range metric.Statistics() {
		t.columns = append(t.columns, s.Words)
	}
	for _, h := range metric.Histograms() {
		recorded := h.Of(&r.Counts)
		if recorded == nil || recorded.Count() == 0 {
			continue
		}
		row := []string{h.Words}
		for _, s := range metric.Statistics() {
			row = append(row, unit.Duration(float64(s.Of(recorded))))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// requestTable lists the named requests.
func requestTable(r *load.Result) table {
	t := table{columns: []string{"request", "completed", "failed", "errored", "service mean", "p50", "p99"}}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		n := r.Requests[name]
		t.rows = append(t.rows, []string{plain.Line(name), unit.Count(n.Completed), unit.Count(n.Failed), unit.Count(n.Errored),
			unit.Duration(float64(n.Service.Mean())), unit.Duration(float64(n.Service.Quantile(0.5))), unit.Duration(float64(n.Service.Quantile(0.99)))})
	}
	return t
}

// A wrong is a way in which iterations failed, with the first example.
type wrong struct {
	what    string
	count   int64
	example string
}

// longestExample is how much of an error text is shown; the document has all.
const longestExample = 120

// failures lists the causes of the failed answers.
func failures(r *load.Result) (list []wrong) {
	for _, f := range r.Faults {
		list = append(list, wrong{plain.Line(f.Cause()), f.Count, plain.Clip(plain.Line(f.Example), longestExample)})
	}
	return list
}

// kindsOf lists the error kinds in their order, and kinds unknown to this
// version after them.
func kindsOf(r *load.Result) (list []wrong) {
	kinds := errkind.All()
	for _, kind := range slices.Sorted(maps.Keys(r.Errored)) {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		if n := r.Errored[kind]; n > 0 {
			list = append(list, wrong{string(kind), n, plain.Clip(plain.Line(r.Examples[kind]), longestExample)})
		}
	}
	return list
}

func wrongTable(what string, list []wrong) table {
	t := table{columns: []string{what, "count", "first example"}}
	for _, w := range list {
		t.rows = append(t.rows, []string{w.what, unit.Count(w.count), w.example})
	}
	return t
}

func statuses(byStatus map[int]int64) string {
	var list []string
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		list = append(list, fmt.Sprintf("%d: %s", status, unit.Count(byStatus[status])))
	}
	return strings.Join(list, ", ")
}

func generator(r *load.Result) string {
	text := fmt.Sprintf("generator: %s of CPU time in %s on %s", unit.Duration(1e9*r.GeneratorCPUSec), unit.Duration(float64(r.Duration)), engine(r))
	if by := drivenBy(r); by != "" {
		text += ", " + by
	}
	if r.GeneratorShare != nil {
		text += fmt.Sprintf("; %s of each caller's cycle was spent in the generator", unit.Percent(*r.GeneratorShare))
	}
	return text
}

// server says what the server used, as the generator's line does of that; false: not known.
func server(r *load.Result) (text string, known bool) {
	perOp, known := metric.ServerCPUPerOp.Of(r)
	if !known {
		return "", false
	}
	return fmt.Sprintf("server: %s of CPU time, %s for each operation", unit.Duration(1e9*r.Server.CPUSec), unit.Duration(perOp)), true
}

// engine says what drove the VUs.
func engine(r *load.Result) string {
	if r.Engine == load.EventLoop {
		return plural(r.Loops, "event loop")
	}
	text := plural(r.GeneratorCores, "core")
	if r.EngineReason != "" {
		text += fmt.Sprintf(" (a goroutine for each caller, not event loops: %s)", plain.Line(r.EngineReason))
	}
	return text
}
