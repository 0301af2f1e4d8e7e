package report_test

import (
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// judged is a document of one comparison of B with A at 10 VUs.
func judged(m metric.Name, ratio, low, high float64, verdict stat.Verdict) *report.Document {
	d := document("compare")
	e := stat.Effect{Ratio: ratio, Low: low, High: high, P: 0.001, Level: 0.05, Rounds: 16}
	if low > 0 {
		e.Confidence = 0.95
	}
	d.Comparisons = []report.Comparison{{Comparison: trial.Comparison{Baseline: "A", Candidate: "B", Concurrency: 10, Metric: m, Primary: true,
		Verdict: verdict, Margin: 0.02, BaselineValue: 100, CandidateValue: 100 * ratio, Effect: e}}}
	return d
}

// The first line has the direction, the size and the interval, at twice as much and above as a factor.
func TestFirstLineOfAComparison(t *testing.T) {
	const throughput, p99, cpu = metric.Throughput, metric.ResponseP99, metric.ServerCPUPerOp
	for _, tt := range []struct {
		metric           metric.Name
		ratio, low, high float64
		verdict          stat.Verdict
		want             string
	}{
		{throughput, 0.947, 0.936, 0.959, stat.Slower, "B is 5.3% slower than A (95% CI 4.1% to 6.4%)"},
		{throughput, 1.1, 1.09, 1.12, stat.Faster, "B is 10.0% faster than A (95% CI 9.0% to 12.0%)"},
		{throughput, 32.1, 30, 34, stat.Faster, "B has 32.1× the throughput of A (95% CI 30.0× to 34.0×)"},
		{throughput, 0.25, 0.2, 0.3125, stat.Slower, "B has 0.250× the throughput of A (95% CI 0.200× to 0.312×)"},
		{throughput, 0.6, 0.45, 0.8, stat.Slower, "B is 40.0% slower than A (95% CI 20.0% to 55.0%)"}, // the estimate is no factor
		{throughput, 1.2, 0.26, 5.63, stat.Inconclusive, "Cannot tell yet whether B is faster than A: 20.0% faster (95% CI 74.0% slower to 463.0% faster)"},
		{throughput, 0.4, 0, 0, stat.Inconclusive, "Cannot tell yet whether B is faster than A: 0.400× the throughput (no interval)"},
		{throughput, 1.001, 0.999, 1.002, stat.Equivalent, "B is as fast as A, within ±2% (95% CI 0.1% slower to 0.2% faster)"},
		{throughput, 1.03, 0.98, 1.08, stat.Inconclusive, "Cannot tell yet whether B is faster than A: 3.0% faster (95% CI 2.0% slower to 8.0% faster)"},
		{throughput, 1.5, 0, 0, stat.Inconclusive, "Cannot tell yet whether B is faster than A: 50.0% faster (no interval)"},
		{throughput, 0.9, 0.8, 0.95, stat.Invalid, "No result: the throughput of B and A cannot be compared: INVALID"},
		{p99, 1.05, 1.04, 1.06, stat.Slower, "B has 5.0% longer response time p99 than A (95% CI 4.0% to 6.0%)"},
		{p99, 3, 2.5, 4, stat.Slower, "B has 3.00× the response time p99 of A (95% CI 2.50× to 4.00×)"},
		{p99, 0.25, 0.2, 0.3125, stat.Faster, "B has 0.250× the response time p99 of A (95% CI 0.200× to 0.312×)"},
		{p99, 1.2, 0.26, 56.3, stat.Inconclusive, "Cannot tell yet whether the response time p99 of B and A differ: 1.20× (95% CI 0.260× to 56.3×)"},
		{p99, 1.8, 1.5, 2.2, stat.Slower, "B has 80.0% longer response time p99 than A (95% CI 50.0% to 120.0%)"},
		{cpu, 0.9, 0.88, 0.91, stat.Less, "B has 10.0% less server CPU per op than A (95% CI 9.0% to 12.0%)"},
		{cpu, 1, 0.99, 1.01, stat.Equivalent, "The server CPU per op of B equals that of A, within ±2% (95% CI 1.0% less to 1.0% more)"},
	} {
		b := briefOf(t, judged(tt.metric, tt.ratio, tt.low, tt.high, tt.verdict))
		if got := strings.TrimSuffix(b, "\n"); got != tt.want {
			t.Errorf("%s × %g is said as\n%s, want\n%s", tt.metric, tt.ratio, got, tt.want)
		}
	}
}

// The second line has the verdict, its status and how it was measured.
func TestSecondLineOfAComparison(t *testing.T) {
	for _, tt := range []struct {
		verdict  stat.Verdict
		level    float64
		warnings []finding.Warning
		rounds   int
		time     time.Duration
		want     string
	}{
		{stat.Slower, 0.016, nil, 0, 0, "SLOWER, valid: 16 rounds, servers restarted in each, at concurrency 10"},
		{stat.Equivalent, 0.016, []finding.Warning{finding.IdenticalValues.Warning("the values never vary")}, 0, 0,
			"EQUIVALENT, valid with 1 caveat (!): 16 rounds, servers restarted in each, at concurrency 10"},
		{stat.Faster, 0.016, []finding.Warning{finding.RoundsNotFresh.Warning("not restarted")}, 0, 0, "FASTER, valid with 1 caveat (!): 16 rounds at concurrency 10"},
		{stat.Inconclusive, 0.05, nil, 169, 0, "INCONCLUSIVE, which is not \"equal\": 16 rounds at concurrency 10; about 169 more would settle it"},
		{stat.Inconclusive, 0.05, nil, 169, 130 * time.Second, "INCONCLUSIVE, which is not \"equal\": 16 rounds at concurrency 10; about 3 min more would settle it"},
		{stat.Inconclusive, 0.05, nil, 0, 0, "INCONCLUSIVE, which is not \"equal\": 16 rounds at concurrency 10"},
		{stat.Invalid, 0.05, nil, 0, 0, "INVALID: no reason is given"},
	} {
		d := judged(metric.Throughput, 1.01, 0.98, 1.04, tt.verdict)
		c := &d.Comparisons[0].Comparison
		c.Level, c.Warnings, c.RoundsNeeded, c.TimeNeeded = tt.level, tt.warnings, tt.rounds, tt.time
		b := screenOf(t, d)
		if _, rest, _ := strings.Cut(b, "\n"); !strings.HasPrefix(rest, strings.TrimSpace(tt.want)+"\n") {
			t.Errorf("%s\n, want behind the first line\n%s", b, tt.want)
		}
	}
}

// Of several that are undecided an experiment's answer names all, and the range in which each may be.
func TestSeveralUndecided(t *testing.T) {
	undecided := func(candidates ...string) *report.Document {
		d := document("lab")
		d.Experiments = []report.Experiment{{ID: "locks", Title: "Locks", Question: "Is B faster?", Status: "done", Parts: []report.Part{{Name: "one"}}}}
		for i, candidate := range candidates {
			c := judged(metric.Throughput, 1.01, 0.98-float64(i)/50, 1.04, stat.Inconclusive).Comparisons[0]
			c.Place, c.Candidate, c.Concurrency = report.Place{Experiment: "locks", Part: "one"}, candidate, 10*(1+i)
			d.Comparisons = append(d.Comparisons, c)
		}
		return d
	}
	for _, tt := range []struct {
		d    *report.Document
		want string
	}{
		{undecided("B"), "Cannot tell yet whether B is faster than A: 1.0% faster (2.0% slower to 4.0% faster) at concurrency 10 INCONCLUSIVE"},
		{undecided("B", "B"), "Cannot tell yet: B compared with A at concurrency 10 and 20 (4.0% slower to 4.0% faster) INCONCLUSIVE"},
		{undecided("B", "C"), "Cannot tell yet: B at concurrency 10, C at concurrency 20 (4.0% slower to 4.0% faster) INCONCLUSIVE"},
	} {
		if page := strings.Join(strings.Fields(screenOf(t, tt.d)), " "); !strings.Contains(page, tt.want) {
			t.Errorf("%q lacks %q", page, tt.want)
		}
	}
}

// Without a successful response the page says what came instead, and what to do.
func TestWithoutASuccess(t *testing.T) {
	timeouts := map[errkind.Kind]int64{errkind.Timeout: 50}
	for _, tt := range []struct {
		change      func(*load.Result)
		first, next string
	}{
		{func(r *load.Result) { r.Planned, r.Unfinished = 0, 0 }, "No request started within the 10.0 s measured", ""},
		{func(r *load.Result) { r.Unfinished, r.Stopped = 50, load.Interrupted }, "Interrupted before the first response", ""},
		{func(r *load.Result) { r.Unfinished, r.Plan.Grace = 50, time.Second }, "No response within 10s (plus 1s grace)", ""},
		{func(r *load.Result) { r.Errored = timeouts }, "Every request timed out: none of 50 responses arrived within 5s", "than the 5s of --timeout"},
		{func(r *load.Result) { r.Errored, r.Plan.Timeout = timeouts, 0 }, "Every request timed out: none of 50 responses arrived in time", "than the script does"},
		{func(r *load.Result) { r.Failed, r.Statuses = 50, map[int]int64{405: 50} }, "", "send a method that the server allows there (-X)"},
		{func(r *load.Result) { r.Errored = map[errkind.Kind]int64{errkind.Reset: 50} }, "", "check the server log for why it does not respond"},
	} {
		r := closedResult("http://localhost:8080/", 10, 0)
		r.Planned = 50
		tt.change(r)
		page := strings.Join(strings.Fields(screenOf(t, runDocument(r))), " ")
		if !strings.HasPrefix(page, tt.first) || !strings.Contains(page, tt.next) {
			t.Errorf("%q, want %q and then %q", page, tt.first, tt.next)
		}
	}
}

// The answer says what failed within flows that ran to their end.
func TestFlowsOfWhichPartsFailed(t *testing.T) {
	r := closedResult("shop.js", 10, 1000)
	r.Plan.WholeFlows = true
	times := spread(100, time.Millisecond, 2*time.Millisecond)
	r.Requests = map[string]*load.RequestResult{"GET /": {Completed: 1500, Service: times}, "POST /order": {Completed: 450, Failed: 50, Service: times}}
	r.Checks = []load.CheckResult{{Name: "ordered", Passed: 990, Failed: 10}}
	page := strings.Join(strings.Fields(screenOf(t, runDocument(r))), " ")
	if want := "p99 146 ms, 10 of 1,000 checks failed (1%), 50 of 2,000 requests failed (2.5%)"; !strings.Contains(page, want) {
		t.Errorf("%q lacks %q", page, want)
	}
}

// The first line names p99 where one answer in a hundred can be slower; so do the rows of percentiles.
func TestPercentilesTakeAnswers(t *testing.T) {
	for n, want := range map[int64]struct{ first, rows string }{
		5:    {", slowest ", "p50 max"},
		10:   {", slowest ", "p50 p90 max"},
		19:   {", slowest ", "p50 p90 max"},
		99:   {", slowest ", "p50 p90 p95 max"},
		100:  {", p99 ", "p50 p90 p95 p99 max"},
		999:  {", p99 ", "p50 p90 p95 p99 max"},
		1000: {", p99 ", "p50 p90 p95 p99 p99.9 max"},
	} {
		b := screenOf(t, runDocument(closedResult("http://localhost:8080/", 1, n)))
		first, rest, _ := strings.Cut(b, "\n")
		var rows []string
		for line := range strings.Lines(rest) {
			if words := strings.Fields(line + " ."); strings.HasPrefix(words[0], "p") || words[0] == "max" {
				rows = append(rows, words[0])
			}
		}
		if got := strings.Join(rows, " "); !strings.Contains(first, want.first) || got != want.rows {
			t.Errorf("of %d answers %q and rows of %s; want %q and %s", n, first, got, want.first, want.rows)
		}
	}
}

// What is undecided is not counted as failed.
func TestAnExcuseIsNoFailure(t *testing.T) {
	d := expectedOf("p99 < 20ms", "throughput > 3000")
	d.Expectations[0].Excuse = finding.StartLag.Refusal("iterations started late")
	d.Expectations[1].Held, d.Expectations[1].Detail = false, "throughput was 2,000/s"
	b := screenOf(t, d)
	for _, want := range []string{"FAIL: throughput > 3000: throughput was 2,000/s (1 of 2 expectations failed)\n", "\n  undecided  p99 < 20ms: iterations started late\n", "\n  FAIL       throughput > 3000: throughput was 2,000/s\n"} {
		if !strings.Contains(b, want) {
			t.Errorf("%q is not on the page:\n%s", want, b)
		}
	}
}

// A colour says nothing that the words do not.
func TestColour(t *testing.T) {
	var plain, coloured strings.Builder
	d := judged(metric.Throughput, 0.9, 0.89, 0.91, stat.Slower)
	if d.Screen(&plain, report.Look{}) != nil || d.Screen(&coloured, report.Look{Colour: true}) != nil {
		t.Fatal("no screen")
	}
	first, rest, _ := strings.Cut(plain.String(), "\n")
	if want := "\x1b[31m" + first + "\x1b[0m\n" + rest; coloured.String() != want {
		t.Errorf("in colour it is %q, want %q", coloured.String(), want)
	}
}

// A command line is broken between words as a shell has them, with a backslash.
func TestNextIsPasted(t *testing.T) {
	d := judged(metric.Throughput, 0.9, 0.89, 0.91, stat.Slower)
	one, other := "'./orders -mode lock -listen {{addr}} -log /var/log/orders.log'", "'./orders -mode queue -listen {{addr}} -log /var/log/orders.log'"
	d.Then(report.Step{Purpose: "see whether it holds at other concurrencies", Command: "contend compare -c 1,10,100 --url 'http://{{addr}}/a b' -- " + one + " " + other})
	var b strings.Builder
	if err := d.Screen(&b, report.Look{}); err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(b.String(), "Next: ")
	if want := "see whether it holds at other concurrencies\n  contend compare -c 1,10,100 --url 'http://{{addr}}/a b' -- \\\n    " + one + " \\\n    " + other + "\n"; last != want {
		t.Errorf("the last lines are\n%s, want\n%s", last, want)
	}
	d.Then(report.Step{Purpose: report.EveryNumber, Command: "contend compare --full --url http://{{addr}}/ -- " + strings.Repeat("x", 100) + " b"})
	if b.Reset(); d.Screen(&b, report.Look{}) != nil || !strings.HasSuffix(b.String(), "\nNext: see every number: the same command with --full\n") {
		t.Error(b.String())
	}
}

// A share has three digits in the second line and in what was measured, and nearly all is not written as a power of ten.
func TestSharesOnScreen(t *testing.T) {
	for failed, want := range map[int64]string{5: "0.5%", 75: "7.5%", 996: "99.6%"} {
		r := closedResult("http://localhost:8080/", 10, 1000-failed)
		r.Planned, r.Failed = 1000, failed
		b := screenOf(t, runDocument(r))
		page := strings.Join(strings.Fields(b), " ")
		for _, line := range []string{"of 1,000 iterations failed (" + want + ")", " failed (" + want + ") "} {
			if !strings.Contains(page, line) {
				t.Errorf("%d of 1,000 failed: %q is missing in\n%s", failed, line, b)
			}
		}
	}
}
