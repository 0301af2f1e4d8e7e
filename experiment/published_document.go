package experiment

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"contend/errkind"
	"contend/hist"
	"contend/load"
	"contend/metric"
	"contend/report"
	"contend/trial"
)

// PublishedDocument returns what was published for an arm as a document, so that it
// can be judged and compared like one of ours. From the first published table that has
// them it reads the number of VUs, throughput_per_s, response_mean_ns and, if the
// table has them, completed and service_mean_ns (or else exchange_mean_ns: what an
// iteration spent in the call itself). Only means are known, so all times of a row are
// recorded at their mean: no percentile of such a document means anything, and a note
// says so.
func (f *File) PublishedDocument(arm string) (*report.Document, error) {
	for _, table := range f.Published {
		d := &report.Document{Schema: report.Schema, Version: "published", Command: report.PublishedCommand, Results: []report.Result{}}
		for _, row := range table.Rows {
			if table.cell(row, armColumn) == arm {
				if cell, ok := f.publishedCell(table, row); ok {
					d.AddCell(cell)
				}
			}
		}
		if len(d.Results) > 0 {
			d.Notes = []string{
				fmt.Sprintf("Published figures (%s), not measured by contend. Their environment: %s", table.Title, table.Environment),
				"Only means were used: all times stand at their mean, so the percentiles here mean nothing.",
			}
			return d, nil
		}
	}
	return nil, fmt.Errorf("experiment: %s: nothing was published for a variant %q with %s, %s and response_mean_ns",
		f.ID, arm, vusColumn, metric.Throughput)
}

func (f *File) publishedCell(table Published, row Row) (trial.Cell, bool) {
	vus, err := strconv.Atoi(table.cell(row, vusColumn))
	throughput, ok1 := table.number(row, metric.Throughput)
	response, ok2 := table.number(row, "response_mean_ns")
	if err != nil || !(ok1 && ok2 && throughput > 0 && response > 0) {
		return trial.Cell{}, false
	}
	exchange, _ := table.number(row, "exchange_mean_ns")
	service, _ := table.number(row, "service_mean_ns")
	completed, _ := table.number(row, "completed")
	n := int64(max(1, math.Round(cmp.Or(completed, throughput)))) // without a count: one second of it
	window := time.Duration(float64(n) / throughput * float64(time.Second))
	r := &load.Result{
		Target: "published:" + f.ID, Model: load.ClosedModel, Concurrency: vus, Duration: window,
		Plan:    load.Plan{VUs: vus, Duration: window},
		Stopped: load.StoppedByDuration,
		Counts: load.Counts{
			Planned: n, Completed: n, Ops: n, Errored: map[errkind.Kind]int64{},
			Response: hist.New(), Service: hist.New(), StartLag: hist.New(),
		},
	}
	r.Response.RecordN(time.Duration(response), n)
	r.Service.RecordN(time.Duration(cmp.Or(service, exchange, response)), n)
	r.StartLag.RecordN(0, n)
	cell := trial.Cell{Arm: table.cell(row, armColumn), Result: r}
	cell.Derive()
	return cell, true
}
