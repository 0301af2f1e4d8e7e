package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"contend/expect"
	"contend/failure"
	"contend/finding"
	"contend/metric"
	"contend/report"
	"contend/trial"
	"contend/why"
)

// asking is an experiment with one part.
func asking(id, question string) report.Experiment {
	return report.Experiment{ID: id, Title: "title of " + id, Question: question, Status: "done", Profile: "quick", Elapsed: 12_300_000_000,
		Parts: []report.Part{{Name: "main"}}, Answer: report.Answer{Published: "the queue takes 6% more at concurrency 10, one run each",
			Caveat: "the generator was the limit"}}
}

// one is the lab's document of one experiment.
func one(e report.Experiment, fill func(*report.Document, report.Place)) *report.Document {
	d := document("lab")
	if fill != nil {
		fill(d, report.Place{Experiment: e.ID, Part: "main"})
	}
	d.Experiments = []report.Experiment{e}
	d.Derive()
	return d
}

func comparing(levels ...int) func(*report.Document, report.Place) {
	return func(d *report.Document, at report.Place) { d.Add(at, verdicts(levels...)) }
}

// manyArms compares six candidates with a baseline, of 200 to 32 000 a second.
func manyArms(d *report.Document, at report.Place) {
	t := &trial.Trials{Arms: []string{"base", "half", "same", "unclear", "twice", "more", "most"}, Design: trial.Design{
		Rounds: 7, Pairs: 1, Block: 1e9, Levels: []int{1}, Metrics: []metric.Name{metric.Throughput}, Margin: new(0.02), Confidence: 0.95}}
	for round := 1; round <= t.Design.Rounds; round++ {
		for name, n := range map[string]int64{"base": 10_000, "half": 5_000, "same": 10_000, "twice": 20_000, "more": 24_000, "most": 32_000} {
			roundOf(t, name, 1, round, arm{completed: n + wobble(round), serverNS: 1000, generatorSec: 0.1})
		}
		roundOf(t, "unclear", 1, round, arm{completed: 10_000 + 900*wobble(round), serverNS: 1000, generatorSec: 0.1})
	}
	t.Derive()
	d.Add(at, t)
}

// figured is one arm in seven rounds.
func figured(d *report.Document, at report.Place) {
	t := &trial.Trials{Arms: []string{"acks"}, Design: trial.Design{Rounds: 7, Levels: []int{1}, Metrics: []metric.Name{metric.Throughput}, Confidence: 0.95}}
	for round := 1; round <= 7; round++ {
		roundOf(t, "acks", 1, round, arm{completed: 10_000 + 100*wobble(round), serverNS: 1000, generatorSec: 0.1})
	}
	t.Derive()
	d.Add(at, t)
}

