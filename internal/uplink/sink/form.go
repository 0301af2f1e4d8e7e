package sink

import (
	"fmt"
	"io"
	"strings"
	"time"

	"contend/hist"
	"contend/load"
)

// Write writes our own report form: the account, response and service times of
// the first copies, what it cost, and what is doubtful.
func (r *Result) Write(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	b.WriteString("Account:\n")
	expected := "their number is not known"
	if r.Expected > 0 {
		expected = fmt.Sprintf("of %d", r.Expected)
	}
	line("uplinks", "%d different ones received and solved (%s)", r.Distinct, expected)
	line("lost", "%d", r.Lost)
	line("duplicated", "%d", r.Duplicated)
	line("reordered", "%d", r.Reordered)
	line("unsolved", "%d", r.Unsolved)
	line("others", "%d join requests, %d end markers, %d foreign, %d without a time stamp, %d malformed, %d outdated",
		r.Joins, r.Markers, r.Foreign, r.Other, r.Malformed, r.Outdated)
	line("challenge", "%d entries at first, %.5g on average, %d at most", r.FirstChallenge, r.MeanChallenge, r.LongestChallenge)
	from := "creation"
	if r.Load.Model == load.OpenModel {
		from = "the intended moment"
	}
	fmt.Fprintf(&b, "\nTimes of the first copies, to reception (generation %s):\n", r.Generation)
	fmt.Fprintf(&b, "  %-25s %9s %9s %9s %9s %9s %9s\n", "", "mean", "p50", "p90", "p99", "p99.9", "max")
	times(&b, "from "+from, r.Load.Response)
	if r.Load.Model == load.OpenModel {
		times(&b, "from the sending", r.Load.Service)
		times(&b, "sent later by", r.Load.StartLag)
	}
	b.WriteString("\nCost:\n")
	line("pace", "%.5g uplinks/s over %v", r.Load.ThroughputPerSec, threeDigits(r.Total))
	line("messages", "%s, %.5g bytes each", inBytes(float64(r.Bytes)), ratio(float64(r.Bytes), float64(r.Uplinks)))
	if r.CPUSec > 0 {
		line("CPU", "%.3g s, %.3g µs per uplink", r.CPUSec, ratio(r.CPUSec*1e6, float64(r.Uplinks)))
	}
	if r.Connections > 1 {
		line("links", "%d connections; the last error: %s", r.Connections, r.LastError)
	}
	for _, w := range r.Load.Warnings {
		fmt.Fprintf(&b, "  WARNING %s: %s\n", w.Code, w.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func times(b *strings.Builder, name string, h *hist.Histogram) {
	fmt.Fprintf(b, "  %-25s", name)
	for _, d := range []time.Duration{h.Mean(), h.Quantile(0.5), h.Quantile(0.9), h.Quantile(0.99), h.Quantile(0.999), h.Max()} {
		fmt.Fprintf(b, " %9v", threeDigits(d))
	}
	b.WriteByte('\n')
}

// threeDigits rounds to three significant digits.
func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d.Abs()/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
