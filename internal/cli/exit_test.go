package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/expect"
	"contend/finding"
	"contend/hist"
	"contend/internal/testenv"
	"contend/load"
	"contend/report"
	"contend/search"
	"contend/stat"
	"contend/sweep"
	"contend/trial"
	"contend/usl"
	"contend/why"
)

// answered is a result of 1000 answers; so many of them are wrong.
func answered(wrong int64) trial.Cell {
	r := &load.Result{Target: "t", Model: load.ClosedModel, Concurrency: 1, Duration: time.Second, Stopped: load.StoppedByDuration}
	r.Counts = load.Counts{Planned: 1000, Completed: 1000 - wrong, Failed: wrong, Response: hist.New(), Service: hist.New(), StartLag: hist.New()}
	return trial.Cell{Arm: "b", Result: r}
}

// One rule for every command, from what is in its document.
func TestOutcome(t *testing.T) {
	at := report.Place{Experiment: "e", Part: "p"}
	result := func(at report.Place, wrong int64) *report.Document {
		return &report.Document{Results: []report.Result{{Place: at, Cell: answered(wrong)}}}
	}
	verdict := func(v stat.Verdict, primary bool) *report.Document {
		c := trial.Comparison{Baseline: "a", Candidate: "b", Concurrency: 5, Verdict: v, Primary: primary}
		if v == stat.Invalid {
			c.Reason = finding.AnswersDiffer.Refusal("because")
		}
		d := result(at, 500) // which the verdict says already, or is not about
		d.Comparisons = []report.Comparison{{Place: at, Comparison: c}}
		return d
	}
	curve := func(wrong int64, peak bool) *report.Document {
		c := sweep.Curve{Arm: "b", Results: []trial.Cell{answered(0), answered(wrong)}}
		if peak {
			c.Fit = &usl.Result{Peak: &usl.Peak{}}
		}
		d := result(at, wrong)
		d.Curves = []report.Curve{{Place: at, Curve: c}}
		return d
	}
	unfinished := curve(0, true)
	unfinished.Curves[0].TimeUp = &trial.TimeUp{Lacks: "much"}
	bound := curve(100, false)
	bound.Curves[0].Bound = &sweep.Bound{Reason: *finding.GeneratorSaturated.Refusal("because")}
	bound.Curves[0].Best, bound.Curves[0].Knee = new(usl.Knee), new(usl.Knee)
	rate := func(v search.Verdict) *report.Document {
		alone := answered(0)
		return &report.Document{Searches: []report.Search{{Result: search.Result{Alone: &alone, Verdict: v, Reason: finding.StartLag.Refusal("because")}}}}
	}
	expecting := func(d *report.Document, held bool) *report.Document {
		d.Experiments = []report.Experiment{{ID: "e", Expectations: []expect.Expectation{{Text: "x", Held: held}}}}
		return d
	}
	undiagnosed := verdict(stat.Faster, true)
	undiagnosed.Trials = []report.Trials{{Place: at, Trials: trial.Trials{Why: &trial.Diagnosis{Failed: "b: its process died"}}}}
	unsaid := verdict(stat.Faster, true)
	unsaid.Trials = []report.Trials{{Place: at, Trials: trial.Trials{Arms: []string{"a", "b"}, Design: trial.Design{Levels: []int{5}}, Why: &trial.Diagnosis{Profiles: []why.Profile{{Arm: "a"}}}}}}
	unseen := verdict(stat.Faster, true)
	unseen.Trials = []report.Trials{{Place: at, Trials: trial.Trials{Arms: []string{"a", "b"}, Design: trial.Design{Levels: []int{5}}, Why: &trial.Diagnosis{Missing: []string{"x"}}}}}
	nobody := &report.Document{Searches: []report.Search{{Result: search.Result{Alone: new(answered(1000)), Verdict: search.RateInvalid}}}}
	for _, tt := range []struct {
		name       string
		doc        *report.Document
		asked, lab int // of every command but the lab, and of the lab
		says       string
	}{
		{"nothing", &report.Document{}, 0, 0, ""},
		{"a result", result(report.Place{}, 0), 0, 0, ""},
		{"an INVALID result", result(at, 100), 4, 4, "e, part p: INVALID (errors): b at concurrency 1"},
		{"no right answer", result(at, 1000), 1, 1, "nothing succeeded"},
		{"FASTER", verdict(stat.Faster, true), 0, 0, ""},
		{"FASTER, and why is not known", undiagnosed, 1, 1, "the verdict stands"},
		{"FASTER, and too few rounds say why", unsaid, 1, 1, "the verdict stands"},
		{"FASTER, and why cannot be seen here", unseen, 0, 0, ""},
		{"EQUIVALENT", verdict(stat.Equivalent, true), 0, 0, ""},
		{"SLOWER", verdict(stat.Slower, true), 3, 0, ""},
		{"MORE", verdict(stat.More, true), 3, 0, ""},
		{"INCONCLUSIVE", verdict(stat.Inconclusive, true), 4, 0, ""},
		{"INVALID", verdict(stat.Invalid, true), 4, 4, "e, part p: INVALID (answers_differ): b against a at concurrency 5"},
		{"a secondary INVALID", verdict(stat.Invalid, false), 0, 0, ""},
		{"an optimum in spite of INVALID visits", curve(100, true), 0, 0, ""},
		{"a sweep without one", curve(0, false), 0, 0, ""},
		{"a sweep without one for INVALID visits", curve(100, false), 4, 4, "e, part p: INVALID (errors): the sweep of b"},
		{"a sweep whose time was up", unfinished, 4, 0, ""},
		{"a bound, as the generator is the limit", bound, 0, 0, ""},
		{"a rate", rate(search.RateFound), 0, 0, ""},
		{"at least a rate", rate(search.RateAtLeast), 0, 0, ""},
		{"the lowest rate misses", rate(search.RateMissed), 3, 0, ""},
		{"an INVALID rate", rate(search.RateInvalid), 4, 4, "INVALID (start_lag): the rate of the target"},
		{"an unsettled rate", rate(search.RateUnsettled), 4, 0, ""},
		{"nobody there", nobody, 1, 1, "nothing succeeded"},
		{"an expectation that held", expecting(result(at, 0), true), 0, 0, ""},
		{"one that did not", expecting(verdict(stat.Invalid, true), false), 3, 3, `e: expectation "x" failed`},
	} {
		for command, want := range map[string]int{"run": tt.asked, "compare": tt.asked, "sweep": tt.asked, "guard": tt.asked, "pipe": tt.asked, "lab": tt.lab} {
			tt.doc.Command = command
			code, text := exitDone, ""
			if err := outcome(tt.doc); err != nil {
				exit := err.(*exitError)
				code = exit.code
				if exit.err != nil {
					text = exit.err.Error()
				}
			}
			if code != want || command == "lab" && !strings.Contains(text, tt.says) {
				t.Errorf("%s, %s: exit code %d (%s), want %d with %q", tt.name, command, code, text, want, tt.says)
			}
		}
	}
}

