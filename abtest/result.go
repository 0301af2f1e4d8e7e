package abtest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"contend/finding"
	"contend/internal/unit"
	"contend/stat"
)

// A Result is what a comparison showed. Both comparisons are of costs per
// operation, candidate ÷ baseline, so less is better.
type Result struct {
	Name                string // of the benchmark lines
	Baseline, Candidate string // names of the functions
	// Comparison is that of the time; the zero value with InstructionsOnly, which
	// takes none.
	Comparison
	// Instructions compares the instructions in user space, which are not time: MORE
	// or LESS. It is nil where they could not be counted in every round.
	Instructions *Comparison
	Uncounted    string // why it is nil
	// Replications are the data of the rounds.
	Replications []Round

	config Config
	funcs  [2]Func // zero: not known
}

// A Comparison is what the rounds say about one figure.
type Comparison struct {
	Margin  float64
	Verdict stat.Verdict
	stat.Effect
	// RoundsNeeded estimates how many further rounds would settle an INCONCLUSIVE
	// verdict with a chance of 90%; 0 if that is not known.
	RoundsNeeded int
}

// power is the chance at which RoundsNeeded aims.
const power = 0.9

// newResult compares; the warnings are about whatever is compared.
func newResult(name string, c Config, names [2]string, rounds []Round, warnings ...finding.Warning) *Result {
	r := &Result{Name: name, Baseline: names[0], Candidate: names[1], Replications: rounds, config: c}
	var times, instructions []float64
	for _, round := range rounds {
		times = append(times, round.LogRatio)
		instructions = append(instructions, round.InstructionsLogRatio)
		r.Uncounted = cmp.Or(r.Uncounted, round.Uncounted)
	}
	if !c.InstructionsOnly {
		r.Comparison = newComparison(times, c.Margin, c.Confidence, stat.LowerIsFaster)
		r.Warnings = append(r.Warnings, warnings...)
	}
	if r.Uncounted == "" {
		r.Instructions = new(newComparison(instructions, c.InstructionMargin, c.Confidence, stat.Amount))
		r.Instructions.Warnings = append(r.Instructions.Warnings, warnings...)
	}
	return r
}

func newComparison(logs []float64, margin, confidence float64, kind stat.Kind) Comparison {
	c := Comparison{Margin: margin}
	// Rounds have passed the same checks already, and so has the configuration.
	c.Effect, _ = stat.Paired(logs, confidence)
	c.Warnings = append(c.Warnings, stat.Dependence(logs)...)
	c.Verdict = stat.Decide(c.Effect, margin, kind)
	if c.Verdict == stat.Inconclusive {
		c.RoundsNeeded, _ = stat.RoundsNeeded(logs, nil, margin, confidence, power)
	}
	return c
}

// Sum returns what both functions did in all rounds.
func (r *Result) Sum() (baseline, candidate Sample) {
	for _, round := range r.Replications {
		baseline.add(round.Baseline)
		candidate.add(round.Candidate)
	}
	return baseline, candidate
}

// String says each verdict in a sentence, with the figures of both functions and
// what must be read with care on lines of their own.
func (r *Result) String() string {
	var lines []string
	if r.Verdict != "" {
		lines = append(lines, r.sentence(r.Comparison, "takes", "less", "time", 1))
	}
	if r.Instructions != nil {
		lines = append(lines, r.sentence(*r.Instructions, "executes", "fewer", "instructions", 2)+"; instructions are not time")
	} else {
		lines = append(lines, "no verdict on instructions: "+r.Uncounted)
	}
	baseline, candidate := r.Sum()
	for _, s := range []struct {
		name string
		Sample
	}{{r.Baseline, baseline}, {r.Candidate, candidate}} {
		if figures := s.figures(); figures != nil {
			lines = append(lines, s.name+": "+strings.Join(figures, ", "))
		}
	}
	for _, w := range r.Warnings {
		lines = append(lines, fmt.Sprintf("read with care: %s: %v", w.Code, w))
	}
	if r.Instructions != nil {
		for _, w := range r.Instructions.Warnings {
			if !slices.Contains(r.Warnings, w) {
				lines = append(lines, fmt.Sprintf("read with care: instructions: %s: %v", w.Code, w))
			}
		}
	}
	return r.Name + ": " + strings.Join(lines, "\n  ")
}

