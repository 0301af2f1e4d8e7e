package abtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/internal/perf"
	"contend/internal/testenv"
	"contend/metric"
	"contend/stat"
)

// A machine has counters, which show what its functions say that they executed.
type machine struct {
	executed, from uint64
	isOpen, counts bool
	started        int                                  // how often
	stop           func(counted uint64) (uint64, error) // what Stop shows; nil: what was counted
	calls          []call
}

// A call is one of a function.
type call struct {
	name           string
	n              int
	isOpen, counts bool // the counters at that time
}

// runs returns f as a function that executes so many instructions per operation, and
// wobble as much more or less from call to call.
func (m *machine) runs(f Func, perOp, wobble float64) Func {
	return Func{f.Name, func(n int) {
		m.calls = append(m.calls, call{f.Name, n, m.isOpen, m.counts})
		noise := wobble * math.Sin(float64(len(m.calls)*len(m.calls)*len(m.calls)))
		m.executed += uint64(float64(n) * perOp * (1 + noise))
		f.Do(n)
	}}
}

// do takes a microsecond for each operation.
func (m *machine) do(name string, perOp, wobble float64) Func {
	return m.runs(sleeper(name, time.Microsecond, 0), perOp, wobble)
}

func (m *machine) open(events ...perf.Event) (counters, error) {
	if !slices.Equal(events, []perf.Event{perf.Instructions}) || m.isOpen {
		return nil, fmt.Errorf("asked for %v, open: %v", events, m.isOpen)
	}
	m.isOpen = true
	return m, nil
}

func (m *machine) Start() error {
	m.from, m.counts = m.executed, true
	m.started++
	return nil
}

func (m *machine) Stop() (perf.Counts, error) {
	m.counts = false
	counted, err := m.executed-m.from, error(nil)
	if m.stop != nil {
		counted, err = m.stop(counted)
	}
	return perf.Counts{perf.Instructions: counted}, err
}

func (m *machine) Close() error {
	m.isOpen = false
	return nil
}

// noCounters is what a machine without them answers.
func noCounters(events ...perf.Event) (counters, error) {
	return nil, &perf.UnavailableError{Event: events[0], Reason: "there is no counter", Advice: "buy one"}
}

// compareInBubble compares in fake time.
func compareInBubble(t *testing.T, c Config, a, b Func) (r *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = Compare(t.Context(), "X", c, a, b); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func TestVerdictsOnInstructions(t *testing.T) {
	tests := []struct {
		name      string
		candidate float64 // of 10,000 instructions per operation
		wobble    float64
		rounds    int
		want      stat.Verdict
		says      string
	}{
		{"2% more", 10_200, 0.0001, 6, stat.More, "MORE: b executes 2.00% more instructions per op than a, 95% interval +"},
		{"2% less", 9_800, 0.0001, 6, stat.Less, "LESS: b executes 2.00% fewer instructions per op than a, 95% interval -"},
		{"0.6% more", 10_060, 0.0001, 6, stat.More, "MORE: b executes 0.6"},
		{"0.4% more is within the margin", 10_040, 0.0001, 6, stat.Equivalent, "EQUIVALENT: b executes 0.4"},
		{"the same", 10_000, 0, 6, stat.Equivalent, "EQUIVALENT: b executes 0.00% more instructions per op than a, 95% interval 0.00% to 0.00% (p = 1, 6 rounds, margin ±0.5%)"},
		{"five rounds", 10_200, 0.0001, 5, stat.Inconclusive, "too_few_rounds: 5 rounds"},
		{"noise", 10_000, 0.9, 6, stat.Inconclusive, "INCONCLUSIVE: b executes "},
	}
	for _, tt := range tests {
		for _, only := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, only %v", tt.name, only), func(t *testing.T) {
				var m machine
				r := compareInBubble(t, Config{Rounds: tt.rounds, Pairs: 2, InstructionsOnly: only, open: m.open},
					m.do("a", 10_000, tt.wobble), m.do("b", tt.candidate, tt.wobble))
				if r.Instructions == nil || r.Uncounted != "" {
					t.Fatalf("not counted: %v", r)
				}
				if r.Instructions.Verdict != tt.want || tt.want != stat.Inconclusive && math.Abs(r.Instructions.Ratio*10_000/tt.candidate-1) > 0.0002 {
					t.Errorf("%v, want %s", r, tt.want)
				}
				if timed := r.Verdict != "" && r.Ratio == 1 && strings.Contains(r.String(), ": b takes 0.0% more time per op"); timed == only {
					t.Errorf("time was taken: %v, in %v", timed, r)
				}
				if a, _ := r.Sum(); a.Ops > 0 == only {
					t.Errorf("time was taken of %d operations", a.Ops)
				}
				if text := r.String(); !strings.Contains(text, tt.says) || strings.Count(text, "rounds_not_fresh") != 1 || !strings.Contains(text, "; instructions are not time\n") {
					t.Errorf("says %q, want %q", text, tt.says)
				}
			})
		}
	}
}

