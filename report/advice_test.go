package report_test

import (
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/load"
	"contend/report"
)

// Where other programs spoil a comparison of servers that contend starts, their instructions can be counted. A server that
// runs already cannot be counted, nor one at a rate.
func TestBusyMachineOffersToCount(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(d *report.Document)
		want   bool
	}{
		"commands": {func(*report.Document) {}, true},
		"no page":  {func(d *report.Document) { d.Has = func(string) bool { return false } }, false},
		"a URL":    {func(d *report.Document) { d.Arms[1].Does, d.Arms[1].URL = "http://localhost:1/", "" }, false},
		"run":      {func(d *report.Document) { d.Command = "run" }, false},
		"a rate":   {func(d *report.Document) { d.Results[0].Model = load.OpenModel }, false},
	} {
		d := three([]int64{10_000, 25_000}, 10)
		tt.change(d)
		advice := d.Advice(finding.MachineBusy.Code)
		if !strings.HasPrefix(advice, "rerun on an idle machine") || strings.Contains(advice, "--count") != tt.want {
			t.Errorf("%s: %q", name, advice)
		}
	}
	if text := screenOf(t, crowdedOut()); !strings.Contains(text, "INVALID (machine_busy)") || !strings.Contains(text, "--count)") {
		t.Error(text)
	}
}

// crowdedOut compares servers while others use most of the machine.
func crowdedOut() *report.Document {
	d := three([]int64{10_000, 10_100}, 10)
	for _, c := range d.Trials[0].Rounds {
		c.GeneratorWaitedSec = 0.5
		c.GeneratorCPUSec, c.Server.CPUSec, c.MachineCPUSec, c.MachineCores = 0.2, 0.2, 2, 2
	}
	d.Derive()
	return d
}

// stalling compares servers whose candidate takes 40 ms for its acknowledgements, and fails.
func stalling() *report.Document {
	d := three([]int64{4000, 180}, 10)
	for _, c := range d.Trials[0].Rounds {
		if c.Arm == "B" {
			c.Planned, c.Failed = c.Planned+10, 10
		}
	}
	d.Derive()
	for _, r := range d.Results {
		if r.Arm == "B" {
			r.Warnings = append(r.Warnings, finding.DelayedAck.Warning("the median response of 20 bytes took 40.1 ms from its first byte to its last"))
		}
	}
	return d
}

// A delay that most of a response time is comes before whatever else is wrong; a shorter or longer one is a caveat as others.
func TestStallComesFirst(t *testing.T) {
	lines := strings.Split(screenOf(t, stalling()), "\n")
	if !strings.HasPrefix(lines[1], "INVALID (errors)") || !strings.HasPrefix(lines[2], "! delayed_ack (B): ") || strings.Count(strings.Join(lines, "\n"), "delayed_ack") != 1 {
		t.Error(strings.Join(lines, "\n"))
	}
	lines = strings.Split(screenOf(t, three([]int64{10_000, 25_000}, 10)), "\n")
	if strings.Contains(lines[2], "delayed_ack") {
		t.Error(strings.Join(lines, "\n"))
	}
}

// noisy compares equal servers whose rounds scatter by a third: more rounds than can be run would be needed for ±2%.
func noisy() *report.Document {
	d := three([]int64{10_000, 10_000}, 10)
	t := &d.Trials[0]
	for i, c := range t.Rounds {
		if c.Arm == "B" {
			n := int64(10_000 * []float64{0.72, 1.4, 1.0, 1.38, 0.7, 1.03, 0.98}[i/2])
			c.Planned, c.Completed, c.Ops, c.Response, c.Service, c.StartLag = n, n, n, spread(n, time.Millisecond, time.Millisecond), spread(n, time.Millisecond, time.Millisecond), spread(n, 0, 0)
		}
		c.Warnings = nil
	}
	t.Elapsed = 21 * time.Second
	d.Derive()
	d.SettleBy(report.Step{Purpose: "see whether they are equal within ±39%", Command: "contend compare --margin 39% -d 2m ./server ./server"})
	return d
}

// A page names how long a decision would take, also where that is too long.
func TestNoisyPageNamesTheTime(t *testing.T) {
	text := strings.Join(strings.Fields(screenOf(t, noisy())), " ")
	if !strings.Contains(text, " h more would settle it, beyond the limit of 1,000 rounds") {
		t.Error(text)
	}
}
