package load

import (
	"fmt"
	"time"

	"contend/errkind"
)

// A Course is how a run went over time: counts and quantiles by intervals of equal width,
// which doubles whenever there would be more than maxIntervals. So 10 s have 160 of them, and
// longer runs 150 to 300. NewCourse makes one to count into, which takes up to 10 kB an
// interval until Close; most often 3 kB. It is not safe for concurrent use.
//
// An iteration is counted in the interval in which it ended, also after the measured window:
// the intervals of the window and thereafter add up exactly to the Counts. Before the window
// there are those of the warm-up, in which iterations are counted that were due in it.
type Course struct {
	// Width is the length of an interval, a second times a power of two, 1/16 at least.
	Width time.Duration `json:"interval_ns"`
	// Warmup is how many intervals, the first ones, lie before the measured window. The first
	// of them may begin before the run.
	Warmup    int        `json:"warmup_intervals,omitempty"`
	Intervals []Interval `json:"intervals"`
	// Heatmap has the response times of all of it; nil: none completed.
	Heatmap *Heatmap `json:"heatmap,omitempty"`

	warmup time.Duration
	// now is the interval that was counted into last, which begins at from.
	now  *Interval
	from time.Duration
}

// An Interval is what ended in a part of a run; but an arrival that was planned or dropped
// counts in the interval in which it was due.
type Interval struct {
	// Planned and Dropped are known of arrivals, in the open model, only.
	Planned   int64                  `json:"planned,omitempty"`
	Completed int64                  `json:"completed,omitempty"`
	Failed    int64                  `json:"failed,omitempty"`
	Errored   map[errkind.Kind]int64 `json:"errored,omitempty"`
	Dropped   int64                  `json:"dropped,omitempty"`
	// Ops are the operations of the completed. Carried are those of right answers to
	// iterations that were due in the warm-up and ended after it: they belong to what the
	// server did here, and to no other figure.
	Ops     int64 `json:"ops,omitempty"`
	Carried int64 `json:"carried,omitempty"`
	// Sum, quantiles and longest of the response times of the completed. Quantiles are at most
	// 1/64 off, the others exact.
	ResponseSum  time.Duration `json:"response_sum_ns,omitempty"`
	ResponseP50  time.Duration `json:"response_p50_ns,omitempty"`
	ResponseP90  time.Duration `json:"response_p90_ns,omitempty"`
	ResponseP99  time.Duration `json:"response_p99_ns,omitempty"`
	ResponseP999 time.Duration `json:"response_p999_ns,omitempty"`
	ResponseMax  time.Duration `json:"response_max_ns,omitempty"`
	// Sum and longest of their start lags.
	StartLagSum time.Duration `json:"start_lag_sum_ns,omitempty"`
	StartLagMax time.Duration `json:"start_lag_max_ns,omitempty"`

	// CPU time of the generator's process, and of the server's where that is sampled, looked at
	// every 250 ms and spread evenly between.
	GeneratorCPU time.Duration `json:"generator_cpu_ns,omitempty"`
	ServerCPU    time.Duration `json:"server_cpu_ns,omitempty"`

	times coarse // response times, until Close
}

const (
	// maxIntervals bounds the intervals of a Course: as many as a screen tells apart, and a
	// document of less than 200 kB.
	maxIntervals = 300
	// shortestInterval is that of a run of up to 18 s: a second of it is a picture.
	shortestInterval = time.Second / 16
)

// NewCourse returns the course of a run with so long a warm-up, to be counted into.
func NewCourse(warmup time.Duration) *Course {
	c := &Course{Width: shortestInterval, warmup: warmup}
	for c.Warmup = c.before(); c.Warmup >= maxIntervals; c.Warmup = c.before() {
		c.Width *= 2
	}
	return c
}

// before returns how many intervals the warm-up has.
func (c *Course) before() int { return int((c.warmup + c.Width - 1) / c.Width) }

// At returns the interval of a moment, an offset from the opening of the measured window, to
// count into before the next call.
func (c *Course) At(moment time.Duration) *Interval {
	if c.now != nil && moment >= c.from && moment-c.from < c.Width {
		return c.now
	}
	for c.index(moment) >= maxIntervals {
		c.double()
	}
	i := max(0, c.index(moment))
	for len(c.Intervals) <= i {
		c.Intervals = append(c.Intervals, Interval{})
	}
	if c.now != nil { // answers take about as long as before
		c.Intervals[i].times.cover(c.now.times.first, c.now.times.first+len(c.now.times.counts))
	}
	c.now, c.from = &c.Intervals[i], time.Duration(i-c.Warmup)*c.Width
	return c.now
}

// index returns the number of a moment's interval, from 0.
func (c *Course) index(moment time.Duration) int {
	return int((moment + time.Duration(c.Warmup)*c.Width) / c.Width)
}

// double makes one interval of two, with an edge at the window's opening.
func (c *Course) double() {
	odd := c.Warmup % 2
	c.Width *= 2
	c.Warmup = (c.Warmup + odd) / 2
	merged := make([]Interval, (len(c.Intervals)+odd+1)/2)
	for i := range c.Intervals {
		merged[(i+odd)/2].add(&c.Intervals[i])
	}
	c.Intervals, c.now = merged, nil
}

// Add adds the course of another part of the same run and keeps both whole. The order of
// several additions does not matter.
func (c *Course) Add(o *Course) {
	for c.Width < o.Width {
		c.double()
	}
	if o.Width < c.Width { // what is doubled is a copy
		copied := *o
		copied.Intervals = make([]Interval, len(o.Intervals))
		for i := range o.Intervals {
			copied.Intervals[i].add(&o.Intervals[i])
		}
		for o = &copied; o.Width < c.Width; {
			o.double()
		}
	}
	for i := range o.Intervals {
		if i == len(c.Intervals) {
			c.Intervals = append(c.Intervals, Interval{})
		}
		c.Intervals[i].add(&o.Intervals[i])
	}
	c.now = nil
}

