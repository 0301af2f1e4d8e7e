package report_test

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"contend/report"
)

// The format's own reader finds the times of each result under its tag.
func TestHDRLogIsRead(t *testing.T) {
	d := comparison()
	log := rendered(t, d.HDR)
	reader := hdrhistogram.NewHistogramLogReader(strings.NewReader(log))
	for _, r := range d.Results {
		if r.Response.Count() == 0 {
			continue
		}
		tag := r.Arm + "/vus=" + strconv.Itoa(r.Concurrency)
		got, err := reader.NextIntervalHistogram()
		if err != nil || got == nil {
			t.Fatal(got, err)
		}
		p90 := float64(r.Response.Quantile(0.9))
		if got.Tag() != tag || got.TotalCount() != r.Completed || math.Abs(float64(got.ValueAtQuantile(90))-p90) > p90/1000 ||
			got.StartTimeMs() != d.Environment.Started.UnixMilli() || got.EndTimeMs()-got.StartTimeMs() != r.Duration.Milliseconds() {
			t.Errorf("%s: %s from %d with %d times, p90 %d, want %d", tag, got.Tag(), got.StartTimeMs(), got.TotalCount(), got.ValueAtQuantile(90), int64(p90))
		}
	}
	if rest, err := reader.NextIntervalHistogram(); rest != nil {
		t.Errorf("there is more: %v %v", rest, err)
	}
	if !strings.HasPrefix(log, "# ") {
		t.Error("no warning stands above")
	}
}

// Tags are whole, however names are; what has no times has no line.
func TestHDRTags(t *testing.T) {
	place := document("lab")
	place.Add(report.Place{Experiment: "lock, queue", Part: "a\n#b"}, verdicts(30))
	run := closedRun()
	run.Environment.Started = run.Environment.Started.AddDate(-900, 0, 0)
	for _, tt := range []struct {
		d    *report.Document
		want []string
	}{
		{place, []string{"lock__queue/a_#b/inputq/vus=30", "lock__queue/a_#b/mutex/vus=30"}},
		{run, []string{"vus=50"}},
		{guards(), []string{"atomic/add-get/vus=1", "inputq/add-get/vus=100", "mutex/add-get/vus=1", "mutex/add-get/vus=100", "striped/add/vus=100"}},
		{ladder(), nil}, {nothingSucceeded(), nil}, {document("run"), nil},
	} {
		tags := map[string]bool{}
		reader := hdrhistogram.NewHistogramLogReader(strings.NewReader(rendered(t, tt.d.HDR)))
		for {
			interval, err := reader.NextIntervalHistogram()
			if err != nil {
				t.Fatal(err)
			}
			if interval == nil {
				break
			}
			tags[interval.Tag()] = true
		}
		if got := slices.Sorted(maps.Keys(tags)); !slices.Equal(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
