package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"contend/hist"
	"contend/report/plain"
)

// HDR writes the times of each result as a HdrHistogram log (hist.WriteLog): a line for each variant at
// a level, tagged by hdrTag, from the start of the command and as long as its measured windows are
// together, in nanoseconds. They are response times; for a guard in this process they are those of
// single operations, and batches have none. Caveats are comments above them.
func (d *Document) HDR(w io.Writer) error {
	b := bufio.NewWriter(w)
	d.cautions(b)
	if err := b.Flush(); err != nil {
		return err
	}
	start := d.Environment.Started
	if start.Before(time.Unix(0, 0)) || start.Year() > lastYear {
		start = time.Unix(0, 0) // it was not measured, or is not a time
	}
	var intervals []hist.Interval
	for _, r := range d.Results {
		times := r.Response
		switch {
		case r.InProcess != nil:
			times = r.InProcess.Latency
		case r.Ops > r.Completed:
			continue
		}
		if times.Count() > 0 {
			intervals = append(intervals, hist.Interval{Tag: r.hdrTag(), Start: start, Length: max(0, r.Duration), Histogram: times})
		}
	}
	return hist.WriteLog(w, intervals)
}

// lastYear is the last year that a log can express.
const lastYear = 2095

// hdrTag is EXPERIMENT/PART/VARIANT/vus=N, without what is not known, and with a guard's kind before N.
func (r Result) hdrTag() string {
	labels := []string{r.Experiment, r.Part, r.Arm}
	if r.InProcess != nil {
		labels = append(labels, r.InProcess.Kind)
	}
	var tag strings.Builder
	for _, label := range labels {
		if label != "" {
			tag.WriteString(strings.ReplaceAll(part(label), ",", "_") + "/")
		}
	}
	return fmt.Sprintf("%svus=%d", tag.String(), r.Concurrency)
}

// cautions writes the warnings of all results as comments.
func (d *Document) cautions(b *bufio.Writer) {
	for _, r := range d.Results {
		for _, w := range r.Remarks() {
			fmt.Fprintln(b, plain.Line(fmt.Sprintf("# %s (%s): %s", w.Code, named(r.Arm, r.Concurrency), w.Text)))
		}
	}
}
