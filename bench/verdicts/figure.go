package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"contend/bench/internal/paired"
	"contend/finding"
	"contend/stat"
	"contend/trial"
)

// A figure is one line of the table.
type figure struct {
	what, bar, got string
	reached        bool
}

// show prints a figure under the key of its row.
func (b *bench) show(key string, f figure) {
	fmt.Fprintf(b.out, "%s  %s: bar %s, got %s: %s\n", key, f.what, f.bar, f.got, paired.Outcome(f.reached))
}

// atMost is reached when no larger a share was hit than that of a full run.
func atMost(what string, hits, of int, bar, full int) figure {
	return figure{what, fmt.Sprintf("≤ %d of %d", bar, full), paired.Counted(hits, of), of > 0 && hits*full <= bar*of}
}

// atLeast is the opposite of atMost.
func atLeast(what string, hits, of int, share float64) figure {
	return figure{what, fmt.Sprintf("≥ %.4g %%", 100*share), paired.Counted(hits, of), of > 0 && float64(hits) >= share*float64(of)}
}

// Outcomes count what comparisons came to.
type outcomes struct {
	verdicts map[stat.Verdict]int
	refused  map[string]int // INVALID, by the code of the reason
	failed   int            // no verdict at all
}

func newTally() *outcomes {
	return &outcomes{verdicts: map[stat.Verdict]int{}, refused: map[string]int{}}
}

func (t *outcomes) add(verdict stat.Verdict, reason *finding.Warning) {
	t.verdicts[verdict]++
	if reason != nil {
		t.refused[reason.Code]++
	}
}

// addReal counts a real comparison, or its failure, and tells how it went.
func (t *outcomes) addReal(b *bench, title string, c trial.Comparison, err error) {
	if err != nil {
		t.failed++
		b.note("%s: failed: %v", title, err)
		return
	}
	t.add(c.Verdict, c.Reason)
	reason := ""
	if c.Reason != nil {
		reason = "; " + c.Reason.Code + ": " + c.Reason.String()
	}
	b.note("%s: %s, ratio %.3f [%.3f, %.3f], p %.3f, %d rounds%s", title, c.Verdict, c.Ratio, c.Low, c.High, c.P, c.Rounds, reason)
}

// told is the number of FASTER and SLOWER.
func (t *outcomes) told() int { return t.verdicts[stat.Faster] + t.verdicts[stat.Slower] }

func (t *outcomes) total() int {
	n := 0
	for _, count := range t.verdicts {
		n += count
	}
	return n
}

func (t *outcomes) String() string {
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(t.verdicts)) {
		parts = append(parts, fmt.Sprintf("%s %d", v, t.verdicts[v]))
	}
	for _, code := range slices.Sorted(maps.Keys(t.refused)) {
		parts = append(parts, fmt.Sprintf("of INVALID %s %d", code, t.refused[code]))
	}
	if t.failed > 0 {
		parts = append(parts, fmt.Sprintf("failed %d", t.failed))
	}
	return strings.Join(parts, ", ")
}