// A result that is INVALID whatever the machine does ends every command with 4.
func TestInvalidExitsWithFour(t *testing.T) {
	t.Parallel()
	served := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	page := served(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 2000)) })
	short := served(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "error: no db") })
	slow := served(func(http.ResponseWriter, *http.Request) { time.Sleep(50 * time.Millisecond) })
	failing := func() string { // for one command, which gets every other answer wrong
		var n atomic.Int64
		return served(func(w http.ResponseWriter, _ *http.Request) {
			if n.Add(1)%2 == 0 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "refused.yaml")
	text := `{id: refused, title: two pages, compare: {baseline: page, rounds: 1, pairs: 1, metrics: throughput_per_s}, load: {vus: 1, duration: 500ms, warmup: 0s, think: 5ms},
 parts: [{name: alike, arms: {page: {target: {url: "` + page + `"}}, again: {target: {url: "` + page + `"}}}},
 {name: apart, arms: {page: {target: {url: "` + page + `"}}, short: {target: {url: "` + short + `"}}}}]}`
	testenv.Write(t, file, text)
	for _, tt := range []struct{ args, page, errs string }{
		{"run --full -c 1 --rate 200 -d 2s --grace 0s " + slow, "^No result: .*\nINVALID \\(incomplete\\): ", ""}, // 40 of 400 arrivals begin
		{"run --full -c 1 -n 20 " + failing(), "^No result: .*\nINVALID \\(errors\\): ", ""},
		{"compare --full --rounds 1 --pairs 1 --think 5ms --block 500ms --warmup 0s -c 1 " + page + " " + short, "^No result: .*\nINVALID \\(answers_differ\\): ", ""},
		{"sweep --full --levels 1,2 --visits 1 --think 5ms --block 500ms --warmup 0s " + failing(), "^No result: .*\nINVALID \\(errors", ""},
		{"lab -o  " + file, "^(.*\n)?.*INVALID .*answers_differ", ""},
		{"lab --full -o  " + file, "INVALID .*answers_differ", "refused, part apart: INVALID (answers_differ): short against page at concurrency 1"},
	} {
		t.Run(tt.args[:5], func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			args := strings.Split(tt.args, " ")
			code := Main(t.Context(), args, Streams{&out, &errs})
			if code != exitUndecided || !regexp.MustCompile(tt.page).MatchString(out.String()) || !strings.Contains(errs.String(), tt.errs) {
				t.Errorf("exit code %d, want %d and a page like %s:\n%s\n%s", code, exitUndecided, tt.page, &out, &errs)
			}
		})
	}
}

// The refusals of a part are one line: the first, and how many more.
func TestRefusedParts(t *testing.T) {
	err := refusedParts([]report.Refusal{
		{Place: report.Place{Experiment: "a", Part: "p"}, Text: "INVALID (errors): one"}, {Place: report.Place{Experiment: "b"}, Text: "INVALID (errors): two"},
		{Place: report.Place{Experiment: "a", Part: "p"}, Text: "INVALID (errors): three"},
	})
	if want := "a, part p: INVALID (errors): one; and 1 more\nb: INVALID (errors): two"; err == nil || err.(*exitError).err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := refusedParts(nil); err != nil {
		t.Error(err)
	}
}
