package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"contend/count"
	"contend/finding"
	"contend/history"
	"contend/report"
	"contend/stat"
	"contend/trial"
	"contend/why"
)

// ofInstructions is a document of instructions that were counted, whose verdict is this.
func ofInstructions(verdict stat.Verdict, difference float64) *report.Document {
	of := func(baseline, value, reach float64) count.Difference {
		return count.Difference{Baseline: baseline, Candidate: baseline + value, Value: value, Low: value - reach, High: value + reach, Level: 0.005}
	}
	d := &report.Document{Schema: report.Schema, Command: "compare", Arms: []report.Arm{{Name: "A", Does: "./a -listen {{addr}}"}, {Name: "B", Does: "./b -listen {{addr}}"}}}
	counts := count.Counts{Tool: "valgrind-3.19.0", Arms: []string{"A", "B"}, Operation: "request", Concurrency: 32, Repetitions: 4, Measured: 2500, Margin: count.Margin, Elapsed: 20 * time.Second,
		Comparisons: []count.Comparison{{Baseline: "A", Candidate: "B", Verdict: verdict, Decides: count.Work, Looked: 700,
			Total: of(60_000, difference-500, 900), Work: of(40_000, difference, 10), Scattered: of(20_000, -500, 890),
			Rows: []count.Row{{Name: "main.spinWork", Agrees: true, Difference: of(9000, difference, 0),
				Lines: []count.Line{{Name: "main.go:71", Difference: of(6000, difference, 0)}}}},
			Events:  []count.Event{{Name: "calls of write", Baseline: 1, Candidate: 2, Value: 1, Low: 0.98, High: 1.02, Differs: true}, {Name: "page faults", Baseline: 0.02, Candidate: 0.02, Low: -0.01, High: 0.01}},
			Runtime: []count.Row{{Name: "runtime.findRunnable", Kind: "scheduler", Difference: of(800, -500, 3000)}}}}}
	for range 8 {
		counts.Runs = append(counts.Runs, count.Run{Arm: "A", Repetition: 1, Iterations: 100, Processes: 1, Instructions: 1e6}, count.Run{Arm: "B", Repetition: 1, Iterations: 100, Processes: 1, Instructions: 1e6})
	}
	counts.Missing = []string{"system calls by name: the kernel's tracepoints cannot be read"}
	d.Counts = []report.Counts{{Counts: counts}}
	return followed(d, report.EveryNumber, "contend compare --full --count --url 'http://{{addr}}/' -- './a -listen {{addr}}' './b -listen {{addr}}'")
}

func TestCountPage(t *testing.T) {
	refused := ofInstructions(stat.Invalid, 90)
	refused.Counts[0].Comparisons[0].Reason = finding.NotSteady.Refusal("it grows").About("B")
	scattering := ofInstructions(stat.Inconclusive, 90)
	scattering.Counts[0].Comparisons[0].Decides = count.Total
	scattering.Counts[0].Comparisons[0].Scattered = count.Difference{Baseline: -0.49, Candidate: -0.44, Value: 0.05, Low: -3.55, High: 3.65}
	none := ofInstructions(stat.Invalid, 0)
	none.Counts[0].Measured, none.Counts[0].Comparisons = 0, []count.Comparison{{Baseline: "A", Candidate: "B", Verdict: stat.Invalid, Reason: finding.TooFewRounds.Refusal("0 of 4 repetitions ended")}}
	for name, tt := range map[string]struct {
		d    *report.Document
		want []string // in the order of the page
	}{
		"too late": {none, []string{"No result", "INVALID (too_few_rounds): 0 of 4 repetitions ended; counted under a simulator (valgrind-3.19.0), which shows no time A ./a", "B ./b -listen {{addr}} Next: run the same command with a longer -d"}},
		"more": {ofInstructions(stat.More, 90), []string{"B executes 90.0 more instructions per request (+0.15%, 99.5% CI 80.0 to 100): main.spinWork +90.0",
			"MORE, valid, counted under a simulator (valgrind-3.19.0), which shows no time: 4 repetitions of 2,500 requests at concurrency 32",
			"A ./a -listen {{addr}}", "main.spinWork 9,000 9,090 +90.0 +90.0 … +90.0", "other functions 31,000 31,000 0 -",
			"runtime and scheduling 20,000 19,500 −500 −1,390 … +390", "all", "Without the simulator, per request: calls of write +1.00 (1.00 → 2.00)", "Next: see every number"}},
		"tiny":       {ofInstructions(stat.Equivalent, -0.001), []string{"within ±0.05%: 0 of 60,000", "main.spinWork 9,000 9,000 0 0 … 0"}},
		"less":       {ofInstructions(stat.Less, -90), []string{"B executes 90.0 fewer instructions per request (−0.15%, 99.5% CI 80.0 to 100): main.spinWork −90.0", "LESS, valid"}},
		"equivalent": {ofInstructions(stat.Equivalent, 2), []string{"B executes as many instructions per request as A, within ±0.05%: +2.00 of 60,000", "EQUIVALENT, valid"}},
		"undecided":  {ofInstructions(stat.Inconclusive, 25), []string{"No clear difference between A and B in instructions per request (99.5% CI +0.025% to +0.0583%)", `INCONCLUSIVE, which is not "equal"; counted`}},
		"scattering": {scattering, []string{"No clear difference", "most functions do not do the same in each repetition", "runtime and scheduling −0.490 −0.440 +0.0500"}},
		"refused":    {refused, []string{"No result: the instructions of A and B cannot be compared", "INVALID (not_steady): B: it grows; counted under"}},
	} {
		page := screenOf(t, tt.d)
		rest := strings.Join(strings.Fields(page), " ")
		for _, want := range tt.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Errorf("%s: %q is missing, or not in its place:\n%s", name, want, page)
				break
			}
			rest = after
		}
	}
}

