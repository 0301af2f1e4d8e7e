package trial

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"contend/finding"
	"contend/internal/perf"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// cellOf is what an arm showed in a round: a second in which so many operations took
// their values of CPU time, memory and so on.
func cellOf(arm string, round int, ops int64, values [4]float64) Cell {
	r := load.Merge()
	r.Concurrency, r.Duration = 4, time.Second
	r.Planned, r.Completed, r.Ops = ops, ops, ops
	r.GeneratorCPUSec = values[0]
	r.Server = &load.Usage{CPUSec: values[1], RSSBytes: int64(1e9 * values[2]), Activity: perf.Activity{VoluntarySwitches: int64(1e9 * values[3])}}
	return Cell{Arm: arm, Round: round, Result: r}
}

// drawTrials draws rounds of two arms that differ by factors, with looks or without.
func drawTrials(t *rapid.T) *Trials {
	d := Design{Rounds: rapid.IntRange(1, 14).Draw(t, "rounds"), Pairs: 1, Levels: []int{4}, Confidence: 0.95,
		Metrics: []metric.Name{metric.Throughput, "generator_cpu_ns_per_op", metric.ServerCPUPerOp, metric.ServerRSS, "server_voluntary_switches_per_op"}}
	d.Metrics = d.Metrics[:rapid.IntRange(2, len(d.Metrics)).Draw(t, "metrics")]
	trials := &Trials{Arms: []string{"a", "b"}, Design: d}
	if d.Rounds >= 6 && rapid.Bool().Draw(t, "looks") {
		if err := trials.lookAt(d.Looks(d.Rounds)); err != nil {
			t.Fatal(err)
		}
	}
	differs := rapid.Float64Range(0.8, 1.3).Draw(t, "differs")
	scatter := rapid.SampledFrom([]float64{0, 0.01, 0.2}).Draw(t, "scatter")
	for n := range d.Rounds {
		for i, factor := range []float64{1, differs} {
			var values [4]float64
			for k := range values {
				values[k] = 0.3 * factor * math.Exp(scatter*rapid.Float64Range(-1, 1).Draw(t, "noise"))
			}
			ops := int64(1e5 * math.Exp(scatter*rapid.Float64Range(-1, 1).Draw(t, "noise of ops")))
			trials.Rounds = append(trials.Rounds, cellOf(trials.Arms[i], n+1, ops, values))
		}
	}
	return trials
}

// Whatever the rounds: a row's verdict, its interval and its p agree, the difference is
// that between its values, and the number of metrics after the first is what p and
// interval are corrected for.
func TestRowsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := drawTrials(t)
		trials.Derive()
		if len(trials.Comparisons) != len(trials.Design.Metrics) {
			t.Fatalf("%d comparisons of %d metrics", len(trials.Comparisons), len(trials.Design.Metrics))
		}
		for _, c := range trials.Comparisons {
			agree(t, c)
			together := float64(len(trials.Design.Metrics) - 1)
			if c.Primary {
				together = 1
			}
			alone, err := stat.Paired(c.RoundLogRatios, 0.95)
			if err != nil || math.Abs(c.P-min(1, together*alone.P)) > 1e-12 {
				t.Fatalf("%s: p %g; alone %g, %g are told together, %v", c.Metric, c.P, alone.P, together, err)
			}
			if c.Bounded() && (c.Confidence < 0.95-1e-12 || c.Low > alone.Low && alone.Bounded()) {
				t.Fatalf("%s: interval from %g at %g; alone from %g", c.Metric, c.Low, c.Confidence, alone.Low)
			}
		}
	})
}

func agree(t *rapid.T, c Comparison) {
	if got := c.CandidateValue / c.BaselineValue; math.Abs(got/c.Ratio-1) > 1e-12 {
		t.Fatalf("%s: %g and %g differ by %g, not by %g", c.Metric, c.CandidateValue, c.BaselineValue, got, c.Ratio)
	}
	if few := c.Reason.Is(finding.TooFewRounds); few == c.Bounded() || finding.TooFewRounds.In(c.Warnings) {
		t.Fatalf("%s: bounded %v, reason %v, warnings %v", c.Metric, c.Bounded(), c.Reason, c.Warnings)
	}
	excludes := c.Bounded() && (c.Low > 1 || c.High < 1)
	if excludes != (c.P <= c.Level) {
		t.Fatalf("%s: p %g at %g, interval [%g, %g]", c.Metric, c.P, c.Level, c.Low, c.High)
	}
	within := c.Bounded() && c.Low >= 1/(1+c.Margin) && c.High <= 1+c.Margin
	switch told := c.Verdict != stat.Equivalent && c.Verdict != stat.Inconclusive; {
	case within != (c.Verdict == stat.Equivalent), !within && told != excludes:
		t.Fatalf("%s: %s at [%g, %g]", c.Metric, c.Verdict, c.Low, c.High)
	}
}

// A look after 7 rounds may spend 0.05·(7/100)^⅓ = 0.0206, and all 7 agree with a chance of 2^(1−7) =
// 0.0156; after 6 it is 0.0196 against 0.0313.
func TestLooks(t *testing.T) {
	d := NewDesign()
	rounds := func(most int) (list []int) {
		for _, look := range d.Looks(most) {
			list = append(list, look.Rounds)
		}
		return list
	}
	if least, looks := d.leastRounds(), rounds(40); least != 6 || !slices.Equal(looks, []int{7, 8, 10, 13, 17, 22, 28, 40}) {
		t.Errorf("at least %d rounds, looks after %v", least, looks)
	}
	if _, err := stat.SequentialLevels(d.Looks(MostRounds), 0.05); err != nil {
		t.Error(err)
	}
	d.Rounds = 3
	if least, looks := d.leastRounds(), rounds(3); least != 3 || !slices.Equal(looks, []int{3}) {
		t.Errorf("3 rounds: at least %d, looks after %v", least, looks)
	}
}

