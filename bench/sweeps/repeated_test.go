package main

import (
	"strings"
	"testing"
	"time"

	"contend/report"
	"contend/sweep"
	"contend/trial"
	"contend/usl"
)

func TestAnswerOfDocument(t *testing.T) {
	curve := sweep.Curve{Knee: &usl.Knee{N: usl.Estimate{Value: 4, Interval: &usl.Interval{Low: 3, High: 6}}}, Visits: make([]trial.Cell, 30)}
	inTime := &report.Document{Curves: []report.Curve{{Curve: curve}}}
	var a answer
	if a.read(inTime); a != (answer{N: 4, Low: 3, High: 6, Verdict: use, Runs: 30}) {
		t.Errorf("%+v", a)
	}
	curve.TimeUp = &trial.TimeUp{Lacks: "everything"}
	a = answer{}
	if a.read(&report.Document{Curves: []report.Curve{{Curve: curve}}}); a.Verdict != unsure || a.Why != "everything" || a.N != 4 {
		t.Errorf("time up: %+v", a)
	}
}

// Of 20 sweeps of a server whose knee is 8, 16 are right: 8, and 12 as the last that is. Two are not, and two are no answers.
func TestAnswersAddUp(t *testing.T) {
	all := []answer{{Server: "pool", N: 13, Low: 9, High: 14, Verdict: use}, {Server: "pool", N: 5, Low: 4, High: 8, Verdict: use},
		{Server: "pool", Verdict: invalid}, {Server: "pool", N: 8, Low: 2, High: 64, Verdict: unsure, Took: 59 * time.Second},
		{Server: "pool", Busy: true, N: 64, Verdict: use}, {Server: "lock", N: 64, Verdict: use}}
	for range 15 {
		all = append(all, answer{Server: "pool", N: 8, Low: 7, High: 9, Verdict: use})
	}
	all = append(all, answer{Server: "pool", N: 12, Low: 8, High: 12, Verdict: use})
	var text strings.Builder
	showAnswers(&text, knowns[:1], all, map[string]float64{"pool": 8}, false)
	for _, line := range []string{
		"pool, knee 8: 16 of 20 right, 18 intervals hold it, 2 without an answer, at most 59 s; wrong: 13, 5\n",
		"≥ 110 of 120: 16 of 20 (80.0 % [56.3, 94.3]): MISSED\n", // 16 ÷ 20 is less than 110 ÷ 120
		"≥ 16 of 20: reached\n",
		"≥ 108 of 120: 18 of 20 (90.0 % [68.3, 98.8]): reached\n",
		"at most 1m0s: 59 s: reached\n",
	} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("no %q in\n%s", line, text.String())
		}
	}
	text.Reset()
	showAnswers(&text, knowns[:1], all, map[string]float64{"pool": 8}, true)
	if !strings.Contains(text.String(), "right or no answer: 0 of 1 (0.0 % [0.0, 97.5]): MISSED\n") {
		t.Error(text.String())
	}
}

func TestTruths(t *testing.T) {
	b := &bench{truthFile: t.TempDir() + "/truth.jsonl"}
	got, err := b.truths()
	if err != nil || got["pool"] != 8 || got["lock"] != 4 || len(got) != 2 {
		t.Errorf("of no file: %v, %v", got, err)
	}
}
