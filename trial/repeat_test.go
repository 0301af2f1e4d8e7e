package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// measuring is a job whose runs complete as many iterations in a second as each
// says, in turn.
func measuring(name string, completed ...int64) Job {
	runs := 0
	return Job{Name: name, Run: func(context.Context) (Cell, error) {
		r := load.Merge()
		n := completed[runs%len(completed)]
		runs++
		r.Planned, r.Completed, r.Ops, r.Duration, r.Concurrency = n, n, n, time.Second, 1
		return Cell{Result: r}, nil
	}}
}

func repeating(rounds int) Design {
	return Design{Rounds: rounds, Metrics: []metric.Name{metric.Throughput}, Margin: new(0.02), Confidence: 0.95, Seed: 1}
}

func TestRepeatCompares(t *testing.T) {
	t.Parallel()
	got, err := Repeat(t.Context(), []Job{measuring("a", 1000, 1010, 990), measuring("b", 1200, 1212, 1188)}, repeating(8), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Blocks) != 16 || len(got.Rounds) != 16 || len(got.Comparisons) != 1 {
		t.Fatalf("%d blocks, %d rounds, %d comparisons", len(got.Blocks), len(got.Rounds), len(got.Comparisons))
	}
	// Each round's ratio is 1.2: 1200 ÷ 1000 = 1212 ÷ 1010 = 1188 ÷ 990.
	if c := got.Comparisons[0]; c.Verdict != stat.Faster || c.Ratio < 1.1999 || c.Ratio > 1.2001 {
		t.Errorf("%s, ratio %v, %v", c.Verdict, c.Ratio, c.Reason)
	}
	firsts := map[string]int{}
	for _, b := range got.Blocks {
		if b.Order == 1 {
			firsts[b.Arm]++
		}
	}
	if len(firsts) != 2 || firsts["a"]+firsts["b"] != 8 {
		t.Errorf("first of a round: %v", firsts)
	}
}

// If an arm's runs are incomplete, 500 of 1500 unfinished, its throughput is not
// compared with another, and no difference is computed from it.
func TestIncompleteArmsAreNotCompared(t *testing.T) {
	t.Parallel()
	whole := measuring("b", 1000)
	part := Job{Name: "b", Run: func(ctx context.Context) (Cell, error) {
		c, err := whole.Run(ctx)
		c.Planned, c.Unfinished = 1500, 500
		return c, err
	}}
	d := repeating(8)
	d.Metrics = append(d.Metrics, "completed")
	got, err := Repeat(t.Context(), []Job{measuring("a", 1000), part}, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Comparisons {
		if c.Verdict != stat.Invalid || !c.Reason.Is(finding.Incomplete) || c.Reason.Arm != "b" || c.Rounds != 0 {
			t.Errorf("%s: %s, %v, over %d rounds", c.Metric, c.Verdict, c.Reason, c.Rounds)
		}
	}
	if c := got.Comparisons[0]; c.BaselineValue != 1000 || c.CandidateValue != 0 {
		t.Errorf("throughputs %v and %v, want 1000 and none", c.BaselineValue, c.CandidateValue)
	}
}

func TestRepeatAlone(t *testing.T) {
	t.Parallel()
	var labels []string
	got, err := Repeat(t.Context(), []Job{measuring("a", 10)}, repeating(2), func(p Progress) {
		labels = append(labels, fmt.Sprintf("%.1f %s", p.Done, p.Label))
	})
	if err != nil || len(got.Comparisons) != 0 || len(got.Results) != 1 || got.Results[0].Completed != 20 {
		t.Errorf("%v: %d comparisons, results %+v", err, len(got.Comparisons), got.Results)
	}
	if want := "0.0 round 1 of 2, a|0.5 round 2 of 2, a"; strings.Join(labels, "|") != want {
		t.Errorf("progress %q, want %q", labels, want)
	}
}

func TestRepeatKeepsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	broken := errors.New("no document")
	second := measuring("b", 10)
	run, n := second.Run, 0
	second.Run = func(ctx context.Context) (Cell, error) {
		if n++; n == 3 {
			return Cell{}, broken
		}
		return run(ctx)
	}
	got, err := Repeat(t.Context(), []Job{measuring("a", 10), second}, repeating(6), nil)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "b: ") {
		t.Errorf("error %v", err)
	}
	if len(got.Rounds) < 4 || len(got.Rounds) > 5 {
		t.Errorf("%d runs are kept", len(got.Rounds))
	}
	other := measuring("b", 10)
	run = other.Run
	other.Run = func(ctx context.Context) (Cell, error) {
		c, err := run(ctx)
		c.Concurrency = 2
		return c, err
	}
	if _, err := Repeat(t.Context(), []Job{measuring("a", 10), other}, repeating(1), nil); err == nil || !strings.Contains(err.Error(), "concurrency") {
		t.Errorf("unlike runs: %v", err)
	}
}
