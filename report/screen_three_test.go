package report_test

import (
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/report"
	"contend/trial"
)

// three compares variants of so many responses per second at each level; the last answers in two pieces.
func three(perSec []int64, levels ...int) *report.Document {
	d := document("compare")
	t := &trial.Trials{Design: trial.Design{Rounds: 7, Pairs: 1, Block: time.Second, Levels: levels,
		Metrics: []metric.Name{metric.Throughput}, MaxErrors: 0.001, Margin: new(0.02), Confidence: 0.95, Seed: 1}}
	for i := range perSec {
		name := string(rune('A' + i))
		t.Arms = append(t.Arms, name)
		d.Arms = append(d.Arms, report.Arm{Name: name, Does: "./server -v " + name + " -listen {{addr}}", URL: "http://{{addr}}/items"})
	}
	for round := range 7 {
		for _, level := range levels {
			for i, n := range perSec {
				roundOf(t, t.Arms[i], level, round+1, arm{completed: n + int64(i+1)*10*wobble(round), serverNS: 30_000, generatorSec: 0.4})
			}
		}
	}
	t.Derive()
	d.Add(report.Place{}, t)
	for _, r := range d.Results {
		if r.Arm == t.Arms[len(perSec)-1] {
			r.Warnings = append(r.Warnings, finding.DelayedAck.Warning("the median response takes 40.1 ms from its first byte to its last"))
		}
	}
	d.Then(report.Step{Purpose: "see whether it holds at other concurrencies", Command: "contend compare -c 1,10,100 http://a/ http://b/ http://c/"})
	return d
}

// Of three or more the page names the fastest: all whose interval reaches that of the best.
func TestFastestOfThree(t *testing.T) {
	for _, tt := range []struct {
		perSec []int64
		levels []int
		want   string
	}{
		{[]int64{10_000, 25_000, 14_000}, []int{10}, "B is the fastest of 3: B has 2.50"},
		{[]int64{10_000, 9_000, 8_000}, []int{10}, "A is the fastest of 3: C is 20"},
		{[]int64{10_000, 11_000, 11_003}, []int{10}, "B and C are the fastest of 3: "},
		{[]int64{10_000, 25_000, 14_000}, []int{10, 20}, "B has 2.50"}, // at two levels two may be
		{[]int64{10_000, 25_000}, []int{10}, "B has 2.50"},
	} {
		if first, _, _ := strings.Cut(screenOf(t, three(tt.perSec, tt.levels...)), "\n"); !strings.HasPrefix(first, tt.want) {
			t.Errorf("%v: %q, want %q", tt.perSec, first, tt.want)
		}
	}
}

// A caveat about a server comes before another question to it.
func TestNextIsWhatSpoilsTheServer(t *testing.T) {
	d := three([]int64{10_000, 25_000}, 10)
	if text := screenOf(t, d); !strings.Contains(text, "! delayed_ack (B): ") || !strings.Contains(text, "Next: set TCP_NODELAY") {
		t.Error(text)
	}
	for _, r := range d.Results {
		r.Warnings = nil
	}
	if text := screenOf(t, d); strings.Contains(text, "delayed_ack") || !strings.Contains(text, "Next: see whether it holds") {
		t.Error(text)
	}
	r := closedResult("http://h/", 10, 20_000)
	d = followed(runDocument(r), "find the best concurrency", "contend sweep http://h/")
	d.Results[0].Warnings = []finding.Warning{finding.OnlyRedirects.Warning("every response is a redirect")}
	if text := screenOf(t, d); !strings.Contains(text, "Next: use the URL it redirects to") {
		t.Error(text)
	}
}

// A closed model has no rate that could be lowered.
func TestNextOfAClosedModelHasNoRate(t *testing.T) {
	r := closedResult("http://h/", 10, 10_000)
	r.Planned, r.Unfinished = r.Planned+300, 300
	r.Derive()
	if text := screenOf(t, runDocument(r)); !strings.Contains(text, "INVALID (incomplete)") || strings.Contains(text, "rate,") {
		t.Error(text)
	}
}

// The page of a run says how much there was, that of a script in iterations and with its own meters.
func TestAmountsOfARun(t *testing.T) {
	r := closedResult("http://h/", 10, 20_000) // in 10 s
	r.BytesIn, r.BytesOut = 50_000_000, 12_000
	if text := screenOf(t, runDocument(r)); !strings.Contains(text, "  20,000 requests, 5.00 MB/s received, 1.20 kB/s sent\n") {
		t.Error(text)
	}
	r.Meters = []*load.MeterResult{{Name: "orders", Kind: load.CounterMeter, Sum: 40}, {Name: "http_reqs", Kind: load.CounterMeter, Sum: 7}}
	text := screenOf(t, runDocument(r))
	for _, want := range []string{"2,000 iterations/s, median", "time of an iteration, with its pauses", "  20,000 iterations, 5.00 MB/s", "  orders: count 40, rate 4\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "http_reqs") {
		t.Error(text)
	}
}
