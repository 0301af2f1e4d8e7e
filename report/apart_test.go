package report_test

import (
	"bytes"
	"strings"
	"testing"

	"contend/metric"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

func how() trial.Apart {
	return trial.Apart{Metrics: []metric.Name{metric.Throughput, "response_p90_ns"}, Margin: new(0.02), Confidence: 0.95}
}

func comparedDocument(levels ...int) *report.Document {
	d := document("compare")
	d.Add(report.Place{}, verdicts(levels...))
	return d
}

// storedDocuments are the same two arms, measured twice.
func storedDocuments() *report.Document {
	d := document("compare")
	if err := d.AddStored(report.Stored{Name: "monday.json", Document: comparedDocument(10, 40)},
		report.Stored{Name: "tuesday.json", Document: comparedDocument(10, 20)}, how()); err != nil {
		panic(err)
	}
	return d
}

func TestStored(t *testing.T) {
	d := storedDocuments()
	// Two arms at the one level that both have, in two metrics.
	if len(d.Comparisons) != 4 {
		t.Fatalf("%d comparisons, want 4", len(d.Comparisons))
	}
	for _, c := range d.Comparisons {
		if c.Concurrency != 10 || !strings.HasSuffix(c.Baseline, " (monday.json)") || !strings.HasSuffix(c.Candidate, " (tuesday.json)") {
			t.Errorf("%s against %s at %d", c.Candidate, c.Baseline, c.Concurrency)
		}
		if c.Ratio != 1 || c.Verdict == stat.Invalid {
			t.Errorf("ratio %g, %s", c.Ratio, c.Verdict)
		}
	}
	if len(d.Results) != 8 { // two arms at two levels, twice
		t.Errorf("%d results, want 8", len(d.Results))
	}
}

// Of the experiments those parts are named in which something was compared.
func TestStoredExperiments(t *testing.T) {
	stored := func() *report.Document {
		d := document("lab")
		d.Experiments = []report.Experiment{{ID: "queues", Title: "Queues", Parts: []report.Part{{Name: "one"}, {Name: "two"}}}, {ID: "locks", Parts: []report.Part{{Name: "one"}}}}
		d.Add(report.Place{Experiment: "queues", Part: "two"}, verdicts(10))
		return d
	}
	d := document("compare")
	if err := d.AddStored(report.Stored{Name: "a.json", Document: stored()}, report.Stored{Name: "b.json", Document: stored()}, how()); err != nil {
		t.Fatal(err)
	}
	if len(d.Experiments) != 1 || d.Experiments[0].ID != "queues" || d.Experiments[0].Status != "done" || len(d.Experiments[0].Parts) != 1 || d.Experiments[0].Parts[0].Name != "two" {
		t.Errorf("%+v", d.Experiments)
	}
}

func TestStoredNames(t *testing.T) {
	one, two := closedResult("http://127.0.0.1:1/", 10, 1000), closedResult("http://127.0.0.1:2/", 10, 1000)
	for _, tt := range []struct{ base, cand, wantBase, wantCand string }{
		{"a.json", "b.json", "a.json", "b.json"},
		{"a.json", "a.json", "a.json (A)", "a.json (B)"},
	} {
		d := document("compare")
		err := d.AddStored(report.Stored{Name: tt.base, Document: runDocument(one)}, report.Stored{Name: tt.cand, Document: runDocument(two)}, how())
		if err != nil {
			t.Fatal(err)
		}
		c := d.Comparisons[0]
		if c.Baseline != tt.wantBase || c.Candidate != tt.wantCand || c.Reason == nil || c.Reason.Code != "too_few_rounds" {
			t.Errorf("%s against %s: %v", c.Candidate, c.Baseline, c.Reason)
		}
	}
}

func TestStoredWithoutCounterpart(t *testing.T) {
	d := document("compare")
	err := d.AddStored(report.Stored{Name: "a.json", Document: comparedDocument(10)}, report.Stored{Name: "b.json", Document: ladder()}, how())
	if err == nil || !strings.Contains(err.Error(), "Only in a.json: mutex.") {
		t.Errorf("error %v", err)
	}
	d = document("compare")
	stored := report.Stored{Name: "c.json", Document: storedDocuments()}
	if err := d.AddStored(stored, stored, how()); err == nil || !strings.Contains(err.Error(), "c.json is itself a comparison") {
		t.Errorf("error %v", err)
	}
}

// Whatever of the environment differs takes the verdict away.
func TestStoredEnvironments(t *testing.T) {
	one := comparedDocument(10)
	for want, change := range map[string]func(*report.Environment){
		"cores: 2 against 64":                       func(e *report.Environment) { e.Cores = 64 },
		"Go: go1.26 against go1.27":                 func(e *report.Environment) { e.Go = "go1.27" },
		"GOMAXPROCS: 2 against 1":                   func(e *report.Environment) { e.GOMAXPROCS = 1 },
		"kernel: Linux 6.1 against ":                func(e *report.Environment) { e.Kernel = "" },
		"CPU limit: 1.5 against 0":                  func(e *report.Environment) { e.CPULimit = 0 },
		"CPU: Test CPU @ 2.50GHz aga":               func(e *report.Environment) { e.CPU = "another" },
		"CPUs of the load generator: all against 1": func(e *report.Environment) { e.GeneratorCPUs = "1" },
		"CPUs of the servers: all against 2":        func(e *report.Environment) { e.ServerCPUs = "0-1" },
		"system: linux/amd64 against":               func(e *report.Environment) { e.Arch = "arm64" },
	} {
		other := *one
		change(&other.Environment)
		d := document("compare")
		if err := d.AddStored(report.Stored{Name: "a.json", Document: one}, report.Stored{Name: "b.json", Document: &other}, how()); err != nil {
			t.Fatal(err)
		}
		for _, c := range d.Comparisons {
			if c.Verdict != stat.Inconclusive || c.Reason.Code != "environments_differ" || !strings.Contains(c.Reason.Text, want) {
				t.Errorf("%s %v, want %q", c.Verdict, c.Reason, want)
			}
		}
	}
}

// A document that names one source, or the same arm twice, is refused and not shown.
func TestReadRefusesBadSources(t *testing.T) {
	for name, change := range map[string]func(*report.Document){
		"":           func(*report.Document) {}, // it is read
		"one source": func(d *report.Document) { d.Sources = d.Sources[:1] },
		"one name":   func(d *report.Document) { d.Apart[0].Candidate.Arm = d.Apart[0].Baseline.Arm },
		"no metric":  func(d *report.Document) { d.Apart[0].Metrics = nil },
		"no result":  func(d *report.Document) { d.Apart[0].Baseline.Rounds[0].Result = nil },
	} {
		d := storedRuns()
		change(d)
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		if read, err := report.Read(&b); (read == nil) != (name != "") || (err == nil) != (name == "") {
			t.Errorf("%s: document %v, error %v", name, read != nil, err)
		}
	}
}
