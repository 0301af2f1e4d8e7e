package hist_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"contend/hist"
	"contend/internal/testenv"
	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// The format's own reader finds what was written.
func TestLogRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written []hist.Interval
		for range rapid.IntRange(0, 4).Draw(t, "intervals") {
			written = append(written, hist.Interval{
				Tag:       rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "tag"),
				Start:     newYear.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "ms")) * time.Millisecond),
				Length:    time.Duration(rapid.Int64Range(0, 1e7).Draw(t, "length")) * time.Millisecond,
				Histogram: histograms().Draw(t, "h"),
			})
		}
		var log bytes.Buffer
		if err := hist.WriteLog(&log, written); err != nil {
			t.Fatalf("%v", err)
		}
		reader := hdrhistogram.NewHistogramLogReader(&log)
		for _, w := range written {
			read, err := reader.NextIntervalHistogram()
			if err != nil || read == nil {
				t.Fatalf("%v, %v", read, err)
			}
			compareInterval(t, read, w)
		}
		if rest, err := reader.NextIntervalHistogram(); rest != nil || err != nil {
			t.Fatalf("there is more: %v, %v", rest, err)
		}
	})
}

func compareInterval(t *rapid.T, got *hdrhistogram.Histogram, want hist.Interval) {
	start, end := want.Start.UnixMilli(), want.Start.Add(want.Length).UnixMilli()
	// The reader cuts fractions of seconds off as floats.
	if got.Tag() != want.Tag || max(start-got.StartTimeMs(), got.StartTimeMs()-start) > 1 || max(end-got.EndTimeMs(), got.EndTimeMs()-end) > 1 {
		t.Fatalf("%q from %d to %d, want %q from %d to %d", got.Tag(), got.StartTimeMs(), got.EndTimeMs(), want.Tag, start, end)
	}
	h := want.Histogram
	if got.TotalCount() != h.Count() || !near(time.Duration(got.Max()), h.Max()) || !near(time.Duration(got.ValueAtQuantile(50)), h.Quantile(0.5)) {
		t.Fatalf("%d times, p50 %d, max %d; want %d, %d, %d",
			got.TotalCount(), got.ValueAtQuantile(50), got.Max(), h.Count(), h.Quantile(0.5), h.Max())
	}
}

func near(a, b time.Duration) bool { return math.Abs(float64(a-b)) <= float64(b)/1000+1 }

func TestWriteLogRefuses(t *testing.T) {
	good := hist.Interval{Start: newYear, Length: time.Second, Histogram: record(1)}
	for want, spoil := range map[string]func(*hist.Interval){
		`tag "a,b"`:     func(i *hist.Interval) { i.Tag = "a,b" },
		`tag " "`:       func(i *hist.Interval) { i.Tag = " " },
		"start is 0001": func(i *hist.Interval) { i.Start = time.Time{} },
		"length is -1s": func(i *hist.Interval) { i.Length = -time.Second },
	} {
		bad := good
		spoil(&bad)
		testenv.Says(t, hist.WriteLog(io.Discard, []hist.Interval{good, bad}), want)
	}
	if err := hist.WriteLog(failingWriter{}, []hist.Interval{good}); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}

var errFull = errors.New("no space left")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }
