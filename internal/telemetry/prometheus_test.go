package telemetry

import (
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"contend/errkind"
	"contend/hist"
	"contend/load"
)

func page(t *testing.T, accept string, readings ...Reading) *http.Response {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Serve(listener)
	t.Cleanup(p.Close)
	p.Show(readings)
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/metrics", nil)
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", response, err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// Prometheus' own parser reads what was counted, of each variant at each level.
func TestPage(t *testing.T) {
	counts := load.NewCounts()
	counts.Planned, counts.Completed, counts.Ops, counts.Errored[errkind.Timeout] = 1003, 1000, 1000, 3
	for n := range 1000 {
		counts.Response.Record(time.Duration(n+1) * 10 * time.Microsecond)
	}
	one := Reading{Labels: Labels{Variant: `B "x"`, Concurrency: 8}, Counts: &counts, Measured: time.Second}
	other := Reading{Labels: Labels{Variant: "A", Concurrency: 8}, Counts: new(load.NewCounts())}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page(t, "text/plain", one, other).Body)
	if err != nil {
		t.Fatal(err)
	}
	var timeouts float64
	for _, m := range families["contend_iterations_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "kind" && l.GetValue() == "timeout" {
				timeouts += m.GetCounter().GetValue()
			}
		}
	}
	planned := families["contend_iterations_planned_total"].GetMetric()
	if timeouts != 3 || len(planned) != 2 || planned[0].GetCounter().GetValue()+planned[1].GetCounter().GetValue() != 1003 {
		t.Errorf("%v timeouts, planned %v", timeouts, planned)
	}
	for _, m := range families["contend_response_time_seconds"].GetMetric() {
		h := m.GetHistogram()
		if h.GetSampleCount() == 0 {
			continue
		}
		for _, b := range h.GetBucket() { // 1000 × 10 µs, one after another
			if want := min(1000, math.Floor(b.GetUpperBound()*1e5+0.5)); math.Abs(float64(b.GetCumulativeCount())-want) > 1+want/1000 && !math.IsInf(b.GetUpperBound(), 1) {
				t.Errorf("%d up to %v, want %v", b.GetCumulativeCount(), b.GetUpperBound(), want)
			}
		}
		if h.GetSampleCount() != 1000 || math.Abs(h.GetSampleSum()-5.005) > 1e-6 {
			t.Errorf("%d, in sum %v s", h.GetSampleCount(), h.GetSampleSum())
		}
	}
}

func TestPageAsOpenMetrics(t *testing.T) {
	response := page(t, "application/openmetrics-text; version=1.0.0", reading(3)...)
	text, _ := io.ReadAll(response.Body)
	kind := response.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(string(text), "# EOF\n") || len(text) > 20<<10 {
		t.Errorf("%s of %d bytes", kind, len(text))
	}
	page(t, "text/plain") // of nothing yet
}

// The buckets of scale 6 adjoin, and a time is in one that is at most 1.09% wide.
func TestExponential(t *testing.T) {
	h := hist.New()
	for d := 10 * time.Microsecond; d <= 10*time.Second; d += d/300 + 1 {
		h.Record(d)
		low, high := math.Exp2(float64(bucketOf(d))/64), math.Exp2(float64(bucketOf(d)+1)/64)
		if s := d.Seconds(); s <= low*(1-1e-12) || s > high*(1+1e-12) || high/low > 1.0109 {
			t.Fatalf("%v is in a bucket from %v to %v", d, low, high)
		}
	}
	e := exponentialOf(h)
	if n := len(e.counts); n < 1270 || n > 1290 {
		t.Errorf("%d buckets from 10 µs to 10 s", n)
	}
	before := exponentialOf(reading(5)[0].Counts.Response)
	later := reading(7)[0].Counts.Response
	later.Record(time.Microsecond)
	if since := exponentialOf(later).since(before); since.count != 3 || since.counts[0] != 1 || since.counts[len(since.counts)-1] != 2 {
		t.Errorf("since then %+v", since)
	}
	if all := before.since(e); all.count != before.count {
		t.Errorf("of another one %+v", all)
	}
}

// BenchmarkExport is what a turn costs: the message, without sending it.
func BenchmarkExport(b *testing.B) {
	counts := load.NewCounts()
	for d := 10 * time.Microsecond; d < 10*time.Millisecond; d += d / 500 {
		counts.Response.Record(d)
		counts.StartLag.Record(d / 100)
	}
	for b.Loop() {
		m := message{config: &Config{}, readings: []Reading{{Counts: &counts}}, now: told{at: time.Now()}}
		m.export()
	}
}