// sentence says a verdict and what it rests on; differences have so many decimals.
func (r *Result) sentence(c Comparison, does, less, what string, decimals int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s %s %s per op than %s", c.Verdict, r.Candidate, does, inWords(c.Ratio, less, decimals), what, r.Baseline)
	if c.Bounded() {
		fmt.Fprintf(&b, ", %s interval %s to %s", unit.Percent(1-c.Level), percent(c.Low, decimals), percent(c.High, decimals))
	}
	fmt.Fprintf(&b, " (p = %s, %d rounds", unit.Number(c.P), c.Rounds)
	switch {
	case c.Verdict == stat.Equivalent:
		fmt.Fprintf(&b, ", margin ±%s", unit.Percent(c.Margin))
	case c.RoundsNeeded > 0:
		fmt.Fprintf(&b, "; about %d more would settle it", c.RoundsNeeded)
	}
	b.WriteString(")")
	return b.String()
}

func inWords(ratio float64, less string, decimals int) string {
	if ratio < 1 {
		return fmt.Sprintf("%.*f%% %s", decimals, 100*(1-ratio), less)
	}
	return fmt.Sprintf("%.*f%% more", decimals, 100*(ratio-1))
}

// percent formats a ratio as a signed difference.
func percent(ratio float64, decimals int) string {
	text := fmt.Sprintf("%+.*f%%", decimals, 100*(ratio-1))
	if zero := fmt.Sprintf("%.*f%%", decimals, 0.0); text[1:] == zero {
		return zero
	}
	return text
}

// figures are those per operation that the sample has.
func (s Sample) figures() (list []string) {
	if s.Ops > 0 {
		list = append(list, fmt.Sprintf("%s ns/op, %s B/op, %s allocs/op", unit.Digits(s.NsPerOp()), unit.Digits(s.BytesPerOp()), unit.Digits(s.AllocsPerOp())))
	}
	if s.CountedOps > 0 {
		list = append(list, unit.Digits(s.InstructionsPerOp())+" instructions/op")
	}
	return list
}

// FailIfSlower fails the test when the verdict on time is SLOWER, and when no time was taken: it
// would never fail. It then takes samples of CPU time, in about three seconds (Linux) or twelve
// (other systems), up to four times as long if the functions wait or other programs use the CPU,
// and says what b spends more of it on.
func (r *Result) FailIfSlower(tb testing.TB) {
	tb.Helper()
	switch r.Verdict {
	case stat.Slower:
		tb.Error(r.explained())
	case "":
		tb.Error("abtest: FailIfSlower has no time to judge, as InstructionsOnly is set; call FailIfMoreInstructions")
	}
}

// FailIfMoreInstructions fails the test when the verdict on instructions is MORE. Where
// they could not be counted it logs why, which go test shows of a test that passes
// with -v only: ask whether Instructions is nil where a machine must have counters.
func (r *Result) FailIfMoreInstructions(tb testing.TB) {
	tb.Helper()
	switch {
	case r.Instructions == nil:
		tb.Log("abtest: FailIfMoreInstructions judges nothing: " + r.Uncounted)
	case r.Instructions.Verdict == stat.More:
		tb.Error(r.explained())
	}
}

// WriteBenchmarks writes Go benchmark lines, one for each function and round,
// which benchstat -col /arm compares; instructions have the unit instructions/op.
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
	if pkg := tested(); pkg != "" {
		fmt.Fprintf(b, "pkg: %s\n", pkg)
	}
	for n := range r.Replications {
		round(b, n)
	}
	return b.Flush()
}

// line writes one line, whose name ends in GOMAXPROCS as those of go test do; nothing
// for a sample without figures.
func (r *Result) line(b *bufio.Writer, arm string, s Sample) {
	ops := cmp.Or(s.Ops, s.CountedOps)
	if ops == 0 {
		return
	}
	suffix := ""
	if n := runtime.GOMAXPROCS(0); n > 1 {
		suffix = fmt.Sprintf("-%d", n)
	}
	fmt.Fprintf(b, "Benchmark%s%s%s\t%d", namePart(r.Name), arm, suffix, ops)
	if s.Ops > 0 {
		fmt.Fprintf(b, "\t%.6g ns/op\t%.0f B/op\t%.0f allocs/op", s.NsPerOp(), math.Floor(s.BytesPerOp()), math.Floor(s.AllocsPerOp()))
	}
	if s.CountedOps > 0 {
		fmt.Fprintf(b, "\t%.6g instructions/op", s.InstructionsPerOp())
	}
	b.WriteByte('\n')
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
