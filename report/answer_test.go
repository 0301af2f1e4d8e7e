package report_test

import (
	"bytes"
	"strings"
	"testing"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

func firstLine(t *testing.T, d *report.Document) string {
	t.Helper()
	line, _, _ := strings.Cut(rendered(t, d.Text), "\n")
	return line
}

// The first line is the answer, and the second names the code and reason of a refusal.
func TestTheFirstLineIsTheAnswer(t *testing.T) {
	saturated := finding.GeneratorSaturated.Refusal("%s", "A: the load generator used 97% of the CPU it could get")
	verdict := func(level int, v stat.Verdict, reason *finding.Warning) report.Comparison {
		return report.Comparison{Comparison: trial.Comparison{Baseline: "A", Candidate: "B", Concurrency: level, Primary: true,
			Metric: metric.Throughput, Verdict: v, Reason: reason, Margin: 0.02, RoundLogRatios: make([]float64, 6),
			Effect: stat.Effect{Ratio: 1.071, Low: 1.05, High: 1.09, P: 0.03, Level: 0.05, Confidence: 0.96875, Rounds: 6}}}
	}
	for _, tt := range []struct {
		comparisons []report.Comparison
		want        string
	}{
		{[]report.Comparison{verdict(10, stat.Faster, nil)},
			"B is 7.1% faster than A (95% CI 5.0% to 9.0%)\nFASTER, valid: 6 rounds, servers restarted in each, at concurrency 10\n"},
		{[]report.Comparison{verdict(10, stat.Invalid, saturated)},
			"No result: the throughput of B and A cannot be compared\nINVALID (generator_saturated): A: the load generator used 97% of the CPU it could get\n"},
		{[]report.Comparison{verdict(1, stat.Faster, nil), verdict(10, stat.Invalid, saturated), verdict(20, stat.Invalid, saturated)},
			"B is 7.1% faster than A (95% CI 5.0% to 9.0%) at concurrency 1; 2 others below\n2 of 3 INVALID (generator_saturated); valid: 1 faster (FASTER)\n"},
		{[]report.Comparison{verdict(10, stat.Invalid, nil)}, // of another version
			"No result: the throughput of B and A cannot be compared\nINVALID: no reason is given\n"},
	} {
		d := &report.Document{Comparisons: tt.comparisons}
		if got := rendered(t, d.Text); !strings.HasPrefix(got, tt.want) {
			t.Errorf("it begins with\n%s, want\n%s", got, tt.want)
		}
	}
}

// A report of uplinks begins with what became of them; a rate of a part is not in it.
func TestUplinksComeFirst(t *testing.T) {
	late := "19.6 ms late in the median, 29.2 ms at p99, 29.4 ms at most"
	d := uplinks()
	if got, want := firstLine(t, d), "500 uplinks sent, 500 arrived, 0 lost, 1 duplicated; "+late; got != want {
		t.Errorf("the first line is\n%s, want\n%s", got, want)
	}
	part := d.Results[0].Result
	part.Planned, part.Unfinished = 520, 20
	d.Derive()
	if got, want := firstLine(t, d), "INCOMPLETE: 520 uplinks sent, 500 arrived, 20 lost, 1 duplicated; those that arrived were "+late; got != want {
		t.Errorf("the first line is\n%s, want\n%s", got, want)
	}
	part.BytesOut = 0
	var b bytes.Buffer
	if err := d.Text(&b); err != nil || strings.Contains(b.String(), "throughput") || !strings.Contains(b.String(), "What to do: nothing was answered") {
		t.Errorf("%v, or the throughput of a part is shown, or no advice:\n%s", err, b.String())
	}
}

// Where it is not known how many uplinks were sent, nothing looks complete.
func TestUplinksWithoutAnEnd(t *testing.T) {
	for _, tt := range []struct {
		unknown    string
		unfinished int64
		want       string
		rate       bool
	}{
		{report.NoEndMarker, 0, "INCOMPLETE: no end marker came, so it is not known how many uplinks were sent; 500 arrived, 0 known to be lost, 1 duplicated; those that arrived were ", false},
		{report.NoEndMarker, 20, "INCOMPLETE: no end marker came, so it is not known how many uplinks were sent; 500 arrived, 20 known to be lost, 1 duplicated; those that arrived were ", false},
		{report.SeveralDevices, 0, "at least 500 uplinks sent, 500 arrived, 0 known to be lost, 1 duplicated; ", true},
		{report.SeveralDevices, 20, "INCOMPLETE: at least 520 uplinks sent, 500 arrived, 20 known to be lost, 1 duplicated; those that arrived were ", false},
	} {
		d := uplinks()
		part := d.Results[0]
		part.Uplink.SentUnknown = tt.unknown
		part.Planned, part.Unfinished = 500+tt.unfinished, tt.unfinished
		d.Derive()
		if got, want := firstLine(t, d), tt.want+"19.6 ms late in the median, 29.2 ms at p99, 29.4 ms at most"; got != want {
			t.Errorf("the first line is\n%s, want\n%s", got, want)
		}
		var b bytes.Buffer
		if err := d.Text(&b); err != nil || !strings.Contains(b.String(), "What to do: give the number of uplinks") || strings.Contains(b.String(), "throughput") != tt.rate {
			t.Errorf("%v, or no advice, or the rate is shown: want %v\n%s", err, tt.rate, b.String())
		}
	}
}

// A sink that knows other devices than the generator has says so.
func TestUplinksOfOtherDevices(t *testing.T) {
	for _, tt := range []struct {
		silent  int
		foreign int64
		want    string
	}{
		{2, 0, "What to do: nothing came of 2 devices; give"},
		{0, 5, "What to do: 5 messages were for other devices; give"},
	} {
		d := uplinks()
		d.Results[0].Uplink.Silent, d.Results[0].Uplink.Foreign = tt.silent, tt.foreign
		d.Derive()
		var b bytes.Buffer
		if err := d.Text(&b); err != nil || !strings.Contains(b.String(), tt.want) {
			t.Errorf("%v, want %q in\n%s", err, tt.want, b.String())
		}
	}
}

// A refusal is followed by what to do about it.
func TestARefusalIsFollowedByAdvice(t *testing.T) {
	text := rendered(t, openRun().Text)
	if refused, advised := strings.Index(text, "\nINVALID (incomplete): "), strings.Index(text, "\nNext: lower the rate"); refused < 0 || advised < refused {
		t.Errorf("the report is\n%s", text)
	}
}

// What every result has is printed once for all, not for each by name.
func TestWhatAllHaveIsSaidOnce(t *testing.T) {
	d := document("sweep")
	for _, n := range []int{1, 2, 4} {
		r := roundAt(n)
		r.Uncounted = "this machine shows no counters"
		d.AddCell(trial.Cell{Result: r})
	}
	b := rendered(t, d.Text)
	if !strings.Contains(b, "- not_counted (all): this machine shows no counters") {
		t.Errorf("%s", b)
	}
}

func roundAt(level int) *load.Result {
	var t trial.Trials
	roundOf(&t, "", level, 1, arm{completed: 10_000, serverNS: 1000})
	return t.Rounds[0].Result
}
