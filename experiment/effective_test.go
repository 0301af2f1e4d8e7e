package experiment

import (
	"reflect"
	"testing"
	"time"

	"contend/metric"
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
  quick: {load: {duration: 100ms}, compare: {rounds: 6, pairs: 1}}
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
	own := []metric.Name{metric.WallPerOp}
	for _, c := range []struct {
		profile     string
		part        int
		wantLoad    Load
		wantCompare Compare
	}{
		{"standard", 0, // the file's defaults, since there is no such profile
			Load{VUs: []int{1, 2}, Duration: time.Second, Warmup: time.Second},
			Compare{Baseline: "a", Rounds: 10, Margin: 0.01}},
		{"quick", 0, // the file's profile over its defaults
			Load{VUs: []int{1, 2}, Duration: 100 * time.Millisecond, Warmup: time.Second},
			Compare{Baseline: "a", Rounds: 6, Pairs: 1, Margin: 0.01}},
		{"standard", 1, // the part over the defaults, field by field
			Load{VUs: []int{5}, Duration: time.Second, Warmup: time.Second},
			Compare{Baseline: "a", Rounds: 10, Margin: 0.03, Metrics: own}},
		{"quick", 1, // the part's profile over the file's over the part
			Load{VUs: []int{7}, Duration: 100 * time.Millisecond, Warmup: time.Second},
			Compare{Baseline: "a", Rounds: 8, Pairs: 1, Margin: 0.03, Metrics: own}},
		{"published", 1,
			Load{VUs: []int{5}, Duration: 20 * time.Second, Warmup: time.Second},
			Compare{Baseline: "a", Rounds: 10, Margin: 0.03, Metrics: own}},
	} {
		p := f.effectiveParts(c.profile)[c.part]
		if !reflect.DeepEqual(p.Load, c.wantLoad) {
			t.Errorf("%s %s: load is %+v, want %+v", c.profile, p.Name, p.Load, c.wantLoad)
		}
		if !reflect.DeepEqual(p.Compare, c.wantCompare) {
			t.Errorf("%s %s: compare is %+v, want %+v", c.profile, p.Name, p.Compare, c.wantCompare)
		}
	}
}

func TestEffectiveArms(t *testing.T) {
	f, err := Parse("layered.yaml", []byte(layered))
	if err != nil {
		t.Fatal(err)
	}
	parts := f.effectiveParts("standard")
	if want := map[string]Arm{"a": {Subject: "a"}, "b": {Subject: "b"}}; !reflect.DeepEqual(parts[0].Arms, want) {
		t.Errorf("arms are %+v, want one per subject", parts[0].Arms)
	}
	p := parts[1]
	if got := p.Arms["a"].Target.Over(p.Target); got.URL() != "http://{{addr}}/own" || got.Get("method") != "POST" || got.Get("data") != "y" {
		t.Errorf("target of arm a is %+v: want the part's url, the file's method and the arm's data", got)
	}
	if got := p.Arms["c"].Target.Over(p.Target); got.Get("data") != "x" {
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
	parts := f.effectiveParts("quick")
	if len(parts) != 1 || len(parts[0].Arms) != 2 {
		t.Errorf("parts are %+v, want one with an arm per subject", parts)
	}
	if !reflect.DeepEqual(f, again) {
		t.Error("the file was changed")
	}
}
