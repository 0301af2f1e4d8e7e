// Package paired compares two generators of load by alternating blocks.
//
// Who begins alternates too. A pair of blocks gives one ratio of completed
// iterations per second of the generator's CPU: the machine's speed and its
// other work weigh on both blocks of a pair, so a ratio means something where
// absolute figures do not. CPU time is user plus system time of the whole
// child process, its start included, as the kernel accounts it at its end.
package paired

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"time"

	"contend/stat"
)

// A Tool is one generator with its command line.
type Tool struct {
	// Name and Version are for the report; Path and Args make a block.
	Name, Version string
	Path          string
	Args          []string
	// Count reads from a block's standard output how many iterations
	// completed and how many had a wrong answer or none.
	Count func(report []byte) (completed, wrong int64, err error)
}

// A Measurement is one block.
type Measurement struct {
	Completed int64
	CPU       time.Duration
}

// PerCPUSecond is the number of completed iterations per second of CPU time.
func (m Measurement) PerCPUSecond() float64 { return float64(m.Completed) / m.CPU.Seconds() }

// Measure runs one block. Wrong or missing answers make it worthless: an error.
func (t Tool) Measure(ctx context.Context) (Measurement, error) {
	cmd := exec.CommandContext(ctx, t.Path, t.Args...)
	report, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return Measurement{}, fmt.Errorf("%s: %w", t.Name, err)
	}
	completed, wrong, err := t.Count(report)
	if err != nil {
		return Measurement{}, fmt.Errorf("%s: %w\n%.2000s", t.Name, err, report)
	}
	if wrong > 0 || completed == 0 {
		return Measurement{}, fmt.Errorf("%s: %d right and %d wrong or missing answers", t.Name, completed, wrong)
	}
	state := cmd.ProcessState
	return Measurement{Completed: completed, CPU: state.UserTime() + state.SystemTime()}, nil
}

// A Comparison is what the blocks of two tools gave, one value for each pair.
type Comparison struct {
	Ours, Theirs Tool
	OurRates     []float64 // per CPU second
	TheirRates   []float64
	Ratios       []float64 // ours to theirs
	Effect       stat.Effect
}

// Compare runs pairs of blocks of ours and theirs.
func Compare(ctx context.Context, ours, theirs Tool, pairs int) (Comparison, error) {
	c := Comparison{Ours: ours, Theirs: theirs}
	var logs []float64
	for i := range pairs {
		a, b, err := measurePair(ctx, ours, theirs, i%2 == 1)
		if err != nil {
			return c, err
		}
		c.OurRates = append(c.OurRates, a.PerCPUSecond())
		c.TheirRates = append(c.TheirRates, b.PerCPUSecond())
		ratio := a.PerCPUSecond() / b.PerCPUSecond()
		c.Ratios = append(c.Ratios, ratio)
		logs = append(logs, math.Log(ratio))
	}
	var err error
	c.Effect, err = stat.Paired(logs, 0.95)
	return c, err
}

func measurePair(ctx context.Context, ours, theirs Tool, theirsFirst bool) (a, b Measurement, err error) {
	if theirsFirst {
		b, a, err = measurePair(ctx, theirs, ours, false)
		return a, b, err
	}
	if a, err = ours.Measure(ctx); err != nil {
		return a, b, err
	}
	b, err = theirs.Measure(ctx)
	return a, b, err
}

// Print writes the medians, the interval of the ratio, n, and the warnings.
// The interval is of stat.Paired, with pairs in the place of rounds.
func (c Comparison) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: iterations per generator-CPU-s: %s %.0f, %s %.0f; ratio: median %.3f",
		c.Theirs.Version, c.Ours.Name, Median(c.OurRates), c.Theirs.Name, Median(c.TheirRates), Median(c.Ratios))
	if c.Effect.Bounded() {
		fmt.Fprintf(w, ", %.1f %% interval %.3f to %.3f", 100*c.Effect.Confidence, c.Effect.Low, c.Effect.High)
	}
	fmt.Fprintf(w, ", n = %d\n", len(c.Ratios))
	for _, warning := range c.Effect.Warnings {
		fmt.Fprintf(w, "%s: warning: %s\n", c.Theirs.Name, warning.Text)
	}
}

// Median returns the middle of values, or the mean of the two in the middle.
// There must be at least one.
func Median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
