package experiment

import (
	"bytes"
	"math"
	"testing"
	"time"

	"contend/metric"
	"contend/report"
)

// What is read from a published row comes out again, and the document is one
// that report.Read takes.
func TestPublishedDocument(t *testing.T) {
	tests := []struct {
		id, arm string
		results int
		// of the first
		vus                 int
		throughput          float64
		response, service   time.Duration
		completed, duration float64 // seconds
	}{
		// 144028 ÷ 4800.542003 = 30.0024 s
		{"grpc-guard", "mutex", 6, 10, 4800.542003, 2070 * time.Microsecond, 712010, 144028, 30.0024},
		// go-wrk gives one time only: 119826 ÷ 24473.69 = 4.8961 s
		{"http-guard", "atomic", 1, 80, 24473.69, 3268817, 3268817, 119826, 4.8961},
	}
	for _, tt := range tests {
		for _, f := range Embedded() {
			if f.ID != tt.id {
				continue
			}
			d, err := f.PublishedDocument(tt.arm)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := d.Write(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := report.Read(&b); err != nil {
				t.Errorf("%s: %v", tt.id, err)
			}
			if len(d.Results) != tt.results || len(d.Notes) != 2 {
				t.Fatalf("%s: %d results, %d notes", tt.id, len(d.Results), len(d.Notes))
			}
			r := d.Results[0]
			if r.Concurrency != tt.vus || math.Abs(r.ThroughputPerSec/tt.throughput-1) > 1e-6 || r.Response.Mean() != tt.response ||
				r.Service.Mean() != tt.service || float64(r.Completed) != tt.completed || math.Abs(r.Duration.Seconds()-tt.duration) > 1e-3 {
				t.Errorf("%s: %d VUs, %g/s, %v, %v, %d in %v", tt.id, r.Concurrency, r.ThroughputPerSec,
					r.Response.Mean(), r.Service.Mean(), r.Completed, r.Duration)
			}
		}
	}
}

// A table without levels, means or such an arm gives no document.
func TestNoPublishedDocument(t *testing.T) {
	columns := []string{"arm", "vus", string(metric.Throughput), "response_mean_ns"}
	for name, p := range map[string]Published{
		"another arm": {Columns: columns, Rows: []Row{{"b", "1", "10", "1ms"}}},
		"no level":    {Columns: columns, Rows: []Row{{"a", "~", "10", "1ms"}}},
		"no time":     {Columns: columns, Rows: []Row{{"a", "1", "10", "~"}}},
		"no rate":     {Columns: columns, Rows: []Row{{"a", "1", "0", "1ms"}}},
		"no column":   {Columns: columns[:3], Rows: []Row{{"a", "1", "10"}}},
	} {
		if d, err := (&File{Published: []Published{p}}).PublishedDocument("a"); err == nil {
			t.Errorf("%s: %d results", name, len(d.Results))
		}
	}
}
