package hist

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// An Interval is one line of a HdrHistogram log: what was recorded for Length,
// beginning at Start.
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

// maxSeconds is 126 years, which a time.Duration can hold.
const maxSeconds = 4e9
