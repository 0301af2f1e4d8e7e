package sink

import (
	"strings"
	"testing"
	"time"

	"contend/hist"
	"contend/load"
	"contend/stat"
)

func TestForm(t *testing.T) {
	response, service, lag := hist.New(), hist.New(), hist.New()
	response.Record(1_234_567 * time.Nanosecond)
	service.Record(1_200_067 * time.Nanosecond)
	lag.Record(34_500 * time.Nanosecond)
	r := Result{
		Generation: "A", Expected: 101, Messages: 115, Uplinks: 103, Distinct: 100, Duplicated: 3, Reordered: 2, Lost: 1,
		Unsolved: 4, Joins: 5, Markers: 1, Other: 1, Malformed: 1, Outdated: 6, Total: 1_234_567 * time.Microsecond, Bytes: 30591,
		FirstChallenge: 4096, LongestChallenge: 4096, MeanChallenge: 123.456, Connections: 2, LastError: "reset", CPUSec: 0.001,
		Load: &load.Result{
			Model: load.OpenModel, Response: response, Service: service, StartLag: lag, ThroughputPerSec: 81.0006,
			Warnings: []stat.Warning{{Code: "errors", Text: "too many"}},
		},
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "form-rate", b.String())
	r.Load.Model, r.Expected, r.Connections, r.CPUSec, r.Load.Warnings = load.ClosedModel, 0, 1, 0, nil
	b.Reset()
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "form-flat", b.String())
}