func labPages() map[string]*report.Document {
	const lock = "Does the queue serve more than the lock?"
	answered := asking("answered", lock)
	answered.Source, answered.Expectations = "a benchmark", []expect.Expectation{{Part: "main", Text: "errors == 0"}}
	unmet := asking("unmet", lock)
	unmet.Expectations = []expect.Expectation{{Part: "main", Text: "throughput > 10200"}, {Part: "main", Text: "mutex.p99 < 1ns"}, {Part: "main", Text: "nobody.errors == 0"}}
	parts := asking("parts", "Is it the queue, and where?")
	parts.Parts, parts.Answer.Parts = []report.Part{{Name: "main"}, {Name: "second"}, {Name: "third"}}, []string{"second"}
	best := asking("best", "How many connections are best?")
	figure := asking("figures", "How many a second, and how late?")
	figure.Answer.Figures = []report.AnswerFigure{{Part: "main", Arm: "acks", Metric: metric.Throughput},
		{Part: "main", Arm: "acks", Metric: metric.ResponseP99}, {Part: "main", Arm: "nobody", Metric: metric.Throughput}}
	figure.Published = []report.Published{{Part: "main", Title: "theirs", Notes: []report.Note{{Metric: metric.Throughput, Comparable: true, Because: "the same"},
		{Because: "another machine"}}, Rows: []report.PublishedFigure{{Arm: "acks", Metric: metric.Throughput, Theirs: 2500}}}}
	planned := asking("planned", "How many gateways?")
	planned.Status, planned.Parts, planned.Profile, planned.Elapsed = "planned", nil, "", 0
	failed := asking("failing", lock)
	failed.Status, failed.Error, failed.File = "failed", "a: its process died: exit status 2\nstderr: panic: \x1b[31mno port\x1b[0m", "my own.yaml"
	half := asking("half", lock)
	half.Status = "interrupted"
	left := asking("left-out", lock)
	left.Parts, left.Warnings = nil, []finding.Warning{finding.LeftOut.Warning("nginx is not installed, so the variants of nginx were skipped")}
	plain := report.Experiment{ID: "own", File: "own.yaml", Title: "two servers", Status: "done", Parts: []report.Part{{Name: "main"}}}
	several := func(d *report.Document, at report.Place) {
		d.Add(at, verdicts(10, 60))
		at.Part = "second"
		d.Add(at, verdicts(20, 30, 40))
		at.Part = "third"
		d.AddCurve(at, sweepOf("queue", []int{1, 18, 36, 72, 108, 144, 216}, []int64{6500, 99600, 165200, 185300, 182900, 177500, 170200}))
	}
	wrong := report.Experiment{ID: "wrong", File: "own.yaml", Title: "two servers", Status: "done", Parts: []report.Part{{Name: "main"}}}
	absent := wrong
	absent.Status, absent.Error, absent.Failures = "failed", "a text", []failure.Failure{missing("inputq", "./orders")}
	pages := map[string]*report.Document{
		"why":      diagnosed(one(answered, comparing(10)), 0, why.Work{Kind: "channels", Function: "runtime.chansend", Time: 1200}),
		"answered": one(answered, comparing(10)), "undecided": one(asking("undecided", lock), comparing(40)), "invalid": one(asking("invalid", lock), comparing(60)),
		"equivalent": one(asking("equivalent", lock), comparing(30)), "unmet": one(unmet, comparing(10, 20)), "parts": one(parts, several),
		"best": one(best, func(d *report.Document, at report.Place) { d.AddCurve(at, &swept().Curves[0].Curve) }),
		"many": one(asking("many", "Which design is fastest?"), manyArms), "figures": one(figure, figured), "planned": one(planned, nil),
		"failing": one(failed, nil), "half": one(half, comparing(10)), "left-out": one(left, nil), "own": one(plain, comparing(10)), "own-wrong": one(wrong, comparing(50)), "own-nothing": one(wrong, comparing(70)), "own-levels": one(plain, comparing(10, 20)), "own-absent": one(absent, nil),
	}
	for _, name := range []string{"own", "own-levels", "own-absent"} {
		pages[name].Arms = oneLevel(10).Arms
	}
	pages["own"].Again = "contend report --full own.json"
	pages["own-levels"].Experiments[0].Question = lock
	pages["own-levels"].Experiments[0].Expectations = []expect.Expectation{{Text: "errors == 0", Held: true}, {Text: "throughput > 10200", Detail: "mutex at concurrency 10: throughput was 10,006/s"}}
	all, none := document("lab"), document("lab")
	for _, name := range []string{"answered", "undecided", "invalid", "unmet", "best", "many", "figures", "planned", "failing", "half"} {
		all.Experiments = append(all.Experiments, pages[name].Experiments...)
		all.Trials = append(all.Trials, pages[name].Trials...)
		all.Curves = append(all.Curves, pages[name].Curves...)
	}
	for _, name := range []string{"planned", "failing"} {
		none.Experiments = append(none.Experiments, pages[name].Experiments...)
	}
	all.Derive()
	none.Derive()
	all.Again = "contend report"
	pages["all"], pages["none"] = all, none
	return pages
}

// Each page begins with what came out and keeps to its lines and to the width of a
// terminal, in either alphabet: 20 of one experiment, and 8 more for the numbers of one's own, 8 and 12 for each of several.
func TestLabPages(t *testing.T) {
	all := gathered{}
	for name, d := range labPages() {
		most := 20
		if name == "own" || strings.HasPrefix(name, "own-") {
			most += 8
		}
		if n := len(d.Experiments); n > 1 {
			most = 8 + 12*n
		}
		for _, look := range []report.Look{{}, {ASCII: true}} {
			b := screenOf(t, d, look)
			lines := strings.Split(strings.TrimSuffix(b, "\n"), "\n")
			if len(lines) > most || len(lines) < 4 {
				t.Errorf("%s has %d lines, want 4 to %d:\n%s", name, len(lines), most, b)
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > 100 {
					t.Errorf("%s has a line of %d columns: %s", name, n, line)
				}
			}
			if !look.ASCII {
				all.add(d, name, b)
			} else if i := strings.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
				t.Errorf("%s is not ASCII: %q", name, b[i:i+3])
			}
		}
		var brief bytes.Buffer
		if err := d.Brief(&brief, report.Look{}); err != nil || strings.Count(brief.String(), "\n") != 1 {
			t.Errorf("%s in brief is %q, %v", name, brief.String(), err)
		}
	}
	all.golden(t, "screen")
}

// However long the texts of an experiment are, a page has its lines.
func TestLabPagesAreBounded(t *testing.T) {
	long := strings.Repeat("words without end ", 200)
	e := asking("long", long)
	e.Answer.Published, e.Answer.Caveat = long, strings.Repeat("x", 5000)
	for i := range 30 {
		e.Expectations = append(e.Expectations, expect.Expectation{Part: "main", Text: fmt.Sprintf("throughput > %d", 100_000+i)})
	}
	d := one(e, comparing(10, 20, 30, 40, 50, 60, 70))
	var page bytes.Buffer
	if err := d.Screen(&page, report.Look{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "\n"); n > 32 {
		t.Errorf("%d lines:\n%s", n, page.String())
	}
	for i := range 5 {
		other := e
		other.ID = fmt.Sprint("other-", i)
		d.Experiments = append(d.Experiments, other)
	}
	page.Reset()
	if err := d.Screen(&page, report.Look{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "\n"); n > 150 {
		t.Errorf("six experiments have %d lines:\n%s", n, page.String())
	}
	if text := page.String(); !strings.Contains(text, "…") || strings.Contains(text, "……") {
		t.Errorf("what is cut ends with one …:\n%s", text)
	}
}
