package main

import (
	"math"
	"strings"
	"testing"

	"contend/metric"
	"contend/stat"
	"contend/trial"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		b         bar
		low, high float64
		want      string
	}{
		{bar{2, true}, 2, 3, "bar ≥ 2: reached"},
		{bar{2, true}, 1.9, 3, "bar ≥ 2: undecided"},
		{bar{2, true}, 1, 1.9, "bar ≥ 2: MISSED"},
		{bar{1.5, false}, 1, 1.5, "bar ≤ 1.5: reached"},
		{bar{1.5, false}, 1, 1.6, "bar ≤ 1.5: undecided"},
		{bar{1.5, false}, 1.6, 2, "bar ≤ 1.5: MISSED"},
		{bar{1.5, false}, 0, 0, "bar ≤ 1.5: too few rounds"},
	} {
		e := stat.Effect{Low: c.low, High: c.high}
		if c.high > 0 {
			e.Confidence = 0.95
		}
		if got := c.b.judge(e); !strings.HasPrefix(got, c.want) {
			t.Errorf("[%v, %v]: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

// combining is 4 times script in every round and memory 5 times, so combining is
// 0.8 of memory.
func TestArmsThatAreNoBaseline(t *testing.T) {
	rounds := func(ratio float64) []float64 {
		logs := make([]float64, 8)
		for i := range logs {
			logs[i] = math.Log(ratio)
		}
		return logs
	}
	trials := &trial.Trials{Arms: []string{script, combining, memory}, Comparisons: []trial.Comparison{
		{Candidate: combining, Metric: metric.Throughput, RoundLogRatios: rounds(4)},
		{Candidate: combining, Metric: metric.Errors, RoundLogRatios: rounds(9)},
		{Candidate: memory, Metric: metric.Throughput, RoundLogRatios: rounds(5)},
	}}
	table, err := newTable(trials, metric.Throughput)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := table.ratio(&out, combining, memory, bar{0.7, true}); err != nil {
		t.Fatal(err)
	}
	if want := "redis-combining ÷ mutex, throughput_per_s: 0.800 [0.800, 0.800]"; !strings.Contains(out.String(), want) ||
		!strings.HasSuffix(out.String(), "bar ≥ 0.7: reached\n") {
		t.Errorf("got %q, want %q", &out, want)
	}
	trials.Comparisons = trials.Comparisons[:2]
	if _, err := newTable(trials, metric.Throughput); err == nil {
		t.Error("an arm without figures: no error")
	}
}

func TestCommandstats(t *testing.T) {
	a := asked{calls: map[string]int64{}}
	for _, line := range []string{"# Commandstats", "cmdstat_hget:calls=21,usec=4,usec_per_call=0.2", "cmdstat_client|setinfo:calls=2,usec=1", ""} {
		if err := a.add(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	if len(a.calls) != 2 || a.calls["hget"] != 21 || a.calls["client|setinfo"] != 2 || counts("client|setinfo") || !counts("hget") {
		t.Errorf("calls %v", a.calls)
	}
	if err := a.add("cmdstat_hget:calls=many"); err == nil {
		t.Error("no number: no error")
	}
}
