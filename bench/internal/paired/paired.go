// Package paired compares generators of load by alternating blocks.
//
// Who begins alternates too. The blocks of a round give one ratio of completed
// iterations per second of the generator's CPU for each peer: the machine's
// speed and its other work weigh on all blocks of a round, so a ratio means
// something where absolute figures do not. CPU time is user plus system time of the whole
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

// Compare runs rounds of one block of ours and one of each peer, beginning with
// another tool in every round, and pairs ours with each peer of its round.
func Compare(ctx context.Context, ours Tool, peers []Tool, rounds int) ([]Comparison, error) {
	tools := append([]Tool{ours}, peers...)
	list := make([]Comparison, len(peers))
	for i, peer := range peers {
		list[i] = Comparison{Ours: ours, Theirs: peer}
	}
	for round := range rounds {
		measured := make([]Measurement, len(tools))
		for i := range tools {
			which := (round + i) % len(tools)
			var err error
			if measured[which], err = tools[which].Measure(ctx); err != nil {
				return nil, err
			}
		}
		for i := range list {
			list[i].add(measured[0], measured[i+1])
		}
	}
	for i := range list {
		if err := list[i].conclude(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *Comparison) add(ours, theirs Measurement) {
	c.OurRates = append(c.OurRates, ours.PerCPUSecond())
	c.TheirRates = append(c.TheirRates, theirs.PerCPUSecond())
	c.Ratios = append(c.Ratios, ours.PerCPUSecond()/theirs.PerCPUSecond())
}

func (c *Comparison) conclude() (err error) {
	logs := make([]float64, len(c.Ratios))
	for i, ratio := range c.Ratios {
		logs[i] = math.Log(ratio)
	}
	c.Effect, err = stat.Paired(logs, 0.95)
	return err
}

// Report compares the first of the tools, ours, with the others and prints each comparison beside its bar.
func Report(ctx context.Context, w io.Writer, tools []Tool, rounds int, bars map[string]float64) error {
	list, err := Compare(ctx, tools[0], tools[1:], rounds)
	if err != nil {
		return err
	}
	for _, c := range list {
		c.Print(w, bars[c.Theirs.Name])
	}
	return nil
}

// tolerance is how far the lower end of an interval may stay below its bar.
const tolerance = 0.02

// Against says whether a bar for the ratio was reached.
func (c Comparison) Against(bar float64) string {
	switch {
	case bar == 0:
		return ""
	case !c.Effect.Bounded():
		return fmt.Sprintf("; bar %.2f: too few rounds to tell", bar)
	case c.Effect.Low >= bar-tolerance:
		return fmt.Sprintf("; bar %.2f: reached", bar)
	}
	return fmt.Sprintf("; bar %.2f: MISSED (lower end %.3f < %.2f)", bar, c.Effect.Low, bar-tolerance)
}

// Print writes the medians, the interval of the ratio, n, and the warnings.
// The interval is of stat.Paired, with pairs in the place of rounds.
func (c Comparison) Print(w io.Writer, bar float64) {
	fmt.Fprintf(w, "  %s: iterations per generator-CPU-s: %s %.0f, %s %.0f; ratio: median %.3f",
		c.Theirs.Version, c.Ours.Name, Median(c.OurRates), c.Theirs.Name, Median(c.TheirRates), Median(c.Ratios))
	if c.Effect.Bounded() {
		fmt.Fprintf(w, ", %.1f %% interval %.3f to %.3f", 100*c.Effect.Confidence, c.Effect.Low, c.Effect.High)
	}
	fmt.Fprintf(w, ", n = %d%s\n", len(c.Ratios), c.Against(bar))
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
