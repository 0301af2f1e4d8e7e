package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"contend/load"
	"contend/metric"
	"contend/report"
	"contend/trial"
	"contend/why"
)

// longComparison has so many rounds of so many pairs of three variants at four levels, with calls.
func longComparison(rounds, pairs int) *trial.Trials {
	arms := []string{"current", "candidate-one", "candidate-two"}
	of := &trial.Trials{Arms: arms, Design: trial.Design{Rounds: rounds, Pairs: pairs, Block: time.Second, Levels: []int{1, 10, 50, 100},
		Metrics: []metric.Name{metric.Throughput, metric.ResponseP50, "response_p90_ns", metric.ServerCPUPerOp}, Margin: new(0.02), Confidence: 0.95, MaxErrors: 0.001, Seed: 1}}
	began := time.Duration(0)
	for round := 1; round <= rounds; round++ {
		for _, level := range of.Design.Levels {
			for i, name := range arms {
				roundOf(of, name, level, round, arm{completed: int64(10_000 + 100*i + 20*int(wobble(round))), serverNS: 30_000, generatorSec: 0.2})
				block := &of.Blocks[len(of.Blocks)-1]
				for pair := range pairs {
					began += time.Second
					copied := *block.Result
					copied.Server = nil
					of.Blocks = append(of.Blocks, trial.Cell{Arm: name, Round: round, Pair: pair + 1, Order: len(of.Blocks), Start: began, Result: &copied})
				}
			}
		}
	}
	of.Why = &trial.Diagnosis{Calls: []why.Call{{Function: "all", PerOp: []float64{50_000, 60_000, 40_000}}}}
	for i := range 400 {
		of.Why.Calls = append(of.Why.Calls, why.Call{Function: fmt.Sprintf("example.org/%s.(*Service).handle%d", strings.Repeat("path/", 20), i), Depth: 1 + i%50, PerOp: []float64{90, 120 + float64(i), 100 + float64(i)}})
	}
	of.Derive()
	return of
}

// A comparison that takes hours, of three variants at four levels with why, has a page as small as
// any, and so has a lab of eight of the usual length.
func TestPagesOfLongComparisonsAreSmall(t *testing.T) {
	d, lab := document("compare"), document("lab")
	d.Add(report.Place{}, longComparison(200, 2))
	usual := longComparison(9, 4)
	for i := range 8 {
		e := report.Experiment{ID: fmt.Sprint("experiment-", i), Title: "one of eight", Status: "done", Parts: []report.Part{{Name: "main"}}}
		lab.Experiments = append(lab.Experiments, e)
		lab.Add(report.Place{Experiment: e.ID, Part: "main"}, usual)
	}
	for most, d := range map[int]*report.Document{300_000: d, 1_500_000: lab} {
		page := rendered(t, d.HTML)
		t.Logf("%d bytes", len(page))
		if len(page) > most || !strings.Contains(page, `class="flame"`) {
			t.Errorf("%d bytes, want at most %d", len(page), most)
		}
	}
}

// So has a run with as many intervals, of as many kinds of errors, as there can be.
func TestPageOfALongRunIsSmall(t *testing.T) {
	r := closedResult("http://127.0.0.1:8080/", 50, 30_000)
	var seconds []load.Interval
	for range 300 {
		seconds = append(seconds, load.Interval{Completed: 100, Failed: 12})
	}
	r.Duration = 300 * time.Second
	r.Course = overTime(r, seconds...)
	page := rendered(t, runDocument(r).HTML)
	t.Logf("%d bytes", len(page))
	if len(page) > 300_000 || !strings.Contains(page, "data-plot") {
		t.Errorf("%d bytes", len(page))
	}
}