// A history keeps the largest functions, also those that do not differ, as long as a result has a few kilobytes.
func TestHistoryOfCounts(t *testing.T) {
	d := ofInstructions(stat.More, 90)
	d.Environment.Started = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	c := &d.Counts[0].Comparisons[0]
	for i := range 200 {
		c.Others = append(c.Others, count.Cost{Name: fmt.Sprintf("example.org/module/package.(*Type).Method%d", i), Instructions: 1000 - float64(i), Agrees: i > 0})
	}
	kept := d.ForHistory("c1", false)
	if len(kept) != 1 || len(kept[0].Values) == 0 {
		t.Fatalf("%+v", kept)
	}
	v := kept[0].Values[0]
	if len(v.Functions) != 1 || v.Scattered[c.Others[0].Name] != 1000 || len(v.Scattered) != 1 || v.Others[c.Others[1].Name] != 999 {
		t.Errorf("%+v", v)
	}
	if data, err := history.Encode(kept[0]); err != nil || len(data) > 6<<10 || len(v.Others) < 50 {
		t.Errorf("%d bytes with %d functions: %v", len(data), len(v.Others), err)
	}
}

// All forms say what was counted, and the stored document is read again.
func TestCountForms(t *testing.T) {
	d := ofInstructions(stat.More, 90)
	var full strings.Builder
	for _, want := range []string{"main.go:71", "runtime.findRunnable", "page faults", "Not counted: system calls by name"} {
		if err := d.Text(&full); err != nil || !strings.Contains(full.String(), want) {
			t.Errorf("%v, without %s:\n%s", err, want, full.String())
		}
	}
	for format, want := range map[report.Format]string{"markdown": "**B executes 90.0 more instructions per request", "html": "main.spinWork", "junit": `<failure type="MORE"`, "text": "main.go:71", "csv": ",instructions_per_op,"} {
		var b strings.Builder
		if err := format.Write(d, &b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: %v, without %s:\n%s", format, err, want, b.String())
		}
	}
	var stored bytes.Buffer
	if err := d.Write(&stored); err != nil {
		t.Fatal(err)
	}
	var read report.Document
	if err := json.Unmarshal(stored.Bytes(), &read); err != nil || !reflect.DeepEqual(read.Counts, d.Counts) {
		t.Errorf("%v\n%+v\n%+v", err, read.Counts, d.Counts)
	}
	read.Derive()
	if !reflect.DeepEqual(read.Counts, d.Counts) {
		t.Errorf("recomputing changes it: %+v", read.Counts)
	}
}

