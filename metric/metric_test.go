package metric_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/hist"
	"contend/internal/perf"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// recorded is a histogram of 1, 2, … 100 times the unit.
func recorded(unit time.Duration) *hist.Histogram {
	h := hist.New()
	for i := range 100 {
		h.Record(time.Duration(i+1) * unit)
	}
	return h
}

// result is 2 s in which 200 of 230 planned iterations did 5 operations each.
func result() *load.Result {
	r := &load.Result{Duration: 2 * time.Second, ThroughputPerSec: 500, Counts: load.NewCounts()}
	r.Planned, r.Completed, r.Failed, r.Dropped, r.Unfinished, r.Ops = 230, 200, 7, 11, 3, 1000
	r.Errored = map[errkind.Kind]int64{errkind.Timeout: 4, errkind.Reset: 5}
	r.Resent = 4
	r.BytesIn, r.BytesOut = 8000, 3000
	r.GeneratorCPUSec, r.Server = 0.5, &load.Usage{CPUSec: 0.25, RSSBytes: 5000}
	r.Server.VoluntarySwitches, r.Server.InvoluntarySwitches, r.Server.WaitedSec = 3000, 2000, 0.001
	r.Server.DiskWritten = 4_096_000
	r.Counted = &load.Counted{Events: map[perf.Event]load.Events{
		perf.Instructions: {Count: 120_000, Ops: 20}, perf.KernelInstructions: {Count: 60_000, Ops: 20},
		perf.Cycles: {Count: 80_000, Ops: 10}, perf.KernelCycles: {Count: 50_000, Ops: 10},
		perf.CacheMisses: {Count: 30, Ops: 10}, perf.BranchMisses: {Count: 25, Ops: 10}, perf.PageFaults: {Count: 2, Ops: 10},
	}}
	r.Response, r.Service, r.StartLag = recorded(100), recorded(10), recorded(1)
	r.Connect, r.FirstByte, r.Exchange, r.Message = recorded(1000), recorded(2000), recorded(3000), recorded(4000)
	return r
}

