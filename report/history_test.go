package report_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/abtest"
	"contend/history"
	"contend/internal/testenv"
	"contend/metric"
	"contend/report"
)

// keptResult is that of a commit whose ratio to the anchor is in per cent.
func keptResult(n int, percent float64, verdict string) history.Stored {
	at := math.Log1p(percent / 100)
	day := time.Date(2024, 2, 1+n, 12, 0, 0, 0, time.UTC)
	return history.Stored{Name: fmt.Sprintf("%064d.json", n), Result: history.Result{
		Schema: history.Schema, Time: day, Commit: fmt.Sprintf("c%06d%033d", n, 0), Committed: day, Subject: fmt.Sprint("change ", n), Anchor: strings.Repeat("a1", 20),
		Key: history.Key{Asked: "contend compare --build 'make {{out}}' -- '{{out}} {{addr}}'", CPU: "Test CPU", Cores: 2, Kernel: "6.1", Toolchain: "go1.26", Placement: "shared"},
		Values: []history.Value{{Of: history.Of{Concurrency: 20, Metric: "throughput_per_s"}, Primary: true, Value: 100_000 * (1 + percent/100), Baseline: 100_000,
			Rounds: []float64{at - 0.01, at, at + 0.01}, LogRatio: at, Low: at - 0.01, High: at + 0.01, Level: 0.05, Verdict: verdict}}}}
}

// histories are some of every kind that has a page of its own.
func histories() map[string]*report.History {
	anchor := strings.Repeat("a1", 20)
	order := map[string]int{}
	var whole []history.Stored
	for n, percent := range []float64{0.2, 0.4, 0.1, -5, -5.2} {
		verdict := "EQUIVALENT"
		if percent < -1 {
			verdict = "SLOWER"
		}
		r := keptResult(n, percent, verdict)
		if n >= 2 {
			r.Key.Kernel, r.Values[0].Baseline = "6.8", 70_000
		}
		order[r.Commit] = n
		whole = append(whole, r)
	}
	errors := keptResult(5, 0, "INVALID")
	errors.Values[0].Reason = "errors"
	lost := keptResult(6, -5, "SLOWER")
	bridged := keptResult(7, 1, "EQUIVALENT")
	bridged.Anchor = strings.Repeat("b2", 20)
	bridge := keptResult(8, -2, "SLOWER")
	bridge.Commit = bridged.Anchor
	altered := keptResult(9, 1, "EQUIVALENT")
	altered.Altered = true
	alone := keptResult(1, 0, "")
	alone.Anchor, alone.Key.Asked = "", "contend run http://localhost:8080/"
	alone.Values = []history.Value{{Of: history.Of{Metric: "response_p99_ns"}, Primary: true, Value: 1.25e6}}
	unbridged := keptResult(4, 1, "EQUIVALENT")
	unbridged.Anchor = strings.Repeat("d3", 20)
	damaged := []history.Problem{{Name: "x.json", Text: "is empty; it is kept and not shown"}}
	return map[string]*report.History{
		"steps":     {Folder: "perf", InGit: true, Lines: history.Lines(append(slices.Clone(whole), alone), anchor, order)},
		"worst":     {Folder: "perf", InGit: true, Problems: damaged, Lines: history.Lines(append(slices.Clone(whole), errors, lost, bridged, bridge, altered), anchor, order)},
		"alone":     {Folder: "perf", Lines: history.Lines([]history.Stored{alone}, anchor, nil)},
		"no anchor": {Folder: "perf", Lines: history.Lines(whole, "", nil)},
		"unbridged": {Folder: "perf", Lines: history.Lines(append(slices.Clone(whole[:2]), unbridged), anchor, nil)},
	}
}

func TestGoldenHistory(t *testing.T) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(histories())) {
		h := histories()[name]
		for _, form := range []string{"page", "markdown"} {
			page := rendered(t, h.Markdown)
			if form == "page" {
				page = rendered(t, func(w io.Writer) error { return h.Screen(w, report.Look{}) })
			}
			if form == "page" || name == "steps" && form == "markdown" {
				fmt.Fprintf(&b, "== %s, %s ==\n\n%s\n", name, form, page)
			}
			for line := range strings.Lines(page) {
				if form == "page" && len([]rune(line)) > 101 {
					t.Errorf("%s: a line has %d columns: %s", name, len([]rune(line)), line)
				}
			}
		}
	}
	testenv.Golden(t, "testdata/screen-history.txt", b.String())
}

func TestHistoryPage(t *testing.T) {
	for name, h := range histories() {
		page := rendered(t, h.HTML)
		if n := strings.Count(page, "<figure"); n < 1 || strings.Contains(page, "nothing was measured") {
			t.Errorf("%s: %d pictures", name, n)
		}
		picture, text := rendered(t, h.SVG), rendered(t, h.Text)
		if !strings.HasPrefix(picture, "<svg") || len(text) < 200 || strings.Contains(page+picture+text, "NaN") {
			t.Errorf("%s: %.100s, %s", name, picture, text)
		}
	}
	steps := rendered(t, histories()["steps"].HTML)
	for _, want := range []string{"data-plot=", "c000004 (change 4)", "machine: kernel 6.1 → 6.8, the anchor -30.0%", `class="mark"`} {
		if !strings.Contains(steps, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A step in counts has the functions that execute more after it.
func TestHistoryNamesWhatGrew(t *testing.T) {
	var kept []history.Stored
	for n := range 12 {
		r := keptResult(n, 0, "EQUIVALENT")
		if n >= 8 {
			r = keptResult(n, 5, "MORE")
		}
		v := &r.Values[0]
		v.Metric, v.Rounds, v.Others = history.CountedInstructions, nil, map[string]float64{"main.serve": 5000}
		if n >= 8 {
			v.Functions = []history.Function{{Name: "main.parse", Value: 4500, Baseline: 4000}}
		}
		kept = append(kept, r)
	}
	h := &report.History{Folder: "perf", Lines: history.Lines(kept, strings.Repeat("a1", 20), nil)}
	page := strings.Join(strings.Fields(rendered(t, func(w io.Writer) error { return h.Screen(w, report.Look{}) })), " ")
	if want := "; main.parse 4,000 → 4,500"; !strings.Contains(page, want) || strings.Contains(page, "main.serve") {
		t.Errorf("%q is not in\n%s", want, page)
	}
}

func TestHistoryExports(t *testing.T) {
	h := histories()["worst"]
	rows, err := csv.NewReader(strings.NewReader(rendered(t, h.CSV))).ReadAll()
	if err != nil || len(rows) != 1+len(h.Lines[0].Points) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	if first := rows[1]; column(first, "ratio_to_anchor")[:5] != "1.002" || column(first, "in_git") != "true" || column(first, "kernel") != "6.1" || column(first, "asked") == "" {
		t.Errorf("%q", first)
	}
	lines := rendered(t, histories()["steps"].Benchmarks)
	again, err := report.ReadBenchmarks(strings.NewReader(lines), time.Now())
	if err != nil || len(again) != 6 || again[4].Commit[:7] != "c000004" || again[4].Values[0].Metric != "throughput_per_s" || again[4].Values[0].Value != 94800 {
		t.Errorf("%v, %+v from\n%s", err, again, lines)
	}
}

func TestReadBenchmarks(t *testing.T) {
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	text := `goos: linux
pkg: example.org/x
cpu: Test CPU
BenchmarkA-2 100 30 ns/op 5 allocs/op
BenchmarkA-2 100 10 ns/op 5 allocs/op
BenchmarkA-2 100 20 ns/op 5 allocs/op
PASS
ok: not configuration
commit: c2
commit-time: 2024-02-29T12:00:00Z
BenchmarkA-2 100 40 ns/op
BenchmarkB/n=1 100 7 widgets
`
	results, err := report.ReadBenchmarks(strings.NewReader(text), noon)
	if err != nil || len(results) != 2 {
		t.Fatalf("%+v, %v", results, err)
	}
	a, b := results[0], results[1]
	if want := []history.Value{{Of: history.Of{Variant: "A-2", Metric: "wall_ns_per_op"}, Primary: true, Value: 20}, {Of: history.Of{Variant: "A-2", Metric: "allocs_per_op"}, Value: 5}}; !reflect.DeepEqual(a.Values, want) {
		t.Errorf("%+v", a.Values)
	}
	if a.Commit != "" || b.Commit != "c2" || !b.Committed.Equal(noon) || b.Values[1].Metric != "widgets" || b.Key.CPU != "Test CPU" || b.Key.Asked != "go test -bench example.org/x" {
		t.Errorf("%+v, %+v", a, b)
	}
	for _, wrong := range []string{"BenchmarkA 1 x ns/op", "BenchmarkA 1 -5 ns/op"} {
		if results, err := report.ReadBenchmarks(strings.NewReader(wrong), noon); err == nil {
			t.Errorf("%q is read: %+v", wrong, results)
		}
	}
}

// What abtest adds to a history is on the lines that its benchmark lines are imported to, with the verdict.
func TestHistoryOfAbtest(t *testing.T) {
	folder := t.TempDir()
	count := func(n int) {
		for i := 0; i < 100*n; i++ {
		}
	}
	r, err := abtest.Compare(t.Context(), "Count up", abtest.Config{Rounds: 3, Pairs: 1, Block: time.Millisecond, History: folder},
		abtest.Func{Name: "a/b", Do: count}, abtest.Func{Name: "c", Do: count})
	if err != nil {
		t.Fatal(err)
	}
	store, err := history.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	kept, problems, err := store.Read()
	if err != nil || problems != nil || len(kept) != 1 {
		t.Fatalf("%+v, %v, %v", kept, problems, err)
	}
	imported, err := report.ReadBenchmarks(strings.NewReader(rendered(t, r.WriteBenchmarks)), time.Now())
	if err != nil || len(imported) != 1 || imported[0].Key.Asked != kept[0].Key.Asked || kept[0].Key.Asked != "go test -bench contend/report" {
		t.Fatalf("%+v, %v, want %+v", imported, err, kept[0])
	}
	bare := slices.Clone(kept[0].Values)
	for i, v := range bare {
		bare[i] = history.Value{Of: v.Of, Primary: v.Primary, Value: v.Value}
	}
	if !reflect.DeepEqual(bare, imported[0].Values) {
		t.Errorf("%+v, want %+v", bare, imported[0].Values)
	}
	half := len(bare) / 2
	if a, c := kept[0].Values[0], kept[0].Values[half]; c.Metric != string(metric.WallPerOp) || c.Baseline != a.Value || c.Verdict != string(r.Verdict) || len(c.Rounds) != 3 || a.Compared() {
		t.Errorf("%+v, of %+v", c, a)
	}
	if kept[0].Anchor != "" || kept[0].Key.Toolchain == "" {
		t.Errorf("%+v", kept[0])
	}
}

// What a document shows is kept, in a few kilobytes.
func TestForHistory(t *testing.T) {
	d := document("compare")
	d.Add(report.Place{Experiment: "compare"}, verdicts(10))
	all := d.ForHistory("c1", true)
	if len(all) != 1 || all[0].Commit != "c1" || !all[0].Changed || all[0].Anchor != "" || all[0].Key.Program == "" {
		t.Fatalf("%+v", all)
	}
	c := d.Comparisons[0]
	if v := all[0].Values[0]; v.Variant != c.Candidate || v.Metric != string(c.Metric) || v.Experiment != "" || len(v.Rounds) != len(c.RoundLogRatios) || math.Abs(v.LogRatio-math.Log(c.Ratio)) > 1e-6 ||
		math.Abs(v.Low-math.Log(c.Low)) > 1e-6 || math.Abs(v.High-math.Log(c.High)) > 1e-6 || math.Abs(v.Level-c.Level) > 1e-6 {
		t.Errorf("%+v of %+v", v, c)
	}
	d.Builds = []report.Build{{Arm: c.Baseline, Commit: "c0"}, {Arm: c.Candidate, Commit: "c1", Toolchain: "go1.26"}}
	built := d.ForHistory("elsewhere", false)
	if len(built) != 1 || built[0].Commit != "c1" || built[0].Anchor != "c0" || built[0].Values[0].Variant != "" || built[0].Key.Toolchain != "go1.26" || built[0].Key.Program != "" {
		t.Errorf("%+v", built)
	}
	if data, err := history.Encode(built[0]); err != nil || len(data) > 4096 {
		t.Errorf("%d bytes: %v", len(data), err)
	}
	d.Builds[0].Changed = true
	if built := d.ForHistory("", false); built[0].Anchor != "" {
		t.Errorf("a checkout with changes is an anchor: %+v", built[0])
	}
	if run := closedRun().ForHistory("c1", false); len(run) != 1 || run[0].Values[0].Metric != string(metric.Throughput) || run[0].Values[0].Compared() {
		t.Errorf("%+v", run)
	}
	if none := document("run").ForHistory("c1", false); none != nil {
		t.Errorf("%+v", none)
	}
	for i := range 3 {
		if swept := oneSweep(i).ForHistory("c1", false); len(swept) != 1 {
			t.Errorf("sweep %d: %+v", i, swept)
		} else if _, err := history.Encode(swept[0]); err != nil {
			t.Error(err)
		}
	}
}
