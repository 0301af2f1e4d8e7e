package experiment

import (
	"runtime"
	"strings"
	"testing"

	"contend/finding"
	"contend/internal/placement"
	"contend/protocol"
	"contend/report"
)

// What cannot run here is skipped and reported, and breaks no expectation:
// single arms, and parts without any arm left.
func TestWhatCannotRunIsLeftOut(t *testing.T) {
	other := map[bool]string{true: "windows", false: "linux"}[runtime.GOOS == "linux"]
	f, err := Parse("x.yaml", []byte(strings.ReplaceAll(`
id: x
title: x
subjects:
  uninstalled: {requires: no-such-program, serve: "counter --http {{addr}}"}
  missing-too: {requires: no-such-program, serve: "counter --http {{addr}}"}
  elsewhere: {os: OTHER, serve: "counter --http {{addr}}"}
target: {url: "http://{{addr}}/"}
load: {vus: 1, duration: 10ms, think: 1ms}
compare: {rounds: 1, pairs: 1}
expect: [errors == 0]
parts:
  - name: some
    arms:
      one: {target: {url: "pipe:chan?items=100"}}
      two: {target: {url: "pipe:spsc?items=100"}}
      three: {subject: elsewhere}
    compare: {baseline: one}
  - name: none
    arms: {one: {subject: uninstalled}, two: {subject: elsewhere}, three: {subject: missing-too}}
    compare: {baseline: one}
`, "OTHER", other)))
	if err != nil {
		t.Fatal(err)
	}
	doc := new(report.Document)
	if err := f.Experiment("quick").Run(t.Context(), Options{}, doc); err != nil {
		t.Fatal(err)
	}
	entry := doc.Experiments[0]
	var said []string
	for _, w := range entry.Warnings {
		if !w.Is(finding.LeftOut) {
			t.Errorf("warning %+v", w)
		}
		said = append(said, w.Text)
	}
	want := []string{
		"no-such-program is not installed, so the variants of missing-too, uninstalled were skipped",
		"this is " + runtime.GOOS + " and not " + other + ", so the variants of elsewhere were skipped",
		"no variant of part none can run here, so there is nothing to compare",
	}
	if got := strings.Join(said, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("said is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if len(entry.Parts) != 1 || len(entry.Expectations) != 1 || !entry.Expectations[0].Held || len(doc.Results) != 2 {
		t.Errorf("parts %+v, expectations %+v, %d results", entry.Parts, entry.Expectations, len(doc.Results))
	}
}

// Variants are told by their commands, or by their URLs if two have the same command or one has none.
func TestAlternatives(t *testing.T) {
	served := func(subjects map[string]Subject) *Experiment {
		e := OfSubjects(protocol.At("http://{{addr}}/"), subjects)
		e.Parts[0].Baseline = "B"
		e.Place(placement.Shared)
		if e.Parts[0].Placement != placement.Shared {
			t.Errorf("placed %q", e.Parts[0].Placement)
		}
		return e
	}
	for _, tt := range []struct {
		subjects map[string]Subject
		want     string
	}{
		{map[string]Subject{"A": {Command: "./old"}, "B": {Command: "./new"}}, "B ./new, A ./old"},
		{map[string]Subject{"A": {Serve: "mutex"}, "B": {Command: "./new"}}, "B ./new, A contend serve mutex"},
		{map[string]Subject{"A": {Command: "./same"}, "B": {Command: "./same"}}, "B http://{{addr}}/, A http://{{addr}}/"},
		{map[string]Subject{"A": {Command: "./old"}, "B": {}}, "B http://{{addr}}/, A http://{{addr}}/"},
	} {
		var got []string
		for _, arm := range served(tt.subjects).Alternatives() {
			got = append(got, arm.Name+" "+arm.Does)
		}
		if joined := strings.Join(got, ", "); joined != tt.want {
			t.Errorf("%q, want %q", joined, tt.want)
		}
	}
}

func TestCheckPprof(t *testing.T) {
	for url, want := range map[string]string{
		"http://{{addr}}/debug/pprof/": "", "http://{{addr.debug}}/debug/pprof/": "", "http://localhost:6060/debug/pprof/": "",
		"http://{{host.name}}/": "expected {{addr}}", "gopher://{{addr}}/": "expected a URL such as http://{{addr}}/debug/pprof/",
	} {
		err := CheckPprof(url)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
