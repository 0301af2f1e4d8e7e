package report_test

import (
	"strings"
	"testing"
	"time"

	"contend/load"
	"contend/metric"
	"contend/pace"
	"contend/report"
	"contend/trial"
)

// paced compares two servers at 200 requests per second, which both answer; the candidate takes so many times as long.
func paced(times float64) *report.Document {
	d := oneLevel(30)
	d.Trials, d.Results, d.Comparisons = nil, nil, nil
	t := &trial.Trials{Arms: []string{"mutex", "inputq"}, Design: trial.Design{Rounds: 7, Pairs: 1, Block: time.Second, Levels: []int{200},
		Metrics: trial.PacedMetrics(trial.NewDesign().Metrics), MaxErrors: 0.001, Confidence: 0.95, Seed: 1}}
	for round := range t.Design.Rounds {
		for i, name := range t.Arms {
			roundOf(t, name, 200, round+1, arm{completed: 200, serverNS: float64(30_000 + 20*wobble(2*round+i)), generatorSec: 0.1})
			response := time.Millisecond + time.Duration(wobble(round+i))*time.Microsecond
			if i == 1 {
				response = time.Duration(times*float64(response)) + time.Duration(3*wobble(2*round))*time.Microsecond
			}
			c := t.Rounds[len(t.Rounds)-1]
			c.Server.RSSBytes += wobble(2*round+i) << 12
			c.Model, c.Plan.Pacer = load.OpenModel, pace.Constant(200)
			c.Response, c.Service = spread(200, response/2, 3*response/2), spread(200, response/2, 3*response/2)
		}
	}
	t.Derive()
	d.Add(report.Place{}, t)
	return d
}

// At a rate that both hold, the page is about response times, not about the throughput, which is the rate.
func TestPacedPageIsAboutTimes(t *testing.T) {
	text := strings.Join(strings.Fields(screenOf(t, paced(1.5))), " ")
	if !strings.HasPrefix(text, "inputq has 50.") || !strings.Contains(text, "longer response time p50 than mutex") ||
		!strings.Contains(text, "with 200 requests due per second") || strings.Contains(text, "throughput") {
		t.Error(text)
	}
}

// So is that of two stored runs at a rate, unless metrics were chosen.
func TestStoredPacedRuns(t *testing.T) {
	how := trial.Apart{Metrics: trial.NewDesign().Metrics, Confidence: 0.95}
	for _, tt := range []struct {
		open bool
		how  func(*trial.Apart)
		want metric.Name
	}{
		{true, func(*trial.Apart) {}, metric.ResponseP50},
		{true, func(a *trial.Apart) { a.Metrics = a.Metrics[:2] }, metric.Throughput},
		{false, func(*trial.Apart) {}, metric.Throughput},
	} {
		run := runDocument(closedResult("http://127.0.0.1:1/", 10, 500))
		if tt.open {
			run.Results[0].Model, run.Results[0].Plan.Pacer = load.OpenModel, pace.Constant(50)
		}
		d, how := document("compare"), how
		tt.how(&how)
		if err := d.AddStored(report.Stored{Name: "a.json", Document: run}, report.Stored{Name: "b.json", Document: run}, how); err != nil {
			t.Fatal(err)
		}
		if c := d.Comparisons[0]; !c.Primary || c.Metric != tt.want {
			t.Errorf("open %v: compared by %s, want %s", tt.open, c.Metric, tt.want)
		}
	}
}
