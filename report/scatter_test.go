package report_test

import (
	"strings"
	"testing"

	"contend/metric"
	"contend/probe"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// The ranges are over all levels: blocks 2 to 12.3%, rounds 1%.
func TestScatterIsSaid(t *testing.T) {
	with := func(block, machine float64) report.Comparison {
		return report.Comparison{Comparison: trial.Comparison{Baseline: "a", Candidate: "b", Primary: true, Metric: metric.Throughput,
			Spread: &stat.Variance{Block: block, Round: 0.01, RoundShare: 0.5}, MachineShare: machine}}
	}
	d := &report.Document{
		Comparisons: []report.Comparison{with(0.02, 0), with(0.123, 0.4)},
		Trials: []report.Trials{{Trials: trial.Trials{Probes: []trial.Probe{
			{Sample: probe.Sample{RoundTrip: 98, Wakeup: 5200}}, {Sample: probe.Sample{RoundTrip: 447, Wakeup: 5200}}}}}},
	}
	b := rendered(t, d.Text)
	text := strings.Join(strings.Fields(b), " ")
	for _, want := range []string{
		"2% to 12.3% from block to block", "1% from one start of the servers to the next", "of a round 50% comes with the start",
		"looked at 2 times between blocks: 98.0 ns to 447 ns from core to core", "5.20 µs for a wake-up",
		"explain up to 40% of the variance of the blocks",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
