package experiment

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"contend/count"
	"contend/finding"
	"contend/protocol"
	"contend/report"
	"contend/stat"
	"contend/trial"
	"contend/why"
)

// Instructions are counted of servers that are started here and kept busy.
func TestCountIsChecked(t *testing.T) {
	const file = `id: x
title: x
subjects:
  a: {command: "./a -listen {{addr}}"}
  b: {SUBJECT}
target: {url: "http://{{addr}}/"}
LOAD
`
	for name, tt := range map[string]struct{ subject, load, want string }{
		"right":            {`command: "./b -listen {{addr}}"`, "{vus: 8}", ""},
		"a rate":           {`command: "./b -listen {{addr}}"`, "{vus: 8, rate: constant:50}", "drop rate and think"},
		"two levels":       {`command: "./b -listen {{addr}}"`, "{vus: [1, 8]}", "one level of concurrency"},
		"think time":       {`command: "./b -listen {{addr}}"`, "{vus: 8, think: 1s}", "drop rate and think"},
		"a running server": {`url: "127.0.0.1:80"`, "{vus: 8}", "b: counting instructions requires a command"},
		"one of a worker":  {`command: "subject:b"`, "{vus: 8}", "b: counting instructions requires a command"},
		"a container":      {`command: "A=1 docker run --rm -p {{port}}:80 image"`, "{vus: 8}", "b: instructions cannot be counted in a container"},
		"metrics":          {`command: "./b -listen {{addr}}"`, "{vus: 8}\ncompare: {metrics: [p99]}", "drop metrics and precision"},
		"a precision":      {`command: "./b -listen {{addr}}"`, "{vus: 8}\ncompare: {precision: 1%}", "drop metrics and precision"},
		"two rounds":       {`command: "./b -listen {{addr}}"`, "{vus: 8}\ncompare: {rounds: 2}", "at least 3 rounds, or no limit"},
		"expectations":     {`command: "./b -listen {{addr}}"`, "{vus: 8}\nexpect: [errors == 0]", "drop expect"},
	} {
		text := strings.NewReplacer("SUBJECT", tt.subject, "LOAD", "load: "+tt.load).Replace(file)
		if before, after, found := strings.Cut(text, "compare: {"); found {
			text = before + "compare: {baseline: a, count: true, " + after
		} else {
			text += "compare: {baseline: a, count: true}\n"
		}
		f, err := Parse("x.yaml", []byte(text))
		if tt.want == "" {
			if err != nil || !f.Experiment("").Parts[0].Count.Count {
				t.Errorf("%s: %v", name, err)
			}
		} else if err == nil || strings.Count(err.Error(), tt.want) != 1 {
			t.Errorf("%s: %v, want %q once", name, err, tt.want)
		}
	}
}

// Who chooses no number of callers gets as many as keep a server busy.
func TestCallersThatCount(t *testing.T) {
	for _, tt := range []struct {
		counts, chosen bool
		want           int
	}{{false, false, 10}, {true, true, 10}, {true, false, count.Callers}} {
		p := Part{Design: trial.NewDesign(), Count: count.Design{Count: tt.counts}}
		if p.CallersOf(tt.chosen); p.Design.Levels[0] != tt.want {
			t.Errorf("%+v: %v callers", tt, p.Design.Levels)
		}
	}
}

// A diagnosis counts what servers execute that contend starts, whatever their load; of a comparison that is refused it has the reason.
func TestCountedForADiagnosis(t *testing.T) {
	for command, want := range map[string]bool{"./b -listen {{addr}}": true, "": false, "docker run --rm -p {{port}}:80 image": false} {
		e := OfSubjects(protocol.At("http://{{addr}}/"), map[string]Subject{"A": {Command: "./a -listen {{addr}}"}, "B": {Command: command, URL: "127.0.0.1:80"}})
		e.Parts[0].Plan.Think = time.Second
		r := newRunner(e, Options{}, new(report.Document))
		if got := r.counter(e.Parts[0], nil, nil) != nil; got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
	counts := &count.Counts{Tool: "valgrind-3.19.0", Comparisons: []count.Comparison{{Candidate: "B", Verdict: stat.Equivalent, Total: count.Difference{Baseline: 100, Candidate: 110},
		Rows: []count.Row{{Name: "main.add", Difference: count.Difference{Baseline: 10, Candidate: 20}}}}}}
	got, err := instructionsOf(counts)
	want := []why.Instructions{{Arm: "B", Tool: "valgrind-3.19.0", Baseline: 100, Candidate: 110, Same: true, Differ: []why.Executed{{Function: "main.add", Baseline: 10, Candidate: 20}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	reason := finding.Errors.Refusal("7 of 8 requests failed")
	counts.Comparisons[0].Reason = reason
	if got, err := instructionsOf(counts); got != nil || err == nil || err.Error() != reason.String() {
		t.Errorf("%+v, %v", got, err)
	}
}

// Every mistake of a file that counts is reported at once.
func TestAllMistakesOfCounting(t *testing.T) {
	_, err := Parse("x.yaml", []byte(`id: x
title: x
subjects:
  a: {command: "docker run image {{addr}}"}
  b: {url: "127.0.0.1:80"}
target: {url: "http://{{addr}}/"}
load: {vus: [1, 8], rate: constant:50}
compare: {baseline: a, count: true, metrics: [p99]}
expect: [errors == 0]
`))
	for _, want := range []string{"rate", "one level", "metrics", "expectations", "b: counting", "a: instructions cannot"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, without %q", err, want)
		}
	}
}

// Of the published experiments, the parts that compare servers which are started here can be counted.
func TestCountedExperiments(t *testing.T) {
	for id, want := range map[string]string{"grpc-guard": "kept", "http-guard": "http", "channel-pipeline": "", "uplink-routing": ""} {
		e := embedded(t, id).Experiment("")
		var parts []string
		ok := e.Counted()
		for _, p := range e.Parts {
			if parts = append(parts, p.Name); !p.Count.Count || p.plan().VUs != count.Callers {
				t.Errorf("%s: part %s is driven by %d and counted: %v", id, p.Name, p.plan().VUs, p.Count.Count)
			}
		}
		if strings.Join(parts, " ") != want || ok != (want != "") || len(e.Analyses) > 0 {
			t.Errorf("%s: parts %q, want %q; %v; %v", id, parts, want, ok, e.Analyses)
		}
		if err := e.Validate(); ok && err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// A part of a file that counts anyway is counted as it says.
func TestCountedAsItSays(t *testing.T) {
	margin := 0.01
	e := embedded(t, "http-guard").Experiment("")
	e.Counted()
	for i := range e.Parts {
		d := &e.Parts[i].Design
		d.Margin, d.Rounds, d.Levels = &margin, 7, []int{5}
	}
	if !e.Counted() {
		t.Fatal("nothing is counted")
	}
	for _, p := range e.Parts {
		if d := p.Design; d.Margin != &margin || d.Rounds != 7 || p.plan().VUs != 5 {
			t.Errorf("%s: margin %v, %d rounds, %d callers", p.Name, d.Margin, d.Rounds, p.plan().VUs)
		}
	}
}
