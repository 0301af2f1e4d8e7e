package report_test

import (
	"time"

	"contend/expect"
	"contend/failure"
	"contend/finding"
	"contend/metric"
	"contend/report"
)

// lab has a finished experiment with everything that one can hold, a planned,
// a failed and an interrupted one.
func lab() *report.Document {
	d := document("lab")
	d.Add(report.Place{Experiment: "counter", Part: "rpc"}, verdicts(10))
	two := fewRounds().Trials[0].Trials
	d.Add(report.Place{Experiment: "counter", Part: "handler"}, &two)
	d.Experiments = []report.Experiment{
		counterExperiment(),
		{ID: "routing", Title: "uplink routing", Question: "How many gateways?", Status: "planned", Source: "a thesis"},
		{ID: "broken", Title: "a server that does not start", Status: "failed", Profile: "quick", Elapsed: 1234567890,
			Error:    "a: its process died: exit status 2\nstderr: panic: \x1b[31mno port\x1b[0m",
			Failures: []failure.Failure{{Arm: "a", Kind: failure.Exited, Died: true, Cause: "exit status 2"}}},
		{ID: "half", Title: "cut short", Status: "interrupted", Profile: "quick", Elapsed: time.Second},
	}
	d.Derive()
	return d
}

func counterExperiment() report.Experiment {
	e := report.Experiment{
		ID: "counter", Title: "a counter behind RPC: queue against mutex", Question: "Which guard serves more calls?",
		Source: "a benchmark, one run each", Status: "done", Profile: "quick", Elapsed: 78_400 * time.Millisecond,
		Parts: []report.Part{{Name: "rpc", Title: "Over RPC"}, {Name: "handler", Title: "The handler alone"}},
		Published: []report.Published{{
			Part: "rpc", Title: "k6, a connection per iteration", Environment: "machine not stated; one run each",
			Notes: []report.Note{
				{Comparable: false, Because: "an iteration holds the script and connecting"},
				{Metric: metric.Throughput, Comparable: false, Because: "theirs is the pace of a saturated generator"},
				{Metric: "service_p50_ns", Comparable: true, Because: "the same quantity, on another machine"},
			},
		}, {
			Part: "handler", Title: "go test -bench", Environment: "another machine",
			Rows: []report.PublishedFigure{
				{Arm: "a", Metric: metric.WallPerOp, Theirs: 1162}, {Arm: "b", Metric: metric.WallPerOp, Theirs: 1670},
				{Arm: "c", Metric: metric.WallPerOp, Theirs: 236.1}, {Arm: "a", Metric: "allocs_per_op", Theirs: 2},
			},
		}},
		Analyses: []report.Analysis{{
			Name: "little", Title: "Little's law on the published figures", Columns: []string{"variant", "concurrency", "mean call", "share outside"},
			Rows:     [][]string{{"inputq", "10", "720 µs", "67%"}, {"mutex", "1,000", "2.27 ms", "98%"}},
			Sentence: []string{"The server never held more than 21.4 calls at once.", "INVALID generator_saturated: they decide nothing."},
		}},
		Expectations: []expect.Expectation{
			{Part: "rpc", Text: "unfinished == 0"}, {Part: "rpc", Text: "throughput_per_s > 10500"},
			{Part: "handler", Text: "b.throughput_per_s >= 1.05 * a.throughput_per_s"},
		},
		Warnings: []finding.Warning{{Code: "too_few_rounds", Text: "this profile runs fewer rounds than a verdict needs"}},
	}
	rpc := &e.Published[0]
	for _, n := range []int{10, 200} { // 200 VUs are not run
		for i, name := range []string{"inputq", "mutex"} {
			for _, m := range []struct {
				metric metric.Name
				theirs float64
			}{{metric.Throughput, 4532.28}, {"service_p50_ns", 687_390}, {"response_max_ns", 781.69e6}, {"items", 1e6}} {
				rpc.Rows = append(rpc.Rows, report.PublishedFigure{Arm: name, Concurrency: n, Metric: m.metric, Theirs: m.theirs * (1 + 0.05*float64(i))})
			}
		}
	}
	return e
}
