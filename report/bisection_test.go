package report_test

import (
	"fmt"
	"strings"
	"testing"

	"contend/bisect"
	"contend/report"
	"contend/stat"
)

// bisected is the search for a change between 6 commits; the fourth cannot be built.
func bisected(looks ...bisect.Look) *report.Document {
	d, names, compared := document("bisect"), map[string]string{"mutex": "v1.2.0", "inputq": "v1.3.0"}, verdicts(20)
	for i, name := range compared.Arms {
		compared.Arms[i] = names[name]
		d.Arms = append(d.Arms, report.Arm{Name: names[name], Does: "{{out}} -listen {{addr}}", URL: "http://{{addr}}/"})
	}
	for i, cell := range compared.Rounds {
		compared.Rounds[i].Arm = names[cell.Arm]
	}
	compared.Derive()
	d.Add(report.Place{}, compared)
	b := &report.Bisection{Good: strings.Repeat("0a", 20), Bad: strings.Repeat("6c", 20)}
	for i, subject := range []string{"api: check the order's sum", "docs: name the port", "api: log each order", "queue: wait less", "web: a new icon", "api: order by time"} {
		c := bisect.Commit{Hash: strings.Repeat(fmt.Sprintf("%dc", i+1), 20), Subject: subject}
		if i > 0 {
			c.Parents = []int{i - 1}
		}
		b.Commits = append(b.Commits, c)
	}
	b.Commits[3].Failed = "4c4c4c4c4c4c (4c4c4c4): go build -o {{out}} .: exit status 1"
	b.Looks = append([]bisect.Look{{Commit: 5, LogRatios: []float64{-0.107, -0.104, -0.105, -0.106}}}, looks...)
	d.Bisection = b
	d.Derive()
	return d
}

func found() *report.Document {
	return bisected(bisect.Look{Commit: 2, LogRatios: []float64{-0.104, -0.107}}, bisect.Look{Commit: 1, LogRatios: []float64{0.001, -0.001}})
}

// confirmed is a comparison with the parent that comes to a verdict.
func confirmed(verdict stat.Verdict) *report.Document {
	d := found()
	c := d.Comparisons[0].Comparison
	c.Baseline, c.Candidate, c.Verdict = "3c3c3c3c3c3c~1", "3c3c3c3c3c3c", verdict
	d.Bisection.Confirmed = &c
	return d
}

func stoppedSearch() *report.Document {
	d := bisected()
	d.Bisection.Stopped = "time"
	return d
}

func unsearched(unbroken string) *report.Document {
	d := oneLevel(30)
	d.Bisection = &report.Bisection{Bisection: bisect.Bisection{Commits: make([]bisect.Commit, 1)}, Unbroken: unbroken}
	return d
}

func TestBisectionIsFound(t *testing.T) {
	same := bisect.Look{Commit: 2, LogRatios: []float64{0.001, -0.001}}
	for _, tt := range []struct {
		name  string
		d     *report.Document
		found bool
		first string
	}{
		{"certain", found(), true, "3c3c3c3 (api: log each order) made the difference"},
		{"confirmed", confirmed(stat.Slower), true, "3c3c3c3 (api: log each order) is 10.0% slower than its parent (95% CI "},
		{"not decided", confirmed(stat.Inconclusive), true, "Cannot tell yet whether 3c3c3c3 (api: log each order) is faster than its parent: "},
		{"refuted", confirmed(stat.Equivalent), false, "No single commit made the difference. 3c3c3c3 (api: log each order) is as fast as its parent"},
		{"the other way", confirmed(stat.Faster), false, "No single commit made the difference. 3c3c3c3 "},
		{"one of two", bisected(same, bisect.Look{Commit: 4, LogRatios: []float64{-0.104, -0.107}}), false, "One of 2 commits: no comparison tells more"},
		{"stopped", stoppedSearch(), false, "Not found yet: one of 6 commits"},
		{"equal ends", unsearched(""), false, ""},
		{"the claim holds for neither", unsearched(`"p50 < 10ms" does not hold for A either`), false, `No commit to find: "p50 < 10ms" does not hold for A either. `},
	} {
		if tt.name == "the other way" {
			tt.d.Bisection.Confirmed.Ratio = 1.03
		}
		if got := tt.d.Bisection.Found(); got != tt.found {
			t.Errorf("%s: found %v", tt.name, got)
		}
		if first := firstLine(t, tt.d); !strings.HasPrefix(first, tt.first) {
			t.Errorf("%s: %q, want %q", tt.name, first, tt.first)
		}
		if listed := strings.Contains(rendered(t, tt.d.Text), "Every comparison of a commit"); listed != (len(tt.d.Bisection.Looks) > 0) {
			t.Errorf("%s: comparisons are listed: %v", tt.name, listed)
		}
	}
}

// Where a comparison stayed INVALID the page proposes to count, but not a claim, nor where counts have the answer.
func TestBisectionProposesToCount(t *testing.T) {
	const busy = "INVALID (machine_busy): other programs used the CPU"
	for name, tt := range map[string]struct {
		d             *report.Document
		failed, asked string
		want          bool
	}{
		"not measured": {stoppedSearch(), busy, "", true},
		"not built":    {stoppedSearch(), "exit status 1", "", false},
		"a claim":      {stoppedSearch(), busy, "contend bisect --expect 'p99 < 1ms'", false},
		"refuted":      {confirmed(stat.Equivalent), busy, "", false},
	} {
		tt.d.Bisection.Commits[3].Failed, tt.d.Asked = tt.failed, tt.asked
		if said := strings.Contains(screenOf(t, tt.d), "add --count"); said != tt.want {
			t.Errorf("%s: it is proposed: %v", name, said)
		}
		const whole = "contend bisect --count A B -- './a {{addr}}'"
		tt.d.SettleBy(report.Step{Purpose: "count instructions", Command: whole})
		if said := strings.Contains(screenOf(t, tt.d), "Next: count instructions\n  "+whole); said != tt.want {
			t.Errorf("%s: the command is proposed: %v", name, said)
		}
	}
}
