package experiment

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"contend/metric"
	"contend/trial"
)

const layered = `id: layered
title: defaults, parts and profiles
subjects:
  a: {command: "./a {{addr}}"}
  b: {command: "./b {{addr}}"}
target: {url: "http://{{addr}}/", method: POST, data: x}
load: {vus: [1, 2], duration: 1s, warmup: 1s}
compare: {baseline: a, rounds: 10, margin: 1%}
expect: [errors == 0]
profiles:
  quick: {load: {duration: 100ms, warmup: 0s}, compare: {rounds: 6, pairs: 1}}
parts:
  - name: plain
  - name: own
    title: its own
    target: {url: "http://{{addr}}/own"}
    arms: {a: {subject: a, target: {data: y}}, c: {subject: b}}
    load: {vus: 5}
    compare: {metrics: [wall_ns_per_op], margin: 3%}
    expect: [c.errors == 0]
    profiles:
      quick: {load: {vus: 7}, compare: {rounds: 8}}
      published: {load: {duration: 20s}}
`

func TestEffectiveParts(t *testing.T) {
	f, err := Parse("layered.yaml", []byte(layered))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		profile string
		part    int
		want    func(*trial.Design) // from the file's defaults
	}{
		{"standard", 0, func(*trial.Design) {}}, // unknown profile
		{"quick", 0, func(d *trial.Design) { // the file's profile over its defaults
			d.Block, d.Rounds, d.Pairs, d.Warmup = 100*time.Millisecond, 6, 1, 0
		}},
		{"standard", 1, func(d *trial.Design) { // the part over the defaults, field by field
			d.Levels, d.Margin, d.Metrics = []int{5}, new(0.03), []metric.Name{metric.WallPerOp}
		}},
		{"quick", 1, func(d *trial.Design) { // the part's profile over the file's over the part
			d.Levels, d.Margin, d.Metrics = []int{7}, new(0.03), []metric.Name{metric.WallPerOp}
			d.Block, d.Rounds, d.Pairs, d.Warmup = 100*time.Millisecond, 8, 1, 0
		}},
		{"published", 1, func(d *trial.Design) {
			d.Levels, d.Margin, d.Metrics, d.Block = []int{5}, new(0.03), []metric.Name{metric.WallPerOp}, 20*time.Second
		}},
	} {
		want := trial.NewDesign()
		want.Levels, want.Block, want.Warmup, want.Rounds, want.Margin = []int{1, 2}, time.Second, time.Second, 10, new(0.01)
		c.want(&want)
		p := f.Experiment(c.profile).Parts[c.part]
		if !reflect.DeepEqual(p.Design, want) || p.Baseline != "a" {
			t.Errorf("%s %s: design is %+v against %s, want %+v", c.profile, p.Name, p.Design, p.Baseline, want)
		}
	}
}

func TestEffectiveArms(t *testing.T) {
	f, err := Parse("layered.yaml", []byte(layered))
	if err != nil {
		t.Fatal(err)
	}
	parts := f.Experiment("standard").Parts
	if want := map[string]Arm{"a": {Subject: "a", Target: f.Target}, "b": {Subject: "b", Target: f.Target}}; !reflect.DeepEqual(parts[0].Arms, want) {
		t.Errorf("arms are %+v, want one per subject", parts[0].Arms)
	}
	p := parts[1]
	if got := p.Arms["a"].Target; got.URL() != "http://{{addr}}/own" || got.Get("method") != "POST" || got.Get("data") != "y" {
		t.Errorf("target of arm a is %+v: want the part's url, the file's method and the arm's data", got)
	}
	if got := p.Arms["c"].Target; got.Get("data") != "x" {
		t.Errorf("target of arm c has data %q: want that of the file", got.Get("data"))
	}
	if !reflect.DeepEqual(p.Expect, []string{"c.errors == 0"}) || !reflect.DeepEqual(parts[0].Expect, []string{"errors == 0"}) {
		t.Errorf("expectations are %q and %q: a part's own replace those of the file", parts[0].Expect, p.Expect)
	}
	if p.Name != "own" || p.Title != "its own" || parts[0].Title != "" {
		t.Errorf("names are %q, %q", parts[0].Title, p.Title)
	}
}

// A file without parts has one, and reading it changes nothing in it.
func TestEffectivePartsLeaveTheFileAlone(t *testing.T) {
	f, err := Parse("orders.yaml", []byte(orders))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Parse("orders.yaml", []byte(orders))
	parts := f.Experiment("quick").Parts
	if len(parts) != 1 || len(parts[0].Arms) != 2 {
		t.Errorf("parts are %+v, want one with an arm per subject", parts)
	}
	if !reflect.DeepEqual(f, again) {
		t.Error("the file was changed")
	}
}

// The errors that the expectations of a part allow are its limit for errors, unless it has one.
func TestExpectationsAllowErrors(t *testing.T) {
	for _, tt := range []struct {
		lines        string
		design, plan float64
	}{
		{"", 0.001, 0.001},
		{"expect: errors < 1%", 0.01, 0.01},
		{"expect: errors < 0.01%", 0.001, 0.001}, // which is judged as an expectation // which is judged as an expectation
		{"expect: lock.errors < 1%", 0.001, 0.001},
		{"expect: errors < 1%\ncompare: {baseline: lock, max_errors: 0%}", 0, 0.001},
		{"compare: {baseline: lock, max_errors: 5%}", 0.05, 0.05},
	} {
		lines := tt.lines
		if !strings.Contains(lines, "compare") {
			lines += "\ncompare: {baseline: lock}"
		}
		head, _, _ := strings.Cut(orders, "compare:")
		f, err := Parse("orders.yaml", []byte(head+lines))
		if err != nil {
			t.Fatal(err)
		}
		p := f.Experiment("").Parts[0]
		if p.Design.MaxErrors != tt.design || p.Plan.AllowedErrors() != tt.plan {
			t.Errorf("%q: %v of the comparison and %v of a plan, want %v and %v", tt.lines, p.Design.MaxErrors, p.Plan.AllowedErrors(), tt.design, tt.plan)
		}
	}
}
