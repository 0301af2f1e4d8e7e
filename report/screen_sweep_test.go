package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"contend/finding"
	"contend/report"
	"contend/sweep"
	"contend/trial"
)

// pool is a sweep of a server with eight workers, each level three times and within 0.2%:
// the law, which has no corner, has a peak and misses the levels by more than that.
func pool() *report.Document {
	c := &sweep.Curve{Design: sweep.Design{Levels: []int{1, 4, 6, 10, 16, 25, 40, 64}, Visits: 3, Seed: 1}}
	t := new(trial.Trials)
	for round, share := range []float64{0.998, 1, 1.002} {
		for i, perSec := range []float64{4360, 16_850, 24_070, 31_370, 32_580, 31_500, 30_000, 27_500} {
			roundOf(t, "", c.Design.Levels[i], round+1, arm{completed: int64(share * perSec), serverNS: 10_000, generatorSec: 0.2})
		}
	}
	c.Visits = t.Rounds
	c.Derive()
	d := document("sweep")
	d.AddCurve(report.Place{}, c)
	return d
}

// If there are more levels than a page has room for, it says so, and shows the first, the last and the one to use.
func TestSomeOfManyLevels(t *testing.T) {
	for _, n := range []int{8, 10} {
		levels, x := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}[:n], []int64{100, 200, 300, 400, 500, 600, 700, 800, 810, 815}[:n]
		d := document("sweep")
		d.AddCurve(report.Place{}, sweepOf("", levels, x))
		b := screenOf(t, d)
		_, rows, _ := strings.Cut(b, "concurrency  throughput")
		head, rows, _ := strings.Cut(rows, "\n")
		if strings.HasSuffix(head, "8 of 10 levels") != (n == 10) || strings.Count(rows, "█\n")+strings.Count(rows, "use this\n") != 8 {
			t.Errorf("%d levels:\n%s", n, b)
		}
		for _, level := range []string{" 1 ", fmt.Sprintf(" %d ", n), " 8 "} {
			if !strings.Contains(rows, level) {
				t.Errorf("of %d levels%sis not shown:\n%s", n, level, b)
			}
		}
	}
}

// If a law misses the levels, the best level measured replaces it, and both answers name the same
// concurrency.
func TestALawThatMissesTheLevels(t *testing.T) {
	d := pool()
	if fit := d.Curves[0].Fit; fit == nil || fit.Peak == nil || !slices.ContainsFunc(fit.Warnings, func(w finding.Warning) bool { return w.Is(finding.Misfit) }) {
		t.Fatalf("the fit is %+v, want one with a peak and a misfit", fit)
	}
	b := screenOf(t, d)
	page := strings.Join(strings.Fields(b), " ")
	for _, want := range []string{"Use concurrency 10: ", ". Concurrency 16: 3.9% more, 1.54× the median.", // 32580 ÷ 31370 = 1.039
		"from concurrency 10 to 64 throughput falls by 12%, and the median is 7.", // 27500 ÷ 31370 = 0.877
		"10 31,370/s ±0.495% ", // of 0.998, 1 and 1.002 in whole numbers: 4.3 · 0.002 ÷ √3
		" for the levels measured (best: ", " at concurrency 16); ignore the fitted curve (misfit)", "! misfit: "} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, b)
		}
	}
	if strings.Contains(page, "fitted peak") {
		t.Errorf("the fitted peak is on the page:\n%s", b)
	}
	if head, _, _ := strings.Cut(b, "Next: "); !strings.HasPrefix(rendered(t, d.Text), head) {
		t.Errorf("the whole report does not begin with the page:\n%s", rendered(t, d.Text))
	}
}

// A sweep that was interrupted, or whose time was up, recommends nothing, also where a picture would.
func TestASweepThatIsNotDone(t *testing.T) {
	for answer, end := range map[string]func(*report.Curve){
		"Interrupted; so far: concurrency 10: 31,370/s":  func(c *report.Curve) { c.Interrupted = true },
		"Inconclusive; so far: concurrency 10: 31,370/s": func(c *report.Curve) { c.TimeUp = &trial.TimeUp{Lacks: "much"} },
	} {
		d := pool()
		end(&d.Curves[0])
		var page, html strings.Builder
		if err := errors.Join(d.Screen(&page, report.Look{}), d.HTML(&html)); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(page.String(), answer) || !strings.Contains(page.String(), "INCONCLUSIVE: 24 runs at 8 levels") == d.Curves[0].Interrupted {
			t.Errorf("no %q:\n%s", answer, &page)
		}
		for _, text := range []string{page.String(), html.String()} {
			for _, word := range []string{"use 10", "use this", "Use concurrency", "use concurrency"} {
				if strings.Contains(text, word) {
					t.Errorf("%q after %q", word, answer)
				}
			}
		}
	}
}
