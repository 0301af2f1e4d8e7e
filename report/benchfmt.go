package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"contend/history"
	"contend/metric"
	"contend/report/plain"
	"contend/trial"
)

// Benchmarks writes the rounds in the Go benchmark format
// (golang.org/design/14313-benchmark-format), so that benchstat reads them: one
// line for each round of an arm at a level. benchstat takes the rounds as
// unpaired samples and knows no refusal, so caveats are comments above them. Of
// counted instructions there is a line for each repetition of an arm.
func (d *Document) Benchmarks(w io.Writer) error {
	b := bufio.NewWriter(w)
	d.cautions(b)
	if len(d.Sources) != 2 {
		d.Environment.benchmarks(b)
	}
	b.WriteString("Unit ops/s better=higher\n")
	for _, s := range d.sides() {
		d.rounds(b, s)
	}
	for i := range d.Counts {
		d.Counts[i].benchmarks(b)
	}
	for _, a := range d.Apart {
		for i, arm := range []trial.Side{a.Baseline, a.Candidate} {
			if len(d.Sources) == 2 {
				d.Sources[i].Environment.benchmarks(b)
			}
			d.rounds(b, side{a.Place, arm})
		}
	}
	return b.Flush()
}

func (e Environment) benchmarks(b *bufio.Writer) {
	for _, line := range [][2]string{{"goos", e.OS}, {"goarch", e.Arch}, {"cpu", e.CPU}} {
		fmt.Fprintf(b, "%s: %s\n", line[0], plain.Line(line[1]))
	}
}

// benchmark is the name of an arm's lines.
func (p Place) benchmark(arm string) string {
	name := "BenchmarkContend"
	for _, label := range [][2]string{{"experiment", p.Experiment}, {"part", p.Part}, {"arm", arm}} {
		if label[1] != "" {
			name += "/" + label[0] + "=" + part(label[1])
		}
	}
	return name
}

func (d *Document) rounds(b *bufio.Writer, s side) {
	name := s.benchmark(s.Arm)
	for _, c := range s.Rounds {
		if c.Ops < 1 || c.Completed < 1 {
			continue
		}
		fmt.Fprintf(b, "%s/vus=%d\t%d", name, c.Concurrency, c.Ops)
		for _, m := range benchmarkUnits {
			batches := c.Ops > c.Completed && m.metric.IsResponse() // times of many operations
			if value, ok := m.metric.Beside(c.Result); ok && !batches {
				fmt.Fprintf(b, "\t%s %s", strconv.FormatFloat(value, 'g', 6, 64), m.unit)
			}
		}
		b.WriteByte('\n')
	}
}

// benchmarks writes all instructions of each repetition, which vary with scheduling. Those that decide are known of all
// repetitions together: their difference is a comment.
func (c *Counts) benchmarks(b *bufio.Writer) {
	for _, compared := range c.Comparisons {
		of := counting{compared, c, sampled{}}
		fmt.Fprintf(b, "# %s\n# %s\n", plain.Line(of.sentence()), plain.Line(of.trust(0)))
	}
	for _, arm := range c.Arms {
		for _, total := range c.PerOp(arm) {
			fmt.Fprintf(b, "%s/vus=%d\t%d\t%s instructions/op\n", c.benchmark(arm), c.Concurrency, c.Measured, strconv.FormatFloat(total, 'f', 1, 64))
		}
	}
}

// benchmarkUnits names metrics as benchmarks do; benchstat assumes that less is
// better for a unit it does not know.
var benchmarkUnits = []struct {
	metric metric.Name
	unit   string
}{
	{metric.WallPerOp, "ns/op"}, {metric.Throughput, "ops/s"},
	{"response_p50_ns", "p50-response-ns"}, {"response_p90_ns", "p90-response-ns"}, {"response_p99_ns", "p99-response-ns"},
	{metric.ServerCPUPerOp, "server-cpu-ns/op"}, {metric.ServerRSS, "server-rss-bytes"}, {metric.Errors, "errors"},
}

// ReadBenchmarks reads the Go benchmark format for a history, also as it is written here.
func ReadBenchmarks(r io.Reader, measured time.Time) ([]history.Result, error) {
	units := map[string]string{}
	for _, known := range benchmarkUnits {
		units[known.unit] = string(known.metric)
	}
	return history.ReadBenchmarks(r, measured, units)
}

// part makes a text a part of a benchmark's name, which ends at a space and is
// divided by slashes.
func part(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return '_'
		}
		return r
	}, text)
}