// countedBlocks are those of a round: first one of each function, to find how many
// operations of each fill a block.
const countedBlocks = 2 + 2*countedPairs

// Instructions are counted in pairs of blocks of their own, in the order ABBA, with as
// many instructions of the one as of the other; no counter is open while time is taken.
func TestCountedBlocks(t *testing.T) {
	var m machine
	// In 10 ms: 10,000 operations of a, 1e8 instructions; 5,000 of b, 2e8, and
	// 2,500 of these execute 1e8.
	a, b := m.do("a", 10_000, 0), m.runs(sleeper("b", 2*time.Microsecond, 0), 40_000, 0)
	r := compareInBubble(t, Config{Rounds: 2, Pairs: 5, open: m.open}, a, b)
	const timed = 2 * 5
	last := m.calls[len(m.calls)-2*(timed+countedBlocks):]
	for round := range slices.Chunk(last, timed+countedBlocks) {
		for i, c := range round {
			if want := i >= timed; c.isOpen != want || c.counts != want {
				t.Errorf("block %d of the round: counters open: %v, counting: %v, want %v", i+1, c.isOpen, c.counts, want)
			}
		}
		order := ""
		for _, c := range round[timed+2:] {
			order += c.name
			if want := map[string]int{"a": 10_000, "b": 2500}[c.name]; c.n != want {
				t.Errorf("%d operations of %s were counted, want %d", c.n, c.name, want)
			}
		}
		if order != "abbaabba" && order != "baabbaab" {
			t.Errorf("order %s", order)
		}
	}
	if m.isOpen || m.started != 2*countedBlocks {
		t.Errorf("counters are open: %v, were started %d times", m.isOpen, m.started)
	}
	for _, round := range r.Replications {
		if a, b := round.Baseline, round.Candidate; a.CountedOps != 4*10_000 || b.CountedOps != 4*2500 || a.Elapsed != 50*time.Millisecond {
			t.Errorf("samples %+v, %+v", a, b)
		}
	}
	sumA, sumB := r.Sum()
	if sumA.InstructionsPerOp() != 10_000 || sumB.InstructionsPerOp() != 40_000 || r.Instructions.Ratio != 4 {
		t.Errorf("%g and %g instructions, ratio %g", sumA.InstructionsPerOp(), sumB.InstructionsPerOp(), r.Instructions.Ratio)
	}
}

// What comes once in a block, such as the stopping of counters, makes no difference
// between equal functions, though one seemed four times slower when the length of
// blocks was chosen: 2500 operations of it, 2.6e7 instructions with the 1e6 of the
// block, against 2.6e7 ÷ 10,100 = 2574 of the other. Blocks of 10,000 would have
// 10,400 ÷ 10,100 = 3% more.
func TestBlocksThatSeemedLonger(t *testing.T) {
	var m machine
	m.stop = func(counted uint64) (uint64, error) { return counted + 1e6, nil }
	slowAtFirst := m.do("b", 10_000, 0)
	do := slowAtFirst.Do
	slowAtFirst.Do = func(n int) {
		if !m.isOpen {
			time.Sleep(3 * time.Duration(n) * time.Microsecond)
		}
		do(n)
	}
	r := compareInBubble(t, Config{InstructionsOnly: true, open: m.open}, m.do("a", 10_000, 0), slowAtFirst)
	if r.Instructions.Verdict != stat.Equivalent || math.Abs(r.Instructions.Ratio-1) > 0.002 {
		t.Errorf("%v, want EQUIVALENT", r)
	}
}