// Six rounds that agree decide the first metric, p = 0.031, and one more metric, but
// neither of two more, 0.031 > 0.05 ÷ 2: 7 rounds would, 0.016.
func TestTooFewRoundsForSoManyMetrics(t *testing.T) {
	for _, tt := range []struct {
		metrics []metric.Name
		reason  string
	}{
		{[]metric.Name{metric.Throughput, "response_mean_ns"}, ""},
		{[]metric.Name{metric.Throughput, "response_mean_ns", "service_mean_ns"},
			"for one of 2 further metrics: 6 rounds are too few for an interval at 97.5% confidence, which needs at least 7"},
	} {
		d := design()
		d.Metrics = tt.metrics
		trials := compareInBubble(t, d, sleeping("a", 10*time.Millisecond), sleeping("b", 12500*time.Microsecond))
		for _, c := range trials.Comparisons {
			want, reason := stat.Slower, ""
			if !c.Primary && tt.reason != "" {
				want = stat.Inconclusive
			}
			if c.Reason != nil {
				reason = c.Reason.String()
			}
			if c.Verdict != want || !c.Primary && reason != tt.reason || c.Primary && reason != "" {
				t.Errorf("%d metrics: %s %s, %s; want %s, %s", len(tt.metrics), c.Metric, c.Verdict, reason, want, tt.reason)
			}
		}
	}
}

// What is refused is shown as it was measured.
func TestRefusedRowsKeepTheirValues(t *testing.T) {
	trials := &Trials{Arms: []string{"a", "b"}, Design: Design{Rounds: 6, Pairs: 1, Levels: []int{4}, Confidence: 0.95,
		Metrics: []metric.Name{metric.Throughput}}}
	for n := range 6 {
		for i, arm := range trials.Arms {
			c := cellOf(arm, n+1, int64(1000+100*n*i), [4]float64{})
			c.Planned, c.Failed = c.Planned+100*int64(i), 100*int64(i)
			trials.Rounds = append(trials.Rounds, c)
		}
	}
	trials.Derive()
	// 1000, 1100, … 1500 operations in a second each are 1250 per second on average.
	if c := trials.Comparisons[0]; c.Verdict != stat.Invalid || c.BaselineValue != 1000 || c.CandidateValue != 1250 {
		t.Errorf("%s, values %g and %g; want INVALID, 1000 and 1250", c.Verdict, c.BaselineValue, c.CandidateValue)
	}
}

// Rows of two stored documents agree in the same way.
func TestRowsOfStoredDocumentsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trials := drawTrials(t)
		a := Apart{Baseline: Side{Arm: "a"}, Candidate: Side{Arm: "b"}, Metrics: trials.Design.Metrics, Confidence: 0.95}
		for _, c := range trials.Rounds {
			side := &a.Baseline
			if c.Arm == "b" {
				side = &a.Candidate
			}
			side.Rounds = append(side.Rounds, c)
		}
		a.Derive()
		if len(a.Comparisons) != len(a.Metrics) {
			t.Fatalf("%d comparisons of %d metrics", len(a.Comparisons), len(a.Metrics))
		}
		for _, c := range a.Comparisons {
			if trials.Design.Rounds >= fewestApart { // with fewer there is no verdict
				agree(t, c)
			}
		}
	})
}

// One of two requests takes a tenth longer: it is named, and first.
func TestRequestEffects(t *testing.T) {
	trials := &Trials{Arms: []string{"A", "B"}, Design: Design{Levels: []int{1}, Metrics: []metric.Name{metric.Throughput}, Confidence: 0.95}}
	for round := 1; round <= 8; round++ {
		for i, arm := range trials.Arms {
			c := load.NewCounts()
			read, write := 100*time.Microsecond, time.Duration(300+30*i)*time.Microsecond
			read += time.Duration(round%3*i) * time.Microsecond / 2 // no tendency to speak of
			out := load.Outcome{Flow: &load.Flow{Requests: []load.Request{{Name: "read", Status: 200, Service: read}, {Name: "write", Status: 200, Service: write}}}}
			for range 100 {
				c.Record(load.Iteration{}, read+write, &out, nil)
			}
			cell := Cell{Arm: arm, Round: round, Pair: 1, Result: &load.Result{Concurrency: 1, Counts: c, Duration: time.Second}}
			cell.Derive()
			trials.Blocks, trials.Rounds = append(trials.Blocks, cell.block()), append(trials.Rounds, cell)
		}
	}
	trials.Derive()
	effects := trials.Comparisons[0].Requests
	if len(effects) != 2 || effects[0].Name != "write" || !effects[0].Differs() || math.Abs(effects[0].Ratio-1.1) > 0.002 {
		t.Errorf("%+v, want write first, 1.1 times as long", effects)
	}
	if e := effects[1]; e.Ratio > 1.01 {
		t.Errorf("read has the ratio %v, want nearly 1", e.Ratio)
	}
}
