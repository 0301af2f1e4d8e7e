package experiment

import (
	"math"
	"strings"
	"testing"
	"time"

	"contend/trial"
)

func TestTakes(t *testing.T) {
	const head = "id: x\ntitle: x\ntarget: {url: 'http://127.0.0.1:1/'}\nsubjects: {}\narms: {a: {}, b: {}}\n"
	const counted = "id: x\ntitle: x\ntarget: {url: 'http://{{addr}}/'}\nsubjects: {a: {command: a}, b: {command: b}}\narms: {a: {subject: a}, b: {subject: b}}\nload: {vus: 2}\n"
	for _, tt := range []struct {
		text string
		want float64
	}{
		// 0.2 + 2 arms × 3 rounds × (0.2 + 2 levels × (0.1 + 4 × 0.5))
		{head + "load: {vus: [1, 2], duration: 500ms, warmup: 100ms}\ncompare: {baseline: a, rounds: 3, pairs: 4}\n", 26.6},
		// 0.2 + 2 arms × 4 visits × (0.2 + 3 levels × (0.1 + 0.5))
		{head + "load: {vus: [1, 2, 3], duration: 500ms, warmup: 100ms}\nsweep: {visits: 4}\n", 16.2},
		// 0.2 + 2 arms × 6 rounds × 4 s
		{"id: x\ntitle: x\narms: {a: {document: uplink demo}, b: {document: uplink demo}}\ncompare: {baseline: a, rounds: 6}\n", 48.2},
		// 0.2 + 2 arms × 4 repetitions × 3 s, and less if there is less time
		{counted + "compare: {baseline: a, count: true}\n", 24.2},
		{counted + "compare: {baseline: a, count: true, duration: 20s}\n", 20.2},
	} {
		f, err := Parse("x", []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		e, compared := f.Experiment(""), strings.Contains(tt.text, "load") && strings.Contains(tt.text, "baseline") // neither swept nor from documents
		if got, why := e.Takes(), e.DiagnosisTakes(); math.Abs(got-tt.want) > 1e-9 || (why > 0) != compared {
			t.Errorf("%s: %v s, want %v, and %v to say why", tt.text, got, tt.want, why)
		}
	}
}

// A part that is also diagnosed is done when that is, and has it left while it is compared.
func TestPhases(t *testing.T) {
	f, err := Parse("x", []byte("id: x\ntitle: x\ntarget: {url: 'http://127.0.0.1:1/'}\nsubjects: {}\narms: {a: {}, b: {}}\nload: {vus: 1}\ncompare: {baseline: a, rounds: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := f.Experiment("")
	var told []trial.Progress
	observe := func(p trial.Progress) { told = append(told, p) }
	for _, diagnosed := range []bool{true, false} {
		told = nil
		r := &runner{Experiment: e, options: Options{Why: diagnosed}}
		comparing, why := r.phases(e.Parts[0], observe)
		comparing(trial.Progress{Done: 1, Label: "end", Left: time.Second})
		why(trial.Progress{Label: "begin"})
		why(trial.Progress{Done: 1})
		then := time.Duration(0)
		if diagnosed {
			then = e.DiagnosisTakes()
			if told[0].Done >= 1 || told[0].Done != told[1].Done || told[1].Label != "why: begin" || told[2].Done != 1 {
				t.Errorf("%+v", told)
			}
		}
		if got := told[0].Left; got != time.Second+then {
			t.Errorf("diagnosed %v: %v left, want a second and %v", diagnosed, got, then)
		}
	}
}
