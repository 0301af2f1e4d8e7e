package abtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"contend/stat"
)

// A Result is what a comparison showed. The effect is that on the time per
// operation, candidate ÷ baseline, so less is faster.
type Result struct {
	Name                string // of the benchmark lines
	Baseline, Candidate string // names of the functions
	Margin              float64
	Verdict             stat.Verdict
	stat.Effect
	// Replications are the data behind it, one for each round.
	Replications []Round
	// RoundsNeeded estimates how many further rounds would settle an
	// INCONCLUSIVE verdict with a chance of 90 %; 0 when that cannot be said.
	RoundsNeeded int
}

// power is the chance at which RoundsNeeded aims.
const power = 0.9

func newResult(name string, c Config, names [2]string, rounds []Round) *Result {
	r := &Result{Name: name, Baseline: names[0], Candidate: names[1], Margin: c.Margin, Replications: rounds}
	var logs []float64
	for _, round := range rounds {
		logs = append(logs, round.LogRatio)
	}
	// Rounds have passed the same checks already, and so has the configuration.
	r.Effect, _ = stat.Paired(logs, c.Confidence)
	r.Warnings = append(r.Warnings, stat.Dependence(logs)...)
	r.Verdict = stat.Decide(r.Effect, c.Margin, stat.LowerIsFaster)
	if r.Verdict == stat.Inconclusive {
		r.RoundsNeeded, _ = stat.RoundsNeeded(logs, c.Margin, c.Confidence, power)
	}
	return r
}

// Sum returns what both functions did in all rounds.
func (r *Result) Sum() (baseline, candidate Sample) {
	for _, round := range r.Replications {
		baseline.add(round.Baseline)
		candidate.add(round.Candidate)
	}
	return baseline, candidate
}

// String says the verdict in a sentence, with the figures of both functions and
// what must be read with care on lines of their own.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s takes %s time per op than %s", r.Name, r.Verdict, r.Candidate, inWords(r.Ratio), r.Baseline)
	if r.Bounded() {
		fmt.Fprintf(&b, ", %.4g %% interval %s to %s", 100*(1-r.Level), percent(r.Low), percent(r.High))
	}
	fmt.Fprintf(&b, " (p = %.3g, %d rounds", r.P, r.Rounds)
	switch {
	case r.Verdict == stat.Equivalent:
		fmt.Fprintf(&b, ", margin ±%.3g %%", 100*r.Margin)
	case r.RoundsNeeded > 0:
		fmt.Fprintf(&b, "; about %d more would settle it", r.RoundsNeeded)
	}
	b.WriteString(")")
	baseline, candidate := r.Sum()
	for _, s := range []struct {
		name string
		Sample
	}{{r.Baseline, baseline}, {r.Candidate, candidate}} {
		fmt.Fprintf(&b, "\n  %s: %.4g ns/op, %.4g B/op, %.4g allocs/op", s.name, s.NsPerOp(), s.BytesPerOp(), s.AllocsPerOp())
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\n  read with care: %s: %v", w.Code, w)
	}
	return b.String()
}

func inWords(ratio float64) string {
	if ratio < 1 {
		return fmt.Sprintf("%.1f %% less", 100*(1-ratio))
	}
	return fmt.Sprintf("%.1f %% more", 100*(ratio-1))
}

// percent formats a ratio as a signed difference.
func percent(ratio float64) string {
	text := fmt.Sprintf("%+.1f %%", 100*(ratio-1))
	return strings.NewReplacer("+0.0 ", "0.0 ", "-0.0 ", "0.0 ").Replace(text)
}

// FailIfSlower fails the test when the verdict is SLOWER.
func (r *Result) FailIfSlower(tb testing.TB) {
	tb.Helper()
	if r.Verdict == stat.Slower {
		tb.Error(r)
	}
}

// WriteBenchmarks writes Go benchmark lines, one for each function and round,
// which benchstat -col /arm compares.
func (r *Result) WriteBenchmarks(w io.Writer) error {
	return r.write(w, func(b *bufio.Writer, n int) {
		r.line(b, "/arm="+armPart(r.Baseline), r.Replications[n].Baseline)
		r.line(b, "/arm="+armPart(r.Candidate), r.Replications[n].Candidate)
	})
}

// WriteSeparately writes the benchmark lines of each function to a writer of its
// own, under the same name, for benchstat old.txt new.txt.
func (r *Result) WriteSeparately(baseline, candidate io.Writer) error {
	return errors.Join(
		r.write(baseline, func(b *bufio.Writer, n int) { r.line(b, "", r.Replications[n].Baseline) }),
		r.write(candidate, func(b *bufio.Writer, n int) { r.line(b, "", r.Replications[n].Candidate) }))
}

func (r *Result) write(w io.Writer, round func(b *bufio.Writer, n int)) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\n", runtime.GOOS, runtime.GOARCH)
	for n := range r.Replications {
		round(b, n)
	}
	return b.Flush()
}

// line writes one line, whose name ends in GOMAXPROCS as those of go test do.
func (r *Result) line(b *bufio.Writer, arm string, s Sample) {
	suffix := ""
	if n := runtime.GOMAXPROCS(0); n > 1 {
		suffix = fmt.Sprintf("-%d", n)
	}
	fmt.Fprintf(b, "Benchmark%s%s%s\t%d\t%.6g ns/op\t%.0f B/op\t%.0f allocs/op\n",
		namePart(r.Name), arm, suffix, s.Ops, s.NsPerOp(), math.Floor(s.BytesPerOp()), math.Floor(s.AllocsPerOp()))
}

// benchmarkName turns the name of a test into that of a benchmark.
func benchmarkName(test string) string { return strings.TrimPrefix(test, "Test") }

// namePart makes a text a part of a benchmark's name, which ends at a space.
func namePart(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || !unicode.IsGraphic(c) {
			return '_'
		}
		return c
	}, text)
}

// armPart keeps a slash from dividing the name of an arm.
func armPart(text string) string { return strings.ReplaceAll(namePart(text), "/", "_") }
