package gen

import (
	"fmt"
	"io"
	"strings"

	"contend/hist"
)

// barSize is the length of the published progress bar.
const barSize = 80

// Bar returns the published progress line, without its end.
func Bar(done, total int64) string {
	share := 1.0
	if total > 0 {
		share = min(1, float64(done)/float64(total))
	}
	full := int(share * barSize)
	return fmt.Sprintf("Completed: [%s%s] %3d%%", strings.Repeat("=", full), strings.Repeat(" ", barSize-full), int(share*100))
}

// Texts of the published generator around its progress bar.
const (
	Firing = "Firing test!"
	Done   = "Done!"
)

// Plan returns the published first line: what will be generated.
func (c *Config) Plan() string {
	switch c.Mode {
	case Batch:
		return fmt.Sprintf("Generating %d uplinks: %d batches of %d uplinks, %v s between batches:",
			c.Total(), c.Batches, c.N, c.Delay.Seconds())
	case Rate:
		return fmt.Sprintf("Generating %d uplinks at %v, stamped with the intended time:", c.Total(), c.Pacer)
	default:
		return fmt.Sprintf("Generating %d sequential uplinks:", c.Total())
	}
}

// Write writes what was generated, and how fast.
func (r *Result) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Generated %d uplinks in %v: %.5g/s\n", r.Uplinks, hist.Rounded(r.Duration), r.PacePerSec)
	fmt.Fprintf(&b, "  planted      %d duplicates, %d reordered, %d join requests, %d malformed\n",
		r.Duplicates, r.Reordered, r.JoinRequests, r.Malformed)
	fmt.Fprintf(&b, "  entries      %d in %d writes of %v on average, p99 %v\n",
		r.Entries, r.Writes, hist.Rounded(r.WriteTime.Mean()), hist.Rounded(r.WriteTime.Quantile(0.99)))
	if r.StartLag != nil {
		fmt.Fprintf(&b, "  sent late by %v on average, p99 %v, at most %v\n",
			hist.Rounded(r.StartLag.Mean()), hist.Rounded(r.StartLag.Quantile(0.99)), hist.Rounded(r.StartLag.Max()))
	}
	if r.CPUSec > 0 && r.Uplinks > 0 {
		fmt.Fprintf(&b, "  CPU          %.3g s, %.3g µs per uplink\n", r.CPUSec, r.CPUSec*1e6/float64(r.Uplinks))
	}
	if r.Interrupted {
		b.WriteString("  interrupted\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