// One counted block of each round has ten times as many instructions.
func TestOneDisturbedBlockDecidesNothing(t *testing.T) {
	var m machine
	m.stop = func(counted uint64) (uint64, error) {
		if m.started%countedBlocks == 5 {
			counted *= 10
		}
		return counted, nil
	}
	r := compareInBubble(t, Config{InstructionsOnly: true, open: m.open}, m.do("a", 10_000, 0.0001), m.do("b", 10_000, 0.0001))
	if r.Instructions.Verdict != stat.Equivalent {
		t.Errorf("%v, want EQUIVALENT", r)
	}
}

// If instructions are not counted in every round the reason replaces the verdict on
// them, and the one on time is as good as without.
func TestUncounted(t *testing.T) {
	broken := func(after int, shows uint64, err error) func(*machine) func(...perf.Event) (counters, error) {
		return func(m *machine) func(...perf.Event) (counters, error) {
			m.stop = func(counted uint64) (uint64, error) {
				if m.started == after+1 {
					return shows, err
				}
				return counted, nil
			}
			return m.open
		}
	}
	tests := []struct {
		name string
		open func(*machine) func(...perf.Event) (counters, error)
		want string
		only int // rounds that are driven with InstructionsOnly
	}{
		{"no counter", func(*machine) func(...perf.Event) (counters, error) { return noCounters },
			"instructions cannot be counted: there is no counter; buy one", 1},
		{"shared in the third round", broken(2*countedBlocks+5, 1, perf.ErrMultiplexed), perf.ErrMultiplexed.Error(), 3},
		{"a counter that stands still", broken(0, 0, nil), "the counters show 0 instructions", 1},
	}
	for _, tt := range tests {
		for _, only := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, only %v", tt.name, only), func(t *testing.T) {
				var m machine
				r := compareInBubble(t, Config{Rounds: 6, Pairs: 2, InstructionsOnly: only, open: tt.open(&m)},
					m.do("a", 10_000, 0), m.do("b", 10_200, 0))
				if r.Instructions != nil || !strings.Contains(r.Uncounted, tt.want) || !strings.Contains(r.String(), "no verdict on instructions: "+r.Uncounted) {
					t.Errorf("says %q, uncounted %q, want %q", r, r.Uncounted, tt.want)
				}
				verdict, rounds := stat.Equivalent, 6
				if only {
					verdict, rounds = "", tt.only
				}
				if r.Verdict != verdict || len(r.Replications) != rounds || m.isOpen {
					t.Fatalf("%d rounds, want %d; counters open: %v; %v, want %q", len(r.Replications), rounds, m.isOpen, r, verdict)
				}
				var tb recorder
				r.FailIfMoreInstructions(&tb)
				if tb.failed || !strings.Contains(tb.said, r.Uncounted) {
					t.Errorf("failed: %v, said %q", tb.failed, tb.said)
				}
				for _, round := range r.Replications {
					if counts := round.Candidate.Instructions > 0 || round.InstructionsLogRatio != 0; counts == (round.Uncounted != "") {
						t.Errorf("an uncounted round has counts, or a counted one none: %+v", round)
					}
				}
				var lines bytes.Buffer
				if err := r.WriteBenchmarks(&lines); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(lines.String()+r.String(), "NaN") || strings.Contains(lines.String(), "\t0\n") {
					t.Errorf("figures that are none in\n%s%v", &lines, r)
				}
			})
		}
	}
}

func TestCancelledWhileCounting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m machine
		ctx, cancel := context.WithCancel(t.Context())
		m.stop = func(counted uint64) (uint64, error) { cancel(); return counted, nil }
		if r, err := Compare(ctx, "X", Config{Rounds: 1, open: m.open}, m.do("a", 1, 0), m.do("b", 1, 0)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, error %v", r, err)
		}
		if m.isOpen {
			t.Error("counters are open")
		}
	})
}

