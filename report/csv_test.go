package report_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/metric"
	"contend/report"
)

// csvOf writes and reads a table; each row is a map by the columns.
func csvOf(t *testing.T, d *report.Document) []map[string]string {
	t.Helper()
	b := rendered(t, d.CSV)
	if n := strings.Count(b, "\n"); n != strings.Count(b, "\r\n") {
		t.Error("a line does not end as RFC 4180 says")
	}
	records, err := csv.NewReader(strings.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, column := range records[0] {
			row[column] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// The table has the figures of the document, with all digits, and each once.
func TestCSVHasTheFigures(t *testing.T) {
	for name, d := range allDocuments() {
		rows := csvOf(t, d)
		if name == "few-rounds" {
			var b bytes.Buffer
			d.CSV(&b)
			testenv.Golden(t, "testdata/"+name+".csv", b.Bytes())
		}
		has := func(want map[string]string) {
			t.Helper()
			n := 0
			for _, row := range rows {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(k string) bool { return row[k] != want[k] }) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s: %d rows %v", name, n, want)
			}
		}
		for _, r := range d.Results {
			at := map[string]string{"row": "result", "started": "2024-02-29T12:00:00Z", "experiment": r.Experiment, "part": r.Part,
				"variant": r.Arm, "concurrency": strconv.Itoa(r.Concurrency), "metric": "completed", "value": strconv.FormatInt(r.Completed, 10)}
			if r.Arm == "" {
				at["variant"] = r.Target
			}
			if r.InProcess == nil { // a design of several kinds has several
				has(at)
			}
		}
		for _, c := range d.Comparisons {
			want := map[string]string{"row": "comparison", "experiment": c.Experiment, "part": c.Part, "variant": c.Candidate, "baseline": c.Baseline,
				"concurrency": strconv.Itoa(c.Concurrency), "metric": string(c.Metric), "verdict": string(c.Verdict), "reason": ""}
			for key, value := range map[string]float64{"ratio": c.Ratio, "p": c.P, "ratio_low": c.Low, "ratio_high": c.High, "confidence": c.Confidence} {
				if want[key] = ""; value != 0 {
					want[key] = strconv.FormatFloat(value, 'f', -1, 64)
				}
			}
			if c.Reason != nil {
				want["reason"] = c.Reason.Code
			}
			has(want)
		}
	}
}

// Sweeps and searches have rows of their answers, with intervals and verdicts.
func TestCSVOfAnswers(t *testing.T) {
	rows := func(d *report.Document, kind string) (texts []string) {
		for _, row := range csvOf(t, d) {
			if row["row"] == kind {
				texts = append(texts, strings.Join([]string{row["variant"], row["concurrency"], row["metric"], row["value"], row["value_low"], row["value_high"], row["unit"], row["verdict"], row["reason"]}, " "))
			}
		}
		return texts
	}
	d := swept()
	c := d.Curves[0]
	got := rows(d, "sweep")
	for _, want := range []string{
		fmt.Sprintf("peaked %v enough_concurrency %v", c.Enough.N.Value, c.Enough.N.Value),
		fmt.Sprintf("peaked 72 best_throughput_per_s %v   /s  ", c.Best.Throughput),
		fmt.Sprintf("peaked %.0f peak_concurrency %v ", c.Fit.Peak.N.Value, c.Fit.Peak.N.Value),
	} {
		if !slices.ContainsFunc(got, func(row string) bool { return strings.HasPrefix(row, want) }) {
			t.Errorf("no row %q in %q", want, got)
		}
	}
	if got := rows(bounded(), "sweep"); len(got) == 0 || !strings.HasSuffix(got[0], "INVALID generator_saturated") {
		t.Errorf("of a bounded sweep %q", got)
	}
	d = searched(false)
	s := d.Searches[0]
	want := fmt.Sprintf("%s %d sustained_rate_per_s %v %v %v /s %s %s", s.Arm, s.Found.Concurrency, s.HeldPerSec, s.HeldPerSec, s.MissedPerSec, s.Verdict, s.Reason.Code)
	if got := rows(d, "search"); got[0] != want {
		t.Errorf("got %q, want %q", got[0], want)
	}
}

func TestCSVOfARun(t *testing.T) {
	d := closedRun()
	rows := csvOf(t, d)
	for m, want := range map[metric.Name]string{
		metric.Throughput: "80 /s INVALID errors", metric.Errors: "75   ", "bytes_in": "96000 B INVALID errors",
		"bytes_in_per_s": "9600 B/s INVALID errors", "response_max_ns": strconv.Itoa(int(d.Results[0].Response.Max())) + " ns INVALID errors",
	} {
		i := slices.IndexFunc(rows, func(row map[string]string) bool { return row["metric"] == string(m) })
		if i < 0 {
			t.Errorf("no %s", m)
		} else if got := strings.Join([]string{rows[i]["value"], rows[i]["unit"], rows[i]["verdict"], rows[i]["reason"]}, " "); got != want {
			t.Errorf("%s: %q, want %q", m, got, want)
		}
	}
}

// A guard is timed by single operations; the times of its batches are left out.
func TestCSVOfGuards(t *testing.T) {
	d := guards()
	rows := csvOf(t, d)
	latency, batches := "", 0
	for _, row := range rows {
		if row["variant"] == "atomic" && row["metric"] == "latency_p50_ns" {
			latency = row["value"] + row["unit"]
		}
		if strings.HasPrefix(row["metric"], "response_") {
			batches++
		}
	}
	if want := strconv.Itoa(int(d.Results[1].InProcess.Latency.Quantile(0.5))) + "ns"; latency != want || batches > 0 {
		t.Errorf("latency %s, want %s; %d times of batches", latency, want, batches)
	}
}

// Cells that a spreadsheet would run are text, whoever wrote them.
func TestCSVRunsNothing(t *testing.T) {
	for _, name := range []string{"=1+1", "+1+1", "-c 10", "@SUM(A1)", "\t=1+1", "\r\n=1+1", `=HYPERLINK("http://x","y")`, "a,\"b\"\n=2"} {
		d := closedRun()
		d.Results[0].Target = name
		for _, row := range csvOf(t, d) {
			for column, cell := range row {
				if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
					t.Errorf("%q is in column %s as %q", name, column, cell)
				}
			}
		}
	}
	rows := csvOf(t, closedRun())
	if got := rows[0]["variant"]; got != "http://127.0.0.1:8080/status?a=1&b=2" {
		t.Errorf("harmless %q", got)
	}
}
