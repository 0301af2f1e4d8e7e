package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

const insisting = "A and B insist on port 80"

// A house is where at most one arm may live.
type house struct {
	t      *testing.T
	living string
	visits []string
}

func (h *house) arm(name string, answer time.Duration) Arm {
	return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
		if h.living != "" {
			h.t.Errorf("%s was started while %s lived", name, h.living)
		}
		h.living, h.visits = name, append(h.visits, name)
		return &Live{Address: name, Target: load.Func(func(context.Context) (load.Outcome, error) {
			if h.living != name {
				h.t.Errorf("%s was driven while %q lived", name, h.living)
			}
			time.Sleep(answer)
			return load.Outcome{}, nil
		}), Stop: func(context.Context) error { h.living = ""; return nil }}, nil
	}}
}

// compareAlone compares arms that cannot live at the same time.
func compareAlone(t *testing.T, d Design, answers ...time.Duration) (*Trials, *house) {
	t.Helper()
	h := &house{t: t}
	var arms []Arm
	for i, answer := range answers {
		arms = append(arms, h.arm(string(rune('A'+i)), answer))
	}
	d.Alone = insisting
	trials := compareInBubble(t, d, arms...)
	if h.living != "" {
		t.Errorf("%s still lives", h.living)
	}
	return trials, h
}

// One arm is alive at a time, in the order ABBA or ABCCBA at every level, with a fresh process at
// each visit; the arm that is visited first changes. Each visit has half of the pairs.
func TestAlone(t *testing.T) {
	for _, arms := range []int{2, 3} {
		for _, pairs := range []int{1, 3, 4} {
			t.Run(fmt.Sprintf("%d arms, %d pairs", arms, pairs), func(t *testing.T) {
				d := design()
				d.Pairs, d.Levels = pairs, []int{1, 3}
				trials, h := compareAlone(t, d, slices.Repeat([]time.Duration{10 * time.Millisecond}, arms)...)
				sizing, rest := h.visits[:2*arms], h.visits[2*arms:] // each arm at both levels
				if want := []string{"A", "B", "C"}[:arms]; !slices.Equal(sizing, append(want, want...)) {
					t.Errorf("lengths were chosen by %v", sizing)
				}
				halves := min(2, pairs)
				if want := d.Rounds * 2 * arms * halves; len(rest) != want || len(trials.Starts) != want {
					t.Fatalf("%d visits and %d starts, want %d", len(rest), len(trials.Starts), want)
				}
				first := map[string]bool{}
				for visits := range slices.Chunk(rest, arms*halves) {
					first[visits[0]] = true
					back := slices.Clone(visits)
					slices.Reverse(back)
					if halves == 2 && !slices.Equal(visits, back) {
						t.Errorf("order %v does not turn around", visits)
					}
				}
				if len(first) < 2 {
					t.Errorf("the same arm is always visited first: %v", first)
				}
				checkVisits(t, trials, arms, pairs)
			})
		}
	}
}

// checkVisits: each arm has every pair once in a round, the first half of them in its first
// visit, and no stretch has two arms.
func checkVisits(t *testing.T, trials *Trials, arms, pairs int) {
	t.Helper()
	of := map[stretchKey][]Cell{}
	for _, b := range trials.Blocks {
		of[stretchOf(b)] = append(of[stretchOf(b)], b)
	}
	seen := map[string]int{}
	for key, blocks := range of {
		for i, b := range blocks {
			want := i + 1 // 4 pairs are 2 and 2, 3 are 2 and 1
			if key.stretch > arms {
				want += (pairs + 1) / 2
			}
			if b.Arm != blocks[0].Arm || b.Pair != want {
				t.Errorf("%v: block %d is pair %d of %s, want %d of %s", key, i, b.Pair, b.Arm, want, blocks[0].Arm)
			}
			seen[fmt.Sprint(b.Arm, b.Pair, key.level, key.round)]++
		}
	}
	if want := arms * pairs * 2 * trials.Design.Rounds; len(seen) != want || len(trials.Blocks) != want {
		t.Errorf("%d different pairs in %d blocks, want %d", len(seen), len(trials.Blocks), want)
	}
}

