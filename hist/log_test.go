package hist_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"contend/hist"
	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

func readLog(r io.Reader) ([]hist.Interval, error) {
	var all []hist.Interval
	for i, err := range hist.ReadLog(r) {
		if err != nil {
			return all, err
		}
		all = append(all, i)
	}
	return all, nil
}

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestLogRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var written []hist.Interval
		for range rapid.IntRange(0, 4).Draw(t, "intervals") {
			written = append(written, hist.Interval{
				Tag:       rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "tag"),
				Start:     newYear.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "µs")) * time.Microsecond),
				Length:    time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "length")) * time.Microsecond,
				Histogram: histograms().Draw(t, "h"),
			})
		}
		var log bytes.Buffer
		if err := hist.WriteLog(&log, written); err != nil {
			t.Fatalf("%v", err)
		}
		read, err := readLog(&log)
		if err != nil || len(read) != len(written) {
			t.Fatalf("%d of %d intervals, %v", len(read), len(written), err)
		}
		for n, w := range written {
			compareInterval(t, read[n], w)
		}
	})
}

func compareInterval(t *rapid.T, got, want hist.Interval) {
	if got.Tag != want.Tag || !got.Start.Equal(want.Start) || got.Length != want.Length {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	g, w := got.Histogram, want.Histogram
	if g.Count() != w.Count() || !near(g.Min(), w.Min()) || !near(g.Max(), w.Max()) ||
		!near(g.Mean(), w.Mean()) || !near(g.Quantile(0.5), w.Quantile(0.5)) {
		t.Fatalf("min %d, mean %d, p50 %d, max %d; want %d, %d, %d, %d",
			g.Min(), g.Mean(), g.Quantile(0.5), g.Max(), w.Min(), w.Mean(), w.Quantile(0.5), w.Max())
	}
}

func near(a, b time.Duration) bool { return math.Abs(float64(a-b)) <= float64(b)/1000+1 }

// The file was written by HdrHistogram's Java original; its values are nanoseconds.
func TestReadLogOfTheOriginal(t *testing.T) {
	file, err := os.Open("testdata/jhiccup.hlog")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	intervals, err := readLog(file)
	if err != nil || len(intervals) != 6 {
		t.Fatalf("%d intervals, want 6; %v", len(intervals), err)
	}
	first, tagged := intervals[0], intervals[1]
	// start time 1441812279.474 + offset 0.127
	if want := time.UnixMicro(1441812279_601000).UTC(); !first.Start.Equal(want) {
		t.Errorf("start %v, want %v", first.Start, want)
	}
	if first.Length != 1007*time.Millisecond || tagged.Tag != "A" || first.Tag != "" {
		t.Errorf("%+v, %+v", first, tagged)
	}
	// Interval_Max is 2.769 ms; the file keeps 2 digits
	if ms := float64(first.Histogram.Max()) / 1e6; math.Abs(ms-2.769) > 0.02 {
		t.Errorf("max %v ms, want 2.769", ms)
	}
	check(t, first.Histogram, tagged.Histogram)
}

func TestReferenceReaderReadsOurLog(t *testing.T) {
	var log bytes.Buffer
	err := hist.WriteLog(&log, []hist.Interval{
		{Tag: "response", Start: newYear, Length: time.Second, Histogram: record(1000, 2000)},
		{Start: newYear.Add(time.Second), Length: time.Second, Histogram: record(time.Hour)},
	})
	if err != nil {
		t.Fatal(err)
	}
	reader := hdrhistogram.NewHistogramLogReader(&log)
	first, err := reader.NextIntervalHistogram()
	if err != nil || first.Tag() != "response" || first.TotalCount() != 2 || first.StartTimeMs() != newYear.UnixMilli() {
		t.Errorf("first: %v, %v", first, err)
	}
	second, err := reader.NextIntervalHistogram()
	if err != nil || second.EndTimeMs() != newYear.UnixMilli()+2000 || second.TotalCount() != 1 {
		t.Errorf("second: %v, %v", second, err)
	}
}

func TestLogTimes(t *testing.T) {
	hdr := pack(3, 1, int64(time.Hour), []byte{0, 2})
	line := func(start string) string { return start + ",1,1," + hdr + "\n" }
	for _, c := range []struct {
		name, log string
		want      float64
	}{
		{"absolute without head", line("1700000000.5"), 1700000000.5},
		{"absolute", "#[StartTime: 1700000000 (seconds since epoch)]\n" + line("1700000001"), 1700000001},
		{"offset from start", "#[StartTime: 1700000000.25 (seconds since epoch)]\n" + line("2"), 1700000002.25},
		{"offset from base", "#[StartTime: 9 (seconds since epoch)]\n#[BaseTime: 1600000000 (seconds since epoch)]\n" + line("3"), 1600000003},
		{"no line break at the end", strings.TrimSpace(line("4")), 4},
	} {
		intervals, err := readLog(strings.NewReader(c.log))
		if err != nil || len(intervals) != 1 || seconds(intervals[0].Start) != c.want {
			t.Errorf("%s: %v, %v; want %v", c.name, intervals, err, c.want)
		}
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func TestDamagedLogIsAnError(t *testing.T) {
	hdr := pack(3, 1, int64(time.Hour), []byte{0, 2})
	for log, want := range map[string]string{
		"1,1,1\n":                          "line 1: 3 fields",
		"# a comment\n\nnonsense\n":        "line 3: 1 fields",
		"x,1,1," + hdr + "\n":              `parsing "x"`,
		"1,NaN,1," + hdr + "\n":            `time is "NaN"`,
		"-1,1,1," + hdr + "\n":             `time is "-1"`,
		"1e300,1,1," + hdr + "\n":          `time is "1e300"`,
		"#[StartTime: soon]\n":             `parsing "soon]"`,
		"1,1,1," + hdr[:len(hdr)/2] + "\n": "line 1",
		"Tag=a\n":                          "1 fields",
		strings.Repeat("1", 2<<20):         "too long",
	} {
		intervals, err := readLog(strings.NewReader(log))
		if err == nil || !strings.Contains(err.Error(), want) || len(intervals) != 0 {
			t.Errorf("%.40q: %d intervals, error %v; want %q", log, len(intervals), err, want)
		}
	}
	broken := errors.New("broken pipe")
	if _, err := readLog(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

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
		if err := hist.WriteLog(io.Discard, []hist.Interval{good, bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := hist.WriteLog(failingWriter{}, []hist.Interval{good}); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}

var errFull = errors.New("no space left")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func TestReadLogStopsWhenAsked(t *testing.T) {
	hdr := pack(3, 1, int64(time.Hour), []byte{0, 2})
	n := 0
	for range hist.ReadLog(strings.NewReader(strings.Repeat("1,1,1,"+hdr+"\n", 5))) {
		n++
		if n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d intervals, want 2", n)
	}
}

func FuzzReadLog(f *testing.F) {
	original, err := os.ReadFile("testdata/jhiccup.hlog")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(original)
	f.Add([]byte("Tag=a,1,1,1,\n"))
	f.Add([]byte("#[BaseTime: 1 (x)]\n\"legend\"\n1,2,3,HISTFAAAABl4nGNgYGBgBAAABQAB\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		intervals, _ := readLog(bytes.NewReader(data))
		var log bytes.Buffer
		if err := hist.WriteLog(&log, intervals); err != nil {
			return // a tag with a space, or a time beyond the range
		}
		again, err := readLog(&log)
		if err != nil || len(again) != len(intervals) {
			t.Fatalf("%d of %d intervals, %v", len(again), len(intervals), err)
		}
	})
}
