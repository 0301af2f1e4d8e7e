package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/expect"
	"contend/internal/testenv"
	"contend/metric"
	"contend/report"
	"contend/trial"
)

// set replaces the value that a path such as results[0].planned leads to, and
// reports whether there is one.
func set(tree any, path string, value any) bool {
	keys := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	for i, key := range keys {
		last := i == len(keys)-1
		switch v := tree.(type) {
		case map[string]any:
			if last {
				v[key] = value
			}
			tree = v[key]
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n >= len(v) {
				return false
			}
			if last {
				v[n] = value
			}
			tree = v[n]
		default:
			return false
		}
	}
	return len(keys) > 0
}

// edited returns the small document of that name with one value replaced.
func edited(t *testing.T, name, path string, value any) []byte {
	t.Helper()
	tree := decoded(t, smallStored()[name])
	if !set(tree, path, value) {
		t.Fatalf("%s: nothing to edit", path)
	}
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Every edited figure is named by its path, and the document comes with the
// error.
func TestTamperedFigureIsNamed(t *testing.T) {
	tests := []struct {
		document, path string
		value          any
	}{
		{"closed", "results[0].throughput_per_s", 81},
		{"closed", "results[0].generator_share", 0.5},
		{"closed", "results[0].warnings[0].text", ""},
		{"closed", "results[0].warnings[0].code", "start_lag"},
		{"few-rounds", "results[1].throughput_per_s", 1101},
		{"few-rounds", "results[1].ops", 2201}, // a sum over rounds
		{"few-rounds", "comparisons[0].ratio", 1.2},
		{"few-rounds", "comparisons[0].verdict", "FASTER"},
		{"few-rounds", "comparisons[0].p", 0.01},
		{"few-rounds", "comparisons[0].round_log_ratios[1]", 0.2},
		{"few-rounds", "trials[0].rounds[0].throughput_per_s", 5},
		{"few-rounds", "trials[0].blocks[2].throughput_per_s", 5},
		{"compared", "comparisons[0].ratio_low", 1.09},
		{"compared", "comparisons[2].metric", "errors"},
		{"changed-over", "comparisons[3].changed_over.rate_per_s", 1},
		{"changed-over", "trials[0].changed_over[0].trials.rounds[0].throughput_per_s", 5},
		{"sweep", "curves[0].fit.alpha.value", 0.0278},
		{"sweep", "curves[0].fit.peak.optimum", 97},
		{"sweep", "curves[0].fit.no_peak", "because"},
		{"published", "experiments[0].published[0].figures[0].ours", 1},
		{"published", "experiments[0].published[0].figures[0].ratio", 1},
		{"published", "experiments[0].expectations[1].held", true},
		{"published", "experiments[0].expectations[1].detail", ""},
		{"guards", "results[0].throughput_per_s", 1},
		{"closed", "speed", 1}, // nothing of that name is computed
	}
	for _, tt := range tests {
		d, err := report.Read(bytes.NewReader(edited(t, tt.document, tt.path, tt.value)))
		if d == nil || err == nil || !strings.Contains(err.Error(), tt.path+" is stored as ") {
			t.Errorf("%s with another %s: document %v, error %v", tt.document, tt.path, d != nil, err)
		} else if strings.Count(err.Error(), "\n") > 3 {
			t.Errorf("%s with another %s names too much:\n%v", tt.document, tt.path, err)
		}
	}
}

// The sentences of another version may be in other words: those of now are shown.
func TestSentencesAreSaidAsNow(t *testing.T) {
	const before = "as it was said before"
	sweeps, _ := written(t, swept())
	for _, tt := range []struct {
		stored []byte
		path   string
	}{
		{smallStored()["closed"], "results[0].warnings[0].text"}, {smallStored()["few-rounds"], "comparisons[0].reason.text"},
		{smallStored()["published"], "experiments[0].expectations[1].detail"},
		{sweeps, "curves[1].fit.no_peak"}, {sweeps, "curves[2].left_out"}, {sweeps, "curves[2].no_fit"},
	} {
		tree := decoded(t, tt.stored)
		if !set(tree, tt.path, before) {
			t.Errorf("%s: nothing to edit", tt.path)
			continue
		}
		older, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		d, err := report.Read(bytes.NewReader(older))
		if err != nil {
			t.Errorf("with other words in %s: %v", tt.path, err)
			continue
		}
		if now, err := json.Marshal(d); err != nil || bytes.Contains(now, []byte(before)) {
			t.Errorf("%s keeps the words of before, %v", tt.path, err)
		}
	}
}

// A document of a version that had other codes is read and shown, in the words of now.
func TestFormerCodes(t *testing.T) {
	stored, _ := written(t, openRun())
	tree := decoded(t, stored)
	warnings := []any{map[string]any{"code": "rate_missed", "text": "97.00% of the planned arrivals got a right answer, less than 99%"},
		map[string]any{"code": "censored", "text": "300 iterations were dropped or unfinished"}}
	if !set(tree, "results[0].warnings", warnings) {
		t.Fatal("no warnings to edit")
	}
	older, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	d, err := report.Read(bytes.NewReader(older))
	if err != nil {
		t.Fatal(err)
	}
	if w := d.Results[0].Warnings; len(w) != 1 || w[0].Code != "incomplete" {
		t.Errorf("warnings %v, want incomplete", w)
	}
	older = bytes.Replace(older, []byte(`"dropped":280`), []byte(`"dropped":281`), 1)
	if _, err := report.Read(bytes.NewReader(older)); err == nil {
		t.Error("a changed figure beside a former code is not noticed")
	}
}

// A part without a rate next to the published figures: 60 of 1060 are 6%.
func TestIncompleteWithPublished(t *testing.T) {
	r := closedResult("http://127.0.0.1:8080/", 1, 1000)
	r.Planned, r.Unfinished = 1060, 60
	r.Derive()
	d := document("lab")
	d.Add(report.Place{Experiment: "x"}, &trial.Trials{Arms: []string{"a"}, Design: trial.Design{Levels: []int{1}},
		Rounds: []trial.Cell{{Arm: "a", Round: 1, Result: r}}})
	d.Experiments = []report.Experiment{{ID: "x", Parts: []report.Part{{}}, Published: []report.Published{{Rows: []report.PublishedFigure{
		{Arm: "a", Metric: metric.Throughput, Theirs: 100}, {Arm: "a", Metric: metric.ResponseP50, Theirs: 100},
	}}}, Expectations: []expect.Expectation{{Text: "errors == 0"}}}}
	d.Derive()
	if rows := d.Experiments[0].Published[0].Rows; rows[0].Ours != nil || rows[1].Ours == nil || d.Experiments[0].Expectations[0].Held {
		t.Errorf("figures %+v, expectation %+v", rows, d.Experiments[0].Expectations[0])
	}
	if line := firstLine(t, d); !strings.HasPrefix(line, "No result (incomplete: 60 of 1,060 planned iterations") || !strings.Contains(line, "); measured, not usable: a: ") {
		t.Errorf("the first line is %q", line)
	}
}

// Counts that do not add up are those of a defective generator, or of a changed
// document: then the warning is not stored in it.
func TestMiscountedDocument(t *testing.T) {
	d, err := report.Read(bytes.NewReader(edited(t, "closed", "results[0].planned", 881)))
	if d == nil || err == nil || !strings.Contains(err.Error(), "miscounted") {
		t.Errorf("document %v, error %v", d != nil, err)
	}
}

// Percentiles are recomputed where they are decoded, and come without a document.
func TestImpossibleDocuments(t *testing.T) {
	tests := []struct {
		document, path string
		value          any
		want           string // in the error
	}{
		{"closed", "results[0].response_ns.p99", 1, "percentiles are"},
		{"closed", "results[0].completed", 801, "results[0].response_ns.count is 800, but completed is 801"},
		{"closed", "results[0].concurrency", 0, "results[0].concurrency is 0"},
		{"closed", "results[0].answers.kinds[0].count", 0, "results[0].answers.kinds[0].count is 0; expected 1 or more"},
		{"closed", "results[0].answers.bodies[0].count", -3, "results[0].answers.bodies[0].count is -3"},
		{"closed", "results[0].model", "ajar", `results[0].model is "ajar"`},
		{"closed", "results[0]", nil, "results[0] lacks response_ns"},
		{"closed", "results[0].service_ns", nil, "results[0] lacks response_ns, service_ns"},
		{"closed", "results[0].plan.pacer", "warp:9", "pacer"},
		{"closed", "results[0].duration_ns", "10s", "duration_ns"},
		{"closed", "schema", "contend/0", `schema is "contend/0", this version reads "contend/1" and "contend/2"`},
		{"closed", "schema", nil, `schema is ""`},
		{"closed", "results[0].course.interval_ns", 0, "results[0].course has intervals of 0s"},
		{"closed", "results[0].course.heatmap.columns[0]", "0 x", `"x" is no count`},
		{"guards", "results[0].in_process.latency_ns", nil, "results[0].in_process lacks latency_ns"},
		{"few-rounds", "trials[0].rounds[0]", nil, "trials[0].rounds[0] lacks"},
		{"few-rounds", "trials[0].rounds[0].start_lag_ns", nil, "trials[0].rounds[0] lacks"},
		{"few-rounds", "trials[0].arms", []string{}, "trials[0].arms are 0, at least 1"},
		{"few-rounds", "trials[0].arms", nil, "trials[0].arms are 0, at least 1"},
		{"few-rounds", "trials[0].arms", []string{"a", "a"}, `trials[0].arms name "a" twice`},
		{"few-rounds", "trials[0].design.rounds", 1_000_000_000, "rounds is 1000000000"},
		{"few-rounds", "trials[0].design.pairs", 1_000_000_000, "pairs is 1000000000"},
		{"few-rounds", "trials[0].design.levels", make([]int, 100_000), "levels is 0"},
		{"few-rounds", "trials[0].design.levels", []int{1, 1}, "levels is 1, given twice"},
		{"few-rounds", "trials[0].design.metrics", []string{"speed"}, `metrics`},
		{"few-rounds", "trials[0].design", nil, "trials[0] has an impossible design"},
		{"few-rounds", "trials[0]", nil, "trials[0] has an impossible design"},
		{"changed-over", "trials[0].changed_over[0].trials", nil, "trials[0].changed_over[0].trials are missing"},
		{"changed-over", "trials[0].changed_over[0].trials.changed_over", []any{map[string]any{}}, "trials[0].changed_over[0].trials change over themselves"},
		{"changed-over", "trials[0].changed_over[0].trials.arms", nil, "trials[0].changed_over[0].trials.arms are 0, at least 1"},
		{"why", "trials[0].why.calls[0].depth", 1, "trials[0].why.calls[0].depth is 1; expected 0 to 0"},
		{"why", "trials[0].why.calls[3].depth", 4, "trials[0].why.calls[3].depth is 4; expected 1 to 3"},
		{"why", "trials[0].why.calls[3].depth", 0, "trials[0].why.calls[3].depth is 0; expected 1 to 3"},
		{"why", "trials[0].why.calls[1].cpu_ns_per_op", []float64{1}, "trials[0].why.calls[1].cpu_ns_per_op are [1]; expected 0 or more, 2 of them"},
		{"why", "trials[0].why.calls[1].cpu_ns_per_op", []float64{1, -1}, "trials[0].why.calls[1].cpu_ns_per_op are [1 -1]; expected"},
		{"sweep", "curves[0].visits[0]", nil, "curves[0].visits[0] lacks"},
		{"sweep", "curves[0].design.visits", 1_000_000_000, "visits is 1000000000"},
		{"published", "experiments[0].analyses[0].rows[0]", []string{"a"}, "experiments[0].analyses[0].rows[0] has 1 values for 4 columns"},
		{"published", "experiments[0].published", "many", "published"},
	}
	for _, tt := range tests {
		d, err := report.Read(bytes.NewReader(edited(t, tt.document, tt.path, tt.value)))
		if d != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with another %s: document %v, error %v; want %q", tt.document, tt.path, d != nil, err, tt.want)
		}
		if err != nil && strings.Count(err.Error(), "\n") > 25 {
			t.Errorf("%s with another %s: error %.200s…", tt.document, tt.path, err)
		}
	}
}