func TestRead(t *testing.T) {
	want := map[metric.Name]float64{
		"throughput_per_s":     500,
		"server_cpu_ns_per_op": 250_000, "generator_cpu_ns_per_op": 500_000, // 0.25 s and 0.5 s ÷ 1000
		"server_instructions_per_op": 6000, "server_kernel_instructions_per_op": 3000, // ÷ 20
		"server_cycles_per_op": 8000, "server_kernel_cycles_per_op": 5000, "server_cache_misses_per_op": 3,
		"server_branch_misses_per_op": 2.5, "server_page_faults_per_op": 0.2, // ÷ 10
		"server_voluntary_switches_per_op": 3, "server_involuntary_switches_per_op": 2, "server_waited_ns_per_op": 1000, // ÷ 1000
		"server_rss_bytes": 5000, "server_disk_written_bytes_per_op": 4096, // ÷ 1000
		"wall_ns_per_op": 2_000_000, // 2 s ÷ 1000
		"errors":         16,        // 7 + 4 + 5
		"planned":        230, "completed": 200, "failed": 7, "errored": 9, "resent": 4, "dropped": 11, "unfinished": 3,
		"bytes_in": 8000, "bytes_out": 3000, "bytes_in_per_s": 4000, "bytes_out_per_s": 1500, // ÷ 2 s
	}
	// Of 1 to 100: their mean is 50.5, which histograms have in whole nanoseconds.
	statistics := map[string]float64{"mean": 50.5, "min": 1, "p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99, "p999": 100, "max": 100}
	for name, unit := range map[string]float64{"response": 100, "service": 10, "start_lag": 1, "connect": 1000, "first_byte": 2000, "exchange": 3000, "message": 4000} {
		for s, x := range statistics {
			want[metric.Name(name+"_"+s+"_ns")] = x * unit
		}
	}
	for name, x := range want {
		got, ok := name.Of(result())
		if !ok || got < x*0.999-0.5 || got > x*1.001+0.5 { // percentiles are up to 0.1% too high
			t.Errorf("%s is %v, %v, want %v", name, got, ok, x)
		}
		if err := name.Check(); err != nil {
			t.Error(err)
		}
	}
	if names := metric.Names(); len(names) != len(want) || !slices.IsSorted(names) {
		t.Errorf("%d metrics, want the %d that are tested: %q", len(names), len(want), names)
	}
}

// The rates of a result are not shown next to others if too much of it is missing: 14
// of 230 are 6%.
func TestBeside(t *testing.T) {
	r := result()
	rates := []metric.Name{metric.Throughput, metric.WallPerOp, "bytes_in_per_s", "bytes_out_per_s"}
	for _, text := range metric.Names() {
		name := metric.Name(text)
		if _, ok := name.Beside(r); ok == slices.Contains(rates, name) {
			t.Errorf("%s of a part: shown %v", name, ok)
		}
	}
	r.Plan.MaxUnfinished = 0.1
	for _, name := range rates {
		if got, ok := name.Beside(r); !ok || got == 0 {
			t.Errorf("%s where a tenth may be missing: %v, %v", name, got, ok)
		}
	}
}

// A metric that a result does not have has no value.
func TestUnknown(t *testing.T) {
	empty := &load.Result{Counts: load.NewCounts()}
	known := []metric.Name{"errors", "planned", "completed", "failed", "errored", "resent", "dropped", "unfinished", "bytes_in", "bytes_out"}
	for _, lacks := range []func(*load.Result){func(r *load.Result) { r.Ops = 0 }, func(r *load.Result) { r.Server.DiskWritten = 0 }} {
		r := result()
		lacks(r)
		if x, ok := metric.Name("server_disk_written_bytes_per_op").Of(r); ok {
			t.Errorf("%v bytes are written in each of %d operations", x, r.Ops)
		}
	}
	for _, text := range metric.Names() {
		name := metric.Name(text)
		if _, ok := name.Of(empty); ok != slices.Contains(known, name) {
			t.Errorf("%s of nothing: %v", name, ok)
		}
	}
	r := result()
	r.Server, r.GeneratorCPUSec = nil, 0
	for _, name := range []metric.Name{metric.ServerCPUPerOp, metric.ServerRSS, metric.GeneratorCPUPerOp, "speed"} {
		if value, ok := name.Of(r); ok {
			t.Errorf("%s is %v", name, value)
		}
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[metric.Name]struct {
		unit    string
		verdict stat.Kind
	}{
		metric.Throughput: {"/s", stat.HigherIsFaster}, metric.WallPerOp: {"ns", stat.LowerIsFaster},
		metric.ServerCPUPerOp: {"ns", stat.Amount}, metric.ServerRSS: {"B", stat.Amount},
		"bytes_in_per_s": {"B/s", stat.Amount}, metric.Errors: {"", stat.Amount},
		"start_lag_p99_ns": {"ns", stat.LowerIsFaster},
		// Names of published figures that are not in the table.
		"rpc_mean_ns": {"ns", stat.LowerIsFaster}, "allocs_per_op": {"", stat.Amount}, "alloc_bytes_per_op": {"B", stat.Amount},
	} {
		if kind := name.Kind(); kind.Unit() != want.unit || kind.Verdict() != want.verdict {
			t.Errorf("%s: unit %q and %v, want %q and %v", name, kind.Unit(), kind.Verdict(), want.unit, want.verdict)
		}
	}
}

// The row of a metric is all that there is: its name ends in its unit, it has
// words, and these do not say the same of two.
func TestRows(t *testing.T) {
	words := map[string]metric.Name{}
	for _, text := range metric.Names() {
		name := metric.Name(text)
		if other, taken := words[name.Words()]; taken || name.Words() == "" {
			t.Errorf("%s is called %q, as %s is", name, name.Words(), other)
		}
		words[name.Words()] = name
		ends := map[string]string{"ns": "_ns", "/s": "_per_s", "B/s": "_per_s"}[name.Kind().Unit()]
		if !strings.HasSuffix(strings.TrimSuffix(text, "_per_op"), ends) {
			t.Errorf("%s is in %q", name, name.Kind().Unit())
		}
	}
	for _, row := range metric.Rows() {
		if row.Means == "" {
			t.Errorf("nothing explains %s", row.Name)
		}
	}
}

func TestPercentiles(t *testing.T) {
	for name, want := range map[metric.Name]float64{"response_p50_ns": 0.5, "exchange_p999_ns": 0.999, "response_mean_ns": 0, "errors": 0, "speed": 0} {
		if q, ok := name.Percentile(); q != want || ok != (want > 0) {
			t.Errorf("%s is the quantile %v, %v; want %v", name, q, ok, want)
		}
	}
	r := result()
	r.Exchange = nil
	for name, want := range map[metric.Name]int64{"response_p50_ns": 100, "connect_max_ns": 100, "exchange_p99_ns": 0, "errors": 0} {
		if n, ok := name.Recorded(r); n != want || ok != (want > 0) {
			t.Errorf("%s rests on %d times, %v; want %d", name, n, ok, want)
		}
		middle := want / 2 // of 100 times, each a hundredth longer than the one before, half are longer than the 50th
		if longer, of := name.Longer(r, r.Response.Quantile(0.5)); name == "response_p50_ns" && longer != middle || of != want {
			t.Errorf("%d of %d times of %s are longer than its median, want %d", longer, of, name, middle)
		}
		if log, standardError, ok := name.Estimate(r); name == "response_p50_ns" && math.Abs(log-math.Log(5000)) > 0.05 || ok != (standardError > 0) {
			t.Errorf("%s is e to the power of %v ± %v, %v", name, log, standardError, ok)
		}
	}
}

// Printed names are read, and each spelling means one metric.
func TestParse(t *testing.T) {
	for text, want := range map[string]metric.Name{
		"throughput_per_s": "throughput_per_s", "throughput": "throughput_per_s", "Throughput": "throughput_per_s",
		"p99": "response_p99_ns", "p99.9": "response_p999_ns", "p999": "response_p999_ns", "mean": "response_mean_ns",
		"response p99": "response_p99_ns", "response time p99": "response_p99_ns", "response_p99": "response_p99_ns",
		"service p50": "service_p50_ns", "first byte max": "first_byte_max_ns", "start lag p99.9": "start_lag_p999_ns",
		"server CPU per op": "server_cpu_ns_per_op", "bytes in": "bytes_in", "bytes in per second": "bytes_in_per_s", "errors": "errors",
		"rps": "throughput_per_s", "Req/s": "throughput_per_s",
	} {
		if got, ok := metric.Parse(text); got != want || !ok {
			t.Errorf("%q is %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "speed", "p42", "total_time_ns"} { // somebody's own figure keeps its name
		if got, ok := metric.Parse(text); ok || got != metric.Name(text) {
			t.Errorf("%q is %q, %v", text, got, ok)
		}
	}
	for _, text := range metric.Names() {
		name := metric.Name(text)
		for _, printed := range []string{text, name.Words(), name.ShortWords(), strings.ToUpper(name.Words())} {
			if got, ok := metric.Parse(printed); got != name || !ok {
				t.Errorf("%q of %s is read as %q", printed, name, got)
			}
		}
	}
	for _, named := range []string{"throughput", "errors", "server CPU per op", "server memory", "mean", "p50", "p90", "p99", "p99.9", "max", "service p99"} {
		if _, ok := metric.Parse(named); !ok || !strings.Contains(metric.Name("speed").Check().Error(), named) {
			t.Errorf("%q is said to be allowed", named)
		}
	}
}

// An unknown name gets the one list of what is allowed, and what was meant.
func TestCheck(t *testing.T) {
	for _, name := range []metric.Name{"", "speed", "response_p42_ns", "latency_p99_ns", "response_p99", "_p99_ns"} {
		if name.Check() == nil {
			t.Errorf("metric %q was accepted", name)
		}
	}
	text := metric.Name("thruput").Check().Error()
	want := `metric is "thruput"; expected throughput, errors, server CPU per op, server memory, and mean, p50, p90, p95, p99, p99.9 or max of response times, ` +
		`as of others in service p99; contend explain --full metric lists all`
	if text != want {
		t.Errorf("error\n%s\nwant\n%s", text, want)
	}
	for text, want := range map[metric.Name]string{
		"reponse_p99_ns": "response_p99_ns", "responce p99": "response p99",
		"server_cpu": "server CPU per op", "Memory": "server memory", "rss": "server memory", // a part of its name or of its words
	} {
		if text := text.Check().Error(); !strings.HasSuffix(text, ` (did you mean "`+want+`"?)`) {
			t.Errorf("error\n%s", text)
		}
	}
}

// Each histogram is one of its own, and what callers do to the tables is theirs alone.
func TestTables(t *testing.T) {
	counts := load.NewCounts()
	counts.FailedService, counts.ErroredService = recorded(1), recorded(1)
	seen := map[*hist.Histogram]string{}
	for _, h := range metric.Histograms() {
		of := h.Of(&counts)
		if other, again := seen[of]; again && of != nil {
			t.Errorf("%s is %s", h.Words, other)
		}
		seen[of] = h.Words
	}
	if seen[counts.FailedService] != "service time, failed" || seen[counts.ErroredService] != "service time, errored" {
		t.Errorf("%v", seen)
	}
	metric.Histograms()[0], metric.Statistics()[0], metric.Rows()[0] = metric.Histogram{}, metric.Statistic{}, metric.Row{}
	if metric.Histograms()[0].Of == nil || metric.Statistics()[0].Of == nil || metric.Rows()[0].Name == "" {
		t.Error("a table was changed")
	}
}

func TestWhatAMetricIs(t *testing.T) {
	if got := metric.Throughput.Kind().Verdict(); got != stat.HigherIsFaster {
		t.Errorf("throughput: %v", got)
	}
	for name, want := range map[metric.Name]bool{metric.ResponseP99: true, "service_p99_ns": false, metric.Throughput: false} {
		if got := name.IsResponse(); got != want {
			t.Errorf("%s is of response times: %v", name, got)
		}
	}
	if event, ok := metric.ServerInstructions.Event(); !ok || event != perf.Instructions {
		t.Errorf("instructions: %q, %v", event, ok)
	}
	if event, ok := metric.Throughput.Event(); ok {
		t.Errorf("throughput counts %q", event)
	}
	var n metric.Name
	if err := n.UnmarshalText([]byte("Throughput")); err != nil || n != metric.Throughput || n.Margin() <= 0 {
		t.Errorf("%q, %v", n, err)
	}
}