// 10 ms against 12.5 ms an answer: a ratio of 0.8, with the note that the arms were not
// alive together. Blocks of both have the length that the slower needs: four of its
// response times.
func TestAloneFindsDifference(t *testing.T) {
	d := design()
	d.Warmup, d.Block = 50*time.Millisecond, 40*time.Millisecond
	trials, _ := compareAlone(t, d, 10*time.Millisecond, 12500*time.Microsecond)
	c := trials.Comparisons[0]
	if math.Abs(c.Ratio-0.8) > 0.001 || c.Verdict != stat.Slower {
		t.Errorf("%s with %v, want SLOWER with 0.8", c.Verdict, c.Ratio)
	}
	if !finding.ArmsAlone.In(c.Warnings) {
		t.Errorf("warnings %v do not say that the arms were not alive together", c.Warnings)
	}
	for _, b := range trials.Blocks {
		if b.Duration != 50*time.Millisecond {
			t.Errorf("a block of %s took %v, want 50 ms", b.Arm, b.Duration)
		}
	}
	if len(trials.Warmups) != len(trials.Starts) || trials.Warmups[0].Round != 1 {
		t.Errorf("%d warm-ups of %d starts, the first of round %d: that in which lengths were chosen is not to be kept", len(trials.Warmups), len(trials.Starts), trials.Warmups[0].Round)
	}
	together := compareInBubble(t, design(), sleeping("a", time.Millisecond), sleeping("b", time.Millisecond))
	if finding.ArmsAlone.In(together.Comparisons[0].Warnings) {
		t.Error("arms that were alive together are said not to be")
	}
}

// Blocks of both arms scatter by σ² = 2·0.01² around the means of their visits (±0.01 of
// two blocks), four in a round: interleaved, rounds would have a standard deviation of
// √(2·2·0.01²/4) = 0.01. Log-ratios of ±0.03 have 0.03·√(6/5) = 0.0329.
func TestAloneWidens(t *testing.T) {
	blocks := func(rounds int, scatter float64) *Trials {
		trials := &Trials{Arms: []string{"A", "B"}, Design: Design{Alone: insisting, Confidence: 0.95, Levels: []int{1}}}
		for round := 1; round <= rounds; round++ {
			for i, arm := range []string{"A", "B", "B", "A"} {
				for half, sign := range []float64{1, -1} {
					perSec := 1e6 * math.Exp(sign*scatter+float64(i)) // visits lie far apart
					c := Cell{Arm: arm, Round: round, Pair: 2*(i/2) + half + 1, Stretch: i + 1, Result: &load.Result{
						Concurrency: 1, Duration: time.Hour, Counts: load.Counts{Completed: int64(perSec * 3600), Ops: int64(perSec * 3600)}}}
					c.ThroughputPerSec = c.Throughput()
					trials.Blocks = append(trials.Blocks, c)
				}
			}
		}
		return trials
	}
	for _, tt := range []struct {
		trials *Trials
		logs   []float64
		metric metric.Name
		want   string
	}{
		{blocks(6, 0.01), []float64{0.03, -0.03, 0.03, -0.03, 0.03, -0.03}, metric.Throughput, "up to 3.29 times as wide"},
		{blocks(6, 0.01), []float64{0.001, -0.001, 0, 0, 0, 0}, metric.Throughput, "the interval is no wider than"},
		{blocks(6, 0), []float64{0.03, -0.03, 0.03, -0.03, 0.03, -0.03}, metric.Throughput, "the interval is wider than"},
		{blocks(6, 0.01), []float64{0.03, -0.03, 0.03, -0.03, 0.03, -0.03}, "response_p99_ns", "the interval is wider than"},
		{blocks(1, 0.01), []float64{0.03}, metric.Throughput, "the interval is wider than"},
		{blocks(0, 0), nil, metric.Throughput, "the interval is wider than"},
	} {
		c := &Comparison{Baseline: "A", Candidate: "B", Concurrency: 1, Metric: tt.metric, RoundLogRatios: tt.logs}
		found := tt.trials.aloneFindings(c)
		if len(found) != 1 || !strings.Contains(found[0].Text, tt.want) || !strings.Contains(found[0].Text, insisting) {
			t.Errorf("%d blocks, %v of %s: %v, want %q", len(tt.trials.Blocks), tt.logs, tt.metric, found, tt.want)
		}
	}
}

// An arm that cannot be started while lengths are chosen ends the comparison; all such arms are named.
func TestAloneCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t}
		d := design()
		d.Alone = insisting
		broken := Arm{Name: "B", Start: func(context.Context, Setup) (*Live, error) { return nil, context.DeadlineExceeded }}
		_, err := Compare(t.Context(), []Arm{h.arm("A", time.Millisecond), broken}, load.Plan{VUs: 1}, d, nil)
		if err == nil || !strings.Contains(err.Error(), "B: ") || h.living != "" {
			t.Errorf("error %v, and %q lives", err, h.living)
		}
		other := broken
		other.Name = "A"
		_, err = Compare(t.Context(), []Arm{other, broken}, load.Plan{VUs: 1}, d, nil)
		if err == nil || !strings.Contains(err.Error(), "A: ") || !strings.Contains(err.Error(), "\nB: ") {
			t.Errorf("both cannot start, and the error is %v", err)
		}
	})
}

func TestAloneIsNoDuet(t *testing.T) {
	d := design()
	d.Alone, d.Duet = insisting, [][]int{{0}, {1}}
	if err := d.Validate(); err == nil || !strings.Contains(err.Error(), insisting) {
		t.Errorf("got %v", err)
	}
}
