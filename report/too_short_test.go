package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/load"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// glimpses are the warm-ups of servers that take 5 s for a response, for which 10 s is too short.
func glimpses() *report.Document {
	t := verdicts(10)
	t.Rounds, t.Blocks = nil, nil
	for _, name := range t.Arms {
		roundOf(t, name, 10, 0, arm{completed: 10})
		r := t.Rounds[len(t.Rounds)-1].Result
		r.Response, r.Service, r.Server = spread(10, 5*time.Second, 5002*time.Millisecond), spread(10, 5*time.Second, 5002*time.Millisecond), nil
	}
	t.Blocks, t.Design.Block, t.Design.Duration = nil, 0, 10*time.Second
	t.TimeUp = &trial.TimeUp{Lacks: "6 rounds or more, of 35.0 s each here", Needs: 270 * time.Second}
	t.Derive()
	d := document("compare")
	d.Arms = []report.Arm{{Name: "mutex", Does: "./orders -mode lock -listen {{addr}}"}, {Name: "inputq", Does: "./orders -mode queue -listen {{addr}}"}}
	d.Add(report.Place{}, t)
	d.SettleBy(report.Step{Purpose: report.MeasureLonger, Command: "contend compare -d 4m30s --url http://{{addr}}/ -- './orders -mode lock' './orders -mode queue'"})
	return d
}

// glimpse is the first level of a sweep with such a server.
func glimpse() *report.Document {
	d := oneSweep(0)
	c := &d.Curves[0]
	c.Visits, c.TimeUp = c.Visits[:1], &trial.TimeUp{Lacks: "6 levels are driven 4 times, and at concurrency 1 a response takes 5s", Needs: 12 * time.Minute}
	c.Derive()
	d.Then(report.Step{Purpose: report.MeasureLonger, Command: "contend sweep -d 12m http://127.0.0.1:8080/peaked"})
	return d
}

// atOnce is a comparison of slow servers; mutex ignored SIGTERM.
func atOnce() *report.Document {
	d := oneLevel(10)
	d.Trials[0].AtOnce = []int{10}
	d.Experiments = []report.Experiment{{ID: "compare", Status: "done", Warnings: []finding.Warning{finding.Killed.Warning("mutex was killed: it ignored SIGTERM for 5s (--stop-timeout)")}}}
	return d
}

// declining is a run that gets slower.
func declining() *report.Document {
	r := closedResult("http://localhost:8080/status", 10, 20_000)
	var seconds []load.Interval
	for i := range 10 {
		seconds = append(seconds, load.Interval{Completed: 2450 - 100*int64(i)})
	}
	seconds = append(seconds, load.Interval{}) // to the end of the tenth
	r.Course = overTime(r, seconds...)
	return runDocument(r)
}

// All views of what there was too little time for have what was measured, and a document that is read again has it, too.
func TestTooShortIsSaidInAllForms(t *testing.T) {
	d := glimpses()
	if c := d.Comparisons; len(c) != 1 || c[0].Verdict != stat.Inconclusive || !c[0].Reason.Is(finding.TooFewRounds) || c[0].BaselineValue == 0 {
		t.Fatalf("%+v", c)
	}
	var stored bytes.Buffer
	if err := d.Write(&stored); err != nil {
		t.Fatal(err)
	}
	again, err := report.Read(bytes.NewReader(stored.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if was, is := fmt.Sprint(d.Comparisons), fmt.Sprint(again.Comparisons); was != is {
		t.Errorf("read again it says %s, and not %s", is, was)
	}
	var tree map[string]any
	if err := json.Unmarshal(stored.Bytes(), &tree); err != nil || len(tree["results"].([]any)) != 2 {
		t.Errorf("%v: %v", err, tree["results"])
	}
	for _, form := range report.Format("").Values() {
		var b bytes.Buffer
		if err := report.Format(form).Write(again, &b); err != nil {
			t.Errorf("%s: %v", form, err)
		}
		says := map[string]string{"csv": "inputq", "hdr": "inputq", "benchfmt": "inputq"}[form]
		if says == "" {
			says = "responses take 5.00 s: 10s has no room for 6 rounds"
		}
		if !strings.Contains(b.String(), says) {
			t.Errorf("%s does not say %q: %s", form, says, b.String())
		}
	}
}

// What a server does over time is the answer: all views of a run begin with it, and none has it as a caveat.
func TestRunsBeginWithWhatChanged(t *testing.T) {
	for _, tt := range []struct {
		d     *report.Document
		first string
	}{
		{declining(), "Gets slower: from 2,450/s to 1,550/s in 10.0 s; overall 2,000/s, median 4.90 ms"},
		{starved(), "9 of 10 connections got no response, the others 20,000"},
	} {
		var page, brief, markdown, html, stored bytes.Buffer
		if err := errors.Join(tt.d.Screen(&page, report.Look{}), tt.d.Brief(&brief, report.Look{}), tt.d.Markdown(&markdown), tt.d.HTML(&html), tt.d.Write(&stored)); err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"page": page.String(), "brief": brief.String(), "Markdown": strings.TrimLeft(markdown.String(), "*# ")} {
			if !strings.HasPrefix(strings.Join(strings.Fields(text), " "), tt.first) || strings.Contains(text, "\n!") {
				t.Errorf("the %s is %s, want %q first, and no caveat", form, text, tt.first)
			}
		}
		if answer, _, _ := strings.Cut(html.String(), "<table"); !strings.Contains(answer, tt.first) {
			t.Errorf("HTML without %q: %.4000s", tt.first, answer)
		}
		var tree struct{ Results []load.Result }
		if err := json.Unmarshal(stored.Bytes(), &tree); err != nil {
			t.Fatal(err)
		}
		r := tree.Results[0]
		if said := len(r.Changes) == 1 && len(r.Warnings) == 0; said != (tt.d.Results[0].Starved == 0) {
			t.Errorf("over time %v, warnings %v", r.Changes, r.Warnings)
		}
	}
}

// A run that was stored when it was a warning can be read.
func TestOverTimeWasAWarning(t *testing.T) {
	var stored bytes.Buffer
	if err := declining().Write(&stored); err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(stored.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	r := tree["results"].([]any)[0].(map[string]any)
	r["warnings"] = r["over_time"]
	delete(r, "over_time")
	older, err := json.Marshal(tree)
	if err == nil {
		_, err = report.Read(bytes.NewReader(older))
	}
	if err != nil {
		t.Error(err)
	}
}

// starved is a run whose server serves one connection.
func starved() *report.Document {
	r := closedResult("http://localhost:8080/status", 10, 20_000)
	r.Shares = load.NewShares(append(make([]int64, 9), 20_000))
	return runDocument(r)
}