func TestFailIfMoreInstructions(t *testing.T) {
	for _, v := range []stat.Verdict{stat.More, stat.Less, stat.Equivalent, stat.Inconclusive} {
		var tb recorder
		(&Result{Instructions: &Comparison{Verdict: v}}).FailIfMoreInstructions(&tb)
		if tb.failed != (v == stat.More) {
			t.Errorf("%s: failed %v", v, tb.failed)
		}
	}
}

// A test that asks for a verdict on time where none is taken could never fail.
func TestFailIfSlowerWithoutTime(t *testing.T) {
	var tb recorder
	if (&Result{Instructions: &Comparison{Verdict: stat.Equivalent}}).FailIfSlower(&tb); !tb.failed || !strings.Contains(tb.said, "InstructionsOnly") {
		t.Errorf("failed: %v, said %q", tb.failed, tb.said)
	}
}

// Each round counts in its own process, and the counts come back from there.
func TestFreshRoundsCount(t *testing.T) {
	var m machine
	c := Config{Fresh: true, InstructionsOnly: true, Rounds: 6, Block: time.Millisecond, open: m.open}
	t.Run("counted", func(t *testing.T) {
		r := Run(t, c, m.do("a", 10_000, 0.0001), m.do("b", 10_200, 0.0001))
		if r.Instructions == nil || r.Instructions.Verdict != stat.More || math.Abs(r.Instructions.Ratio-1.02) > 0.001 || len(m.calls) != 0 {
			t.Errorf("%v after %d calls here", r, len(m.calls))
		}
		if finding.RoundsNotFresh.In(r.Instructions.Warnings) {
			t.Errorf("warnings %v", r.Instructions.Warnings)
		}
	})
	c.open = noCounters
	t.Run("uncounted", func(t *testing.T) {
		if r := Run(t, c, m.do("a", 10_000, 0), m.do("b", 10_200, 0)); len(r.Replications) != 1 || !strings.Contains(r.Uncounted, "there is no counter") {
			t.Errorf("%d rounds, %v", len(r.Replications), r)
		}
	})
}

// The margin of instructions is that of counted events in other comparisons.
func TestInstructionMargin(t *testing.T) {
	c, err := Config{}.withDefaults(spin(1), spin(2))
	if err != nil || c.InstructionMargin != metric.ServerInstructions.Margin() {
		t.Errorf("margin %g, want %g; error %v", c.InstructionMargin, metric.ServerInstructions.Margin(), err)
	}
}

// loop executes some instructions for each of its turns.
func loop(name string, turns int) Func {
	return Func{name, func(n int) {
		x := uint32(1)
		for range n * turns {
			x = x*5 + 1
		}
		runtime.KeepAlive(x)
	}}
}

// Counters of the processor find 2% more turns of a loop, and no difference in equal
// loops.
func TestPlantedInstructions(t *testing.T) {
	c, err := own(perf.Instructions)
	if err != nil {
		testenv.Hardware(t, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	planted(t, Config{InstructionsOnly: true, Rounds: 8}, func(name string, units int) Func { return loop(name, 10*units) })
}

// planted compares 10,000 units of work with 10,200 and with as many.
func planted(t *testing.T, c Config, work func(name string, units int) Func) {
	for units, want := range map[int]stat.Verdict{10_200: stat.More, 10_000: stat.Equivalent} {
		for _, fresh := range []bool{false, true} {
			c.Fresh = fresh
			t.Run(fmt.Sprintf("%d, fresh %v", units, fresh), func(t *testing.T) {
				r := Run(t, c, work("a", 10_000), work("b", units))
				if r.Instructions == nil {
					t.Fatal(r.Uncounted)
				}
				if ratio := float64(units) / 10_000; r.Instructions.Verdict != want || math.Abs(r.Instructions.Ratio/ratio-1) > 0.002 {
					t.Errorf("%v, want %s with %g", r, want, ratio)
				}
			})
		}
	}
}
