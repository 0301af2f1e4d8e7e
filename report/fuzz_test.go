package report_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"contend/report"
	"contend/trial"
)

// small are documents of every kind that are quickly read.
func small() []*report.Document {
	swept := document("sweep")
	curve := sweepOf("s", []int{1, 2, 4}, []int64{100, 150, 120})
	swept.AddCurve(report.Place{}, curve)
	published := document("lab")
	e := counterExperiment()
	e.Published[0].Rows = e.Published[0].Rows[:2]
	published.Experiments = []report.Experiment{e}
	published.Add(report.Place{Experiment: e.ID, Part: "handler"}, &fewRounds().Trials[0].Trials)
	published.Derive()
	guard := document("guard")
	guard.AddInProcess(trial.Cell{Arm: "mutex", Result: closedResult("guard:mutex", 1, 5)}, report.InProcess{Design: "mutex", Latency: spread(3, 1, 9)})
	return []*report.Document{document("run"), nothingSucceeded(), fewRounds(), swept, published, guard}
}

// What can be read can be shown, and is written so that it can be read again
// without a difference.
func FuzzRead(f *testing.F) {
	for _, d := range small() {
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	for _, text := range []string{
		"", "null", `{"schema":"contend/1"}`, `{"schema":"contend/1","results":[null]}`,
		`{"schema":"contend/1","results":[{"response_ns":{},"service_ns":{},"start_lag_ns":{}}]}`,
		`{"schema":"contend/1","trials":[{"arms":["a","b"],"design":{"rounds":1000000000,"levels":[1]},"rounds":[null]}]}`,
		`{"schema":"contend/1","curves":[{"visits":[{}]}],"experiments":[{"published":[{"figures":[{}]}]}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 100_000 || bytes.Count(data, []byte("_ns")) > 200 {
			t.Skip("slow")
		}
		d, _ := report.Read(bytes.NewReader(data))
		if d == nil {
			return
		}
		if err := d.Text(io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := d.Markdown(io.Discard); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			if strings.Contains(err.Error(), "unsupported value") {
				return // a quotient beyond what JSON can say
			}
			t.Fatal(err)
		}
		if _, err := report.Read(&b); err != nil {
			t.Errorf("written again, it differs: %v", err)
		}
	})
}
