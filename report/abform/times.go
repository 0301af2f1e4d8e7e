package abform

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"contend/hist"
	"contend/load"
)

// Times collects the four times of ab's table: Connect is the part of Total
// (start to completion) until the connection is open, Processing the rest of
// it, and Waiting the time to the answer's first byte. Make one with
// NewTimes. It is not safe for concurrent use.
type Times struct {
	connect, processing, waiting, total oneTime

	keep    bool
	samples []sample
}

// A oneTime is one line of the table.
type oneTime struct {
	hist *hist.Histogram
	// Welford's recurrence for the sum of squared deviations (Knuth, The Art of
	// Computer Programming, volume 2, 4.2.2, equations 15 and 16).
	average, squares float64
}

type sample struct{ start, connect, total, waiting time.Duration }

// NewTimes makes an empty collection. With samples it keeps every one of
// them, in 32 bytes each, which only Gnuplot needs.
func NewTimes(samples bool) *Times {
	empty := func() oneTime { return oneTime{hist: hist.New()} }
	return &Times{connect: empty(), processing: empty(), waiting: empty(), total: empty(), keep: samples}
}

// Add adds the times of one iteration.
func (t *Times) Add(s load.Sample) {
	one := sample{start: s.Start, connect: s.Outcome.Phases.Connect, total: s.End - s.Start, waiting: s.Outcome.Phases.FirstByte}
	t.connect.add(one.connect)
	t.processing.add(one.total - one.connect)
	t.waiting.add(one.waiting)
	t.total.add(one.total)
	if t.keep {
		t.samples = append(t.samples, one)
	}
}

func (t *oneTime) add(d time.Duration) {
	t.hist.Record(d)
	deviation := float64(d) - t.average
	t.average += deviation / float64(t.hist.Count())
	t.squares += deviation * (float64(d) - t.average)
}

// deviation is the standard deviation of the sample.
func (t *oneTime) deviation() time.Duration {
	if t.hist.Count() < 2 {
		return 0
	}
	return time.Duration(math.Sqrt(t.squares / float64(t.hist.Count()-1)))
}

// at returns the time within which the share of percent was served. The strict
// form takes the rank that ab takes, which is one more.
func (t *oneTime) at(percent int, strict bool) time.Duration {
	n := t.hist.Count()
	if !strict {
		return t.hist.Quantile(float64(percent) / 100)
	}
	return t.rank(n*int64(percent)/100 + 1)
}

// rank returns the k-th shortest time, k from 1, or the longest.
func (t *oneTime) rank(k int64) time.Duration {
	return t.hist.Quantile(float64(k) / float64(t.hist.Count()))
}

// ms formats a time for a table: thousandths of a millisecond, or whole ones
// as ab rounds them.
func (r *Form) ms(d time.Duration) string {
	if r.Strict {
		return fmt.Sprint((d.Microseconds() + 500) / 1000)
	}
	return fmt.Sprintf("%.3f", milliseconds(d))
}

type line struct {
	label string
	what  string // in ab's warning
	time  *oneTime
}

func (r *Form) lines() []line {
	return []line{
		{"Connect:    ", "the initial connection time", &r.Times.connect},
		{"Processing: ", "the processing time", &r.Times.processing},
		{"Waiting:    ", "the waiting time", &r.Times.waiting},
		{"Total:      ", "the total time", &r.Times.total},
	}
}

func (r *Form) times(b *bytes.Buffer) {
	if r.Times.total.hist.Count() == 0 {
		return
	}
	b.WriteString("\nConnection Times (ms)\n")
	if r.HideSpread {
		r.plainTimes(b)
		return
	}
	b.WriteString("              min  mean[+/-sd] median   max\n")
	for _, line := range r.lines() {
		h, deviation, mean := line.time.hist, milliseconds(line.time.deviation()), "%5s"
		spread := fmt.Sprintf("%.3f", deviation)
		if r.Strict {
			spread, mean = fmt.Sprintf("%.1f", deviation), "%4s"
		}
		fmt.Fprintf(b, "%s%5s "+mean+" %5s %6s %7s\n", line.label, r.ms(h.Min()), r.ms(h.Mean()), spread,
			r.ms(line.time.at(50, r.Strict)), r.ms(h.Max()))
	}
	for _, line := range r.lines() {
		r.doubt(b, line)
	}
}

func (r *Form) plainTimes(b *bytes.Buffer) {
	b.WriteString("              min   avg   max\n")
	max := " %5s"
	if r.Strict {
		max = "%5s"
	}
	for _, line := range r.lines() {
		h := line.time.hist
		fmt.Fprintf(b, "%s%5s %5s"+max+"\n", line.label, r.ms(h.Min()), r.ms(h.Mean()), r.ms(h.Max()))
	}
}

// doubt is ab's test of a skewed distribution, on the figures that are shown.
func (r *Form) doubt(b *bytes.Buffer, l line) {
	apart := math.Abs(r.shown(l.time.hist.Mean()) - r.shown(l.time.at(50, r.Strict)))
	switch deviation := milliseconds(l.time.deviation()); {
	case apart > 2*deviation:
		fmt.Fprintf(b, "ERROR: The median and mean for %s are more than twice the standard\n"+
			"       deviation apart. These results are NOT reliable.\n", l.what)
	case apart > deviation:
		fmt.Fprintf(b, "WARNING: The median and mean for %s are not within a normal deviation\n"+
			"        These results are probably not that reliable.\n", l.what)
	}
}

func (r *Form) shown(d time.Duration) float64 {
	if r.Strict {
		return float64((d.Microseconds() + 500) / 1000)
	}
	return milliseconds(d)
}

func (r *Form) percentages(b *bytes.Buffer) {
	total := &r.Times.total
	if r.HidePercentages || total.hist.Count() < 2 {
		return
	}
	b.WriteString("\nPercentage of the requests served within a certain time (ms)\n")
	for _, p := range percentages {
		if p == 100 {
			fmt.Fprintf(b, " 100%%  %5s (longest request)\n", r.ms(total.hist.Max()))
			continue
		}
		fmt.Fprintf(b, "  %d%%  %5s\n", p, r.ms(total.at(p, r.Strict)))
	}
}

// CSV writes the file of ab's -e: the time within which each percentage of the
// requests was served. Without any there are no lines but the first.
func (r *Form) CSV(w io.Writer) error {
	b := bytes.NewBufferString("Percentage served,Time in ms\n")
	total := &r.Times.total
	n := total.hist.Count()
	for p := 0; p <= 100 && n > 0; p++ {
		d := total.rank(min(n, int64(0.5+float64(n)*float64(p)/100)+1)) // ab's rank
		switch p {
		case 0:
			d = total.hist.Min()
		case 100:
			d = total.hist.Max()
		}
		fmt.Fprintf(b, "%d,%.3f\n", p, milliseconds(d))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Gnuplot writes the file of ab's -g: one line for each request, the fastest
// first. Began is the start of the run.
func (r *Form) Gnuplot(w io.Writer, began time.Time) error {
	b := bytes.NewBufferString("starttime\tseconds\tctime\tdtime\tttime\twait\n")
	samples := slices.SortedStableFunc(slices.Values(r.Times.samples), func(x, y sample) int { return cmp.Compare(x.total, y.total) })
	for _, s := range samples {
		start := began.Add(s.start)
		fmt.Fprintf(b, "%s\t%d\t%s\t%s\t%s\t%s\n", start.Format(time.ANSIC), start.Unix(),
			r.ms(s.connect), r.ms(s.total-s.connect), r.ms(s.total), r.ms(s.waiting))
	}
	_, err := w.Write(b.Bytes())
	return err
}
