package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"contend/hist"
)

// HDR writes the times of each result as a HdrHistogram log (hist.WriteLog): a line for each variant at
// a level, tagged by hdrTag, from the start of the command and as long as its measured windows are
// together, in nanoseconds. They are response times, but of a guard in this process those of single
// operations, and batches have none. What must be read with care stands above, as comments.
func (d *Document) HDR(w io.Writer) error {
	b := bufio.NewWriter(w)
	d.cautions(b)
	if err := b.Flush(); err != nil {
		return err
	}
	start := d.Environment.Started
	if start.Before(time.Unix(0, 0)) || start.Year() > lastYear {
		start = time.Unix(0, 0) // it was not measured, or is no time
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

// lastYear is the last one of which logs can speak.
const lastYear = 2095

// hdrTag is EXPERIMENT/PART/VARIANT/vus=N, without what is not known; a guard's kind stands before N.
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
		for _, w := range r.Warnings {
			fmt.Fprintln(b, clean(fmt.Sprintf("# %s (%s): %s", w.Code, named(r.Arm, r.Concurrency), w.Text)))
		}
	}
}