// Go benchmark lines have all instructions of each repetition, without those of the start, and the verdict above them.
func TestCountedBenchmarks(t *testing.T) {
	d := ofInstructions(stat.More, 90)
	c := &d.Counts[0].Counts
	c.Runs = nil
	for _, arm := range []string{"A", "B"} {
		for repetition, extra := range []int64{0, 4000, -2000} {
			start, each := int64(5e6), int64(60_000)
			if arm == "B" {
				start, each = 7e6, 60_090
			}
			for _, iterations := range []int64{1000, 3000} {
				instructions := start + iterations*each
				if iterations > 1000 {
					instructions += extra
				}
				c.Runs = append(c.Runs, count.Run{Arm: arm, Repetition: 1 + repetition, Iterations: iterations, Instructions: instructions})
			}
		}
	}
	c.Runs = append(c.Runs, count.Run{Arm: "A", Repetition: 4, Iterations: 1000, Instructions: 1}) // the time was up
	var b strings.Builder
	if err := d.Benchmarks(&b); err != nil {
		t.Fatal(err)
	}
	want := `# B executes 90.0 more instructions per request (+0.15%, 99.5% CI 80.0 to 100): main.spinWork +90.0
# MORE, valid, counted under a simulator (valgrind-3.19.0), which shows no time: 3 repetitions of 2,500 requests at concurrency 32
BenchmarkContend/arm=A/vus=32	2500	60000.0 instructions/op
BenchmarkContend/arm=A/vus=32	2500	60002.0 instructions/op
BenchmarkContend/arm=A/vus=32	2500	59999.0 instructions/op
BenchmarkContend/arm=B/vus=32	2500	60090.0 instructions/op
BenchmarkContend/arm=B/vus=32	2500	60092.0 instructions/op
BenchmarkContend/arm=B/vus=32	2500	60089.0 instructions/op
`
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	for line := range strings.Lines(b.String()) {
		if !benchmarkLine.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("%q", line)
		}
	}
}

// Sampled stacks say from where functions are called.
func TestCountedFunctionsHaveTheirCallers(t *testing.T) {
	d := ofInstructions(stat.More, 90)
	d.Environment.Started = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	c := &d.Counts[0].Comparisons[0]
	c.Rows = append(c.Rows, count.Row{Name: "log.formatHeader", Kind: "logging", Difference: c.Rows[0].Difference})
	d.Trials = []report.Trials{{Trials: trial.Trials{Arms: []string{"A", "B"}, Why: &trial.Diagnosis{Calls: []why.Call{{Function: "all", PerOp: []float64{0, 9}},
		{Function: "main.handle", Depth: 1, PerOp: []float64{0, 9}}, {Function: "main.spinWork", Depth: 2, PerOp: []float64{0, 9}}, {Function: "log.formatHeader", Depth: 3, PerOp: []float64{0, 5}}}}}}}
	page := screenOf(t, d)
	text := strings.Join(strings.Fields(page), " ")
	for _, want := range []string{"log.formatHeader +90.0; under main.spinWork by sampled stacks", "main.handle → main.spinWork", "Why: unknown"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing:\n%s", want, page)
		}
	}
}

// A built-in experiment that was counted answers by what was counted, and says how.
func TestCountedLab(t *testing.T) {
	for verdict, want := range map[stat.Verdict][2]string{
		stat.More:         {"B executes 90.0 more instructions per request", "Valid (99.5% CI). Counted under a simulator (valgrind-3.19.0), which shows no time."},
		stat.Inconclusive: {"No clear difference between A and B in instructions", "INCONCLUSIVE (99.5% CI). Counted"},
		stat.Invalid:      {"No result: the instructions of A and B cannot be compared", "INVALID (not_steady)"},
	} {
		d := ofInstructions(verdict, 90)
		d.Command, d.Experiments = "lab", []report.Experiment{{ID: "grpc-guard", Title: "x", Status: "done", Parts: []report.Part{{Name: "kept"}}}}
		d.Counts[0].Place = report.Place{Experiment: "grpc-guard", Part: "kept"}
		if verdict == stat.Invalid {
			d.Counts[0].Comparisons[0].Reason = finding.NotSteady.Refusal("it grows").About("B")
		}
		page := screenOf(t, d)
		if text := strings.Join(strings.Fields(page), " "); !strings.HasPrefix(text, want[0]) || !strings.Contains(text, want[1]) {
			t.Errorf("%s: want %q:\n%s", verdict, want, page)
		}
	}
}

// Counts are of one simulator and one moment: those of two documents are not compared.
func TestCountsOfTwoDocumentsAreNotCompared(t *testing.T) {
	counted := report.Stored{Name: "a.json", Document: ofInstructions(stat.More, 90)}
	err := new(report.Document).AddStored(counted, counted, trial.Apart{})
	if err == nil || !strings.Contains(err.Error(), "a.json has instructions that were counted") {
		t.Error(err)
	}
}