// A document that contend/1 wrote (contend run guard:mutex --rate 200 -d 3s) is read without a
// difference, and shows how the run went over time.
func TestFormerSchema(t *testing.T) {
	stored := testenv.Read(t, "testdata/contend-1.json")
	d, err := report.Read(bytes.NewReader(stored))
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Results[0].OverTime(); len(c.Intervals) != 3 || c.Width != time.Second || c.Intervals[2].Completed != 200 {
		t.Errorf("over time %+v", c)
	}
	again, _ := written(t, d)
	if _, err := report.Read(bytes.NewReader(again)); err != nil {
		t.Errorf("written again: %v", err)
	}
	var screen bytes.Buffer
	if err := d.Screen(&screen, report.Look{}); err != nil || !strings.Contains(screen.String(), "guard:mutex") {
		t.Errorf("%v: %s", err, &screen)
	}
}

func TestNotADocument(t *testing.T) {
	stored := smallStored()["few-rounds"]
	for name, data := range map[string][]byte{
		"empty": nil, "null": []byte("null"), "number": []byte("7"), "array": []byte("[]"), "text": []byte("schema: contend/1"),
		"truncated": stored[:len(stored)/2], "two": append(bytes.Clone(stored), stored...),
		"deep": []byte(strings.Repeat("[", 100_000)), "long": bytes.Repeat([]byte(" "), 65<<20),
	} {
		if d, err := report.Read(bytes.NewReader(data)); d != nil || err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// An empty histogram is eleven bytes and takes 270 kB.
func TestTooManyHistograms(t *testing.T) {
	const cell = `{"concurrency":1,"model":"closed","response_n\u017f":{"count":0},"service_ns":{},"START_LAG_NS":{}},`
	data := fmt.Sprintf(`{"schema":"contend/1","results":[%snull]}`, strings.Repeat(cell, 4000))
	if d, err := report.Read(strings.NewReader(data)); d != nil || err == nil || !strings.Contains(err.Error(), "12000 histograms") {
		t.Errorf("document %v, error %v", d != nil, err)
	}
}

// Many levels, arms and blocks in little text must not be multiplied.
func TestTooMuchWork(t *testing.T) {
	var levels, arms []string
	for i := range 1000 {
		levels, arms = append(levels, strconv.Itoa(i+1)), append(arms, strconv.Quote(strconv.Itoa(i)))
	}
	data := fmt.Sprintf(`{"schema":"contend/1","results":[],"trials":[{"arms":[%s],"design":{"rounds":9,"pairs":9,"block_ns":1000000,
		"warmup_ns":0,"levels":[%s],"metrics":["errors"],"margin":0,"confidence":0.95},"blocks":[%s{}],"rounds":[]}]}`,
		strings.Join(arms, ","), strings.Join(levels, ","), strings.Repeat("{},", 2000))
	if d, err := report.Read(strings.NewReader(data)); d != nil || err == nil || !strings.Contains(err.Error(), "too many levels, variants and blocks") {
		t.Errorf("document %v, error %v", d != nil, err)
	}
}

// Only the first differences are listed.
func TestManyDifferences(t *testing.T) {
	data := []byte(`{"schema":"contend/1","results":[],` + strings.Repeat(`"x":1,`, 1))
	for i := range 100 {
		data = fmt.Appendf(data, `"x%d":"\u001b[2J",`, i)
	}
	data = append(data, `"version":"","command":""}`...)
	_, err := report.Read(bytes.NewReader(data))
	if err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.Contains(err.Error(), "and 82 more") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error %v", err)
	}
}
