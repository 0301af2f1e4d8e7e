package report_test

import (
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/load"
	"contend/report"
	"contend/trial"
)

// While a comparison goes on its page shows figures and no verdict, whatever that would be: it has
// the interval after each round, and not yet what is refused.
func TestNothingIsDecidedUnderWay(t *testing.T) {
	d := document("compare")
	d.Add(report.Place{}, verdicts(10))
	shown := d.UnderWay()
	for _, want := range []string{"What differs so far, not decided", "rounds so far", "Every round"} {
		if !strings.Contains(shown, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	for _, verdict := range []string{"FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE", "INVALID"} {
		if strings.Contains(shown, verdict) {
			t.Errorf("it says %s", verdict)
		}
	}
	if d.Comparisons[0].Verdict == "" {
		t.Error("the document has lost its verdict")
	}
	for name, d := range allDocuments() { // including complete ones
		if shown := d.UnderWay(); strings.Contains(shown, "<script") {
			t.Errorf("%s has a script", name)
		}
	}
}

// runUnderWay is a run so far, of a target called that, in its warm-up or after it.
func runUnderWay(name string, elapsed time.Duration) *report.Document {
	const warmup = time.Second
	counts := load.NewCounts()
	c := load.NewCourse(warmup)
	for at := -warmup; at < elapsed-warmup; at += 10 * time.Millisecond {
		in := c.At(at)
		in.Completed++
		in.Errored = map[errkind.Kind]int64{errkind.Timeout: 1}
	}
	counts.Course = c
	r := &load.Result{Target: name, Plan: load.Plan{VUs: 1, Warmup: warmup, Duration: time.Minute}, Counts: counts, Duration: max(0, elapsed-warmup)}
	r.Examples = map[errkind.Kind]string{errkind.Timeout: name}
	return &report.Document{Command: "run", Results: []report.Result{{Cell: trial.Cell{Result: r, Arm: name}}}}
}

// A run is shown from its warm-up on, and before its first interval nothing is.
func TestRunUnderWay(t *testing.T) {
	if shown := runUnderWay("a", 0).UnderWay(); strings.Contains(shown, "<figure") {
		t.Errorf("before it began: %s", shown)
	}
	for _, elapsed := range []time.Duration{500 * time.Millisecond, 3 * time.Second} {
		shown := runUnderWay("a", elapsed).UnderWay()
		for _, want := range []string{"Throughput over time", "Errors over time", "warm-up", "timeout", "data-plot"} {
			if !strings.Contains(shown, want) {
				t.Errorf("after %v it does not show %s", elapsed, want)
			}
		}
	}
}

// Attempts of a search are shown as they come.
func TestSearchUnderWay(t *testing.T) {
	d := report.Document{Command: "sweep"}
	found := searched(false).Searches[0].Result
	for n := range found.Attempts {
		found := found
		found.Attempts = found.Attempts[:n+1]
		d.Searches = nil
		d.AddSearch(report.Place{}, &found)
		if shown := d.UnderWay(); strings.Contains(shown, "Attempts") != (n > 0) {
			t.Errorf("of %d attempts: %.200s", n+1, shown)
		}
	}
}