// Close computes the quantiles and the heatmap of what was counted.
func (c *Course) Close() {
	c.At(0) // the window has an interval, whatever came
	c.close()
}

func (c *Course) close() {
	c.Heatmap = heatmapOf(c.Intervals, c.Warmup)
	for i := range c.Intervals {
		in := &c.Intervals[i]
		q := in.times.quantiles(0.5, 0.9, 0.99, 0.999)
		for j, to := range []*time.Duration{&in.ResponseP50, &in.ResponseP90, &in.ResponseP99, &in.ResponseP999} {
			*to = min(q[j], in.ResponseMax)
		}
	}
	c.now = nil
}

// forget gives up the times of a course that is closed. Nothing can be added after it.
func (c *Course) forget() {
	for i := range c.Intervals {
		c.Intervals[i].times = coarse{}
	}
}

// completed counts an iteration that was answered rightly.
func (in *Interval) completed(response, lag time.Duration, ops int64) {
	in.Completed++
	in.Ops += ops
	in.ResponseSum += response
	in.ResponseMax = max(in.ResponseMax, response)
	in.StartLagSum += lag
	in.StartLagMax = max(in.StartLagMax, lag)
	in.times.record(response)
}

func (in *Interval) errored(kind errkind.Kind) {
	if in.Errored == nil {
		in.Errored = map[errkind.Kind]int64{}
	}
	in.Errored[kind]++
}

// erroredTotal returns the number of iterations without a valid answer.
func (in *Interval) erroredTotal() (sum int64) {
	for _, n := range in.Errored {
		sum += n
	}
	return sum
}

func (in *Interval) add(o *Interval) {
	in.Planned += o.Planned
	in.Completed += o.Completed
	in.Failed += o.Failed
	if len(o.Errored) > 0 {
		if in.Errored == nil {
			in.Errored = map[errkind.Kind]int64{}
		}
		addAll(in.Errored, o.Errored)
	}
	in.Dropped += o.Dropped
	in.Ops += o.Ops
	in.Carried += o.Carried
	in.ResponseSum += o.ResponseSum
	in.ResponseMax = max(in.ResponseMax, o.ResponseMax)
	in.StartLagSum += o.StartLagSum
	in.StartLagMax = max(in.StartLagMax, o.StartLagMax)
	in.GeneratorCPU += o.GeneratorCPU
	in.ServerCPU += o.ServerCPU
	in.times.add(&o.times)
}

// recordWarmup counts an iteration that was due in the warm-up, with times as Counts.Record
// takes them; all but its end are before the window.
func (c *Course) recordWarmup(it Iteration, end time.Duration, out *Outcome, err error) {
	right := err == nil && !out.Failed
	switch in := c.At(end); {
	case end >= 0 && right:
		in.Carried += max(1, out.Ops)
	case end >= 0:
	case err != nil:
		in.errored(errkind.Of(err))
	case right:
		in.completed(end-it.Due, it.Start-it.Due, max(1, out.Ops))
	default:
		in.Failed++
	}
}

// window returns the intervals of the measured window; the last may extend beyond it.
func (c *Course) window(length time.Duration) []Interval {
	n := len(c.Intervals) - c.Warmup
	if full := max(0, length) / c.Width; full < time.Duration(n) {
		n = int((length + c.Width - 1) / c.Width)
	}
	return c.Intervals[c.Warmup : c.Warmup+max(0, n)]
}

// seconds returns what ended in each full second of a measured window of that length, or in each
// interval where these are longer, and how long that is.
func (c *Course) seconds(length time.Duration) ([]Interval, time.Duration) {
	window, per := c.window(length), max(1, int(time.Second/c.Width))
	sums := make([]Interval, min(len(window), int(length/c.Width))/per)
	for i, in := range window {
		if i/per < len(sums) {
			sums[i/per].add(&in)
		}
	}
	return sums, time.Duration(per) * c.Width
}

// OverTime returns the course of a single run, also of a document of contend/1, which has no
// quantiles and ends with the measured window; nil: it is not known.
func (r *Result) OverTime() *Course {
	c := r.course()
	for c != nil && len(c.Intervals) > maxIntervals {
		c.double()
	}
	return c
}

// course is OverTime, with as many intervals as were stored.
func (r *Result) course() *Course {
	if r.Course != nil || r.Series == nil {
		return r.Course
	}
	c := &Course{Width: time.Second, Intervals: make([]Interval, len(r.Series))}
	for i, s := range r.Series {
		c.Intervals[i] = Interval{Completed: s.Completed, Failed: s.Failed, ResponseSum: s.ResponseSum}
		if s.Errored > 0 {
			c.Intervals[i].Errored = map[errkind.Kind]int64{"": s.Errored}
		}
	}
	return c
}

// misses says what of the counts the intervals do not add up to; "": nothing.
func (c *Course) misses(counts *Counts) string {
	var sum Interval
	for i := range c.Intervals[c.Warmup:] {
		sum.add(&c.Intervals[c.Warmup+i])
	}
	for _, one := range []struct {
		what      string
		got, want int64
	}{
		{"completed", sum.Completed, counts.Completed}, {"failed", sum.Failed, counts.Failed},
		{"errored", sum.erroredTotal(), counts.ErroredTotal()}, {"operations", sum.Ops, counts.Ops},
		{"in the heatmap", c.Heatmap.measured(), counts.Completed},
	} {
		if one.got != one.want {
			return fmt.Sprintf("%d %s, over time %d", one.want, one.what, one.got)
		}
	}
	return ""
}
