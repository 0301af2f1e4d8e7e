package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// A table compares any two of several arms: the blocks of a round are of one
// time.
type table struct {
	metric metric.Name
	trials *trial.Trials
	logs   map[string][]float64 // by arm: ln(arm ÷ first arm), one for each round
}

func newTable(trials *trial.Trials, m metric.Name) (*table, error) {
	first := trials.Arms[0]
	t := &table{metric: m, trials: trials, logs: map[string][]float64{}}
	for _, c := range trials.Comparisons {
		if c.Metric != m {
			continue
		}
		t.logs[c.Candidate] = c.RoundLogRatios
		t.logs[first] = make([]float64, len(c.RoundLogRatios))
	}
	for _, arm := range trials.Arms {
		if n := len(t.logs[arm]); n == 0 || n != len(t.logs[first]) {
			return nil, fmt.Errorf("%s: %d of %d rounds have %s", arm, n, len(t.logs[first]), m)
		}
	}
	return t, nil
}

// print writes the figures of each arm over all rounds, and what must be known
// when reading them.
func (t *table) print(w io.Writer) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "arm\t/s\tp50\tp99\tserver CPU\terrors\t")
	for _, c := range t.trials.Results {
		cpu := "-"
		if each, ok := metric.ServerCPUPerOp.Of(c.Result); ok {
			cpu = short(time.Duration(each))
		}
		fmt.Fprintf(tab, "%s\t%.0f\t%s\t%s\t%s\t%d\t\n", c.Arm, c.ThroughputPerSec,
			short(c.Response.Quantile(0.5)), short(c.Response.Quantile(0.99)), cpu, c.Failed+c.ErroredTotal())
	}
	_ = tab.Flush() // a writer that fails also fails for the lines that follow
	for _, c := range t.trials.Comparisons {
		if c.Reason != nil {
			fmt.Fprintf(w, "  %s beside %s: %s: %s: %s\n", c.Candidate, c.Baseline, c.Verdict, c.Reason.Code, c.Reason.Text)
		}
	}
}

func short(d time.Duration) string { return d.Round(100 * time.Nanosecond).String() }

// A bar is what a ratio should come to.
type bar struct {
	value float64
	least bool // and not the most
}

// judge reports whether the whole interval is on the right side.
func (b bar) judge(e stat.Effect) string {
	sign := map[bool]string{true: "≥", false: "≤"}[b.least]
	said := fmt.Sprintf("bar %s %.3g: ", sign, b.value)
	switch {
	case !e.Bounded():
		return said + "too few rounds to tell"
	case b.least && e.Low >= b.value, !b.least && e.High <= b.value:
		return said + "reached"
	case b.least && e.High < b.value, !b.least && e.Low > b.value:
		return said + "MISSED"
	}
	return said + "undecided, the interval holds it"
}

// ratio prints one arm relative to another, paired by round.
func (t *table) ratio(w io.Writer, over, under string, b bar) error {
	logs := make([]float64, len(t.logs[over]))
	for i := range logs {
		logs[i] = t.logs[over][i] - t.logs[under][i]
	}
	effect, err := stat.Paired(logs, trial.NewDesign().Confidence)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  %s ÷ %s, %s: %.3f", over, under, t.metric, effect.Ratio)
	if effect.Bounded() {
		fmt.Fprintf(w, " [%.3f, %.3f], %.1f %% confidence", effect.Low, effect.High, 100*effect.Confidence)
	}
	fmt.Fprintf(w, ", %d rounds; %s\n", effect.Rounds, b.judge(effect))
	return nil
}
