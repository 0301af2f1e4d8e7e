package hist

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// An Interval is one line of a HdrHistogram log: what was recorded from Start on
// for Length.
type Interval struct {
	// Tag names one of several series in a log; it may be empty and has no comma,
	// space or line break.
	Tag       string
	Start     time.Time // exact to the microsecond
	Length    time.Duration
	Histogram *Histogram
}

// WriteLog writes intervals as a HdrHistogram log, version 1.3
// (https://hdrhistogram.github.io/HdrHistogram, class HistogramLogWriter), with
// absolute start times and, by that format's convention, maxima in milliseconds.
func WriteLog(w io.Writer, intervals []Interval) error {
	buf := bufio.NewWriter(w)
	buf.WriteString("#[Histogram log format version 1.3]\n")
	if len(intervals) > 0 {
		start := intervals[0].Start.UTC()
		fmt.Fprintf(buf, "#[StartTime: %.3f (seconds since epoch), %s]\n", seconds(start), start.Format(time.RFC3339))
	}
	buf.WriteString(`"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"` + "\n")
	for _, i := range intervals {
		if err := i.write(buf); err != nil {
			return fmt.Errorf("hist: %w", err)
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("hist: %w", err)
	}
	return nil
}

func (i Interval) write(w *bufio.Writer) error {
	if strings.ContainsAny(i.Tag, ", \r\n") {
		return fmt.Errorf("tag %q: commas, spaces and line breaks are not allowed", i.Tag)
	}
	start := seconds(i.Start)
	if start < 0 || start > maxSeconds {
		return fmt.Errorf("start is %v; expected 1970 to 2096", i.Start)
	}
	if i.Length < 0 {
		return fmt.Errorf("length is %v; expected 0 or more", i.Length)
	}
	if i.Tag != "" {
		w.WriteString("Tag=" + i.Tag + ",")
	}
	hdr, err := i.Histogram.encode()
	if err != nil {
		return err
	}
	longest := float64(i.Histogram.Max()) / float64(time.Millisecond)
	_, err = fmt.Fprintf(w, "%.6f,%.6f,%.6f,%s\n", start, i.Length.Seconds(), longest, hdr)
	return err
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// ReadLog yields the intervals of a HdrHistogram log one by one. It reads V2
// histograms of at most 3 significant digits and takes their values for
// nanoseconds; one with fewer digits keeps its own, larger error. Mean, minimum
// and maximum are those of the buckets, because a log does not hold the exact ones.
// It stops after the first error, whose interval is empty. Memory per interval
// stays below 8 MB whatever the input.
func ReadLog(r io.Reader) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEncoded+1024)
		var times logTimes
		number := 0
		for lines.Scan() {
			number++
			interval, err := times.parse(strings.TrimSpace(lines.Text()))
			if err != nil {
				yield(Interval{}, fmt.Errorf("hist: log line %d: %w", number, err))
				return
			}
			if interval.Histogram != nil && !yield(interval, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Interval{}, fmt.Errorf("hist: log line %d: %w", number+1, err))
		}
	}
}

// logTimes are the times of a log's head, in seconds since the epoch.
type logTimes struct {
	start, base       float64
	hasStart, hasBase bool
}

// parse returns an Interval without a Histogram for a line that holds none.
func (t *logTimes) parse(line string) (Interval, error) {
	if rest, ok := strings.CutPrefix(line, "#[StartTime: "); ok {
		t.hasStart = true
		return Interval{}, parseSeconds(&t.start, firstWord(rest))
	}
	if rest, ok := strings.CutPrefix(line, "#[BaseTime: "); ok {
		t.hasBase = true
		return Interval{}, parseSeconds(&t.base, firstWord(rest))
	}
	if line == "" || line[0] == '#' || line[0] == '"' {
		return Interval{}, nil
	}
	return t.parseInterval(line)
}

func (t *logTimes) parseInterval(line string) (Interval, error) {
	var i Interval
	if rest, ok := strings.CutPrefix(line, "Tag="); ok {
		i.Tag, line, _ = strings.Cut(rest, ",")
	}
	fields := strings.Split(line, ",")
	if len(fields) != 4 {
		return Interval{}, fmt.Errorf("%d fields; expected start, length, max and histogram", len(fields))
	}
	var start, length float64
	if err := parseSeconds(&start, fields[0]); err != nil {
		return Interval{}, err
	}
	if err := parseSeconds(&length, fields[1]); err != nil {
		return Interval{}, err
	}
	i.Start = time.UnixMicro(int64(math.Round((start + t.baseFor(start)) * 1e6))).UTC()
	i.Length = time.Duration(math.Round(length * 1e9))
	var err error
	i.Histogram, err = decode(fields[3])
	if err != nil {
		return Interval{}, err
	}
	return i, nil
}

// baseFor returns what to add to the first start time of a log, and remembers it
// for the rest. A log without base time has offsets if its first start time is
// more than a year before the log's own: the rule of HdrHistogram's
// HistogramLogReader.
func (t *logTimes) baseFor(start float64) float64 {
	const year = 365 * 24 * 3600
	if !t.hasBase {
		t.hasBase = true
		if t.hasStart && start < t.start-year {
			t.base = t.start
		}
	}
	return t.base
}

// maxSeconds, 126 years, keeps times within what a time.Duration can hold.
const maxSeconds = 4e9

func parseSeconds(to *float64, text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	if !(v >= 0 && v <= maxSeconds) {
		return fmt.Errorf("time is %q; expected 0 to %.0f seconds", text, float64(maxSeconds))
	}
	*to = v
	return nil
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}
