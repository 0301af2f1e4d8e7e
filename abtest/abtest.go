// Package abtest compares two Go functions from a test: interleaved, with an
// interval, a verdict and Go benchmark lines for benchstat.
//
//	func TestNewParserIsNotSlower(t *testing.T) {
//		r := abtest.Run(t, abtest.Config{Fresh: true},
//			abtest.Func{Name: "old", Do: func(n int) { for range n { oldParse(text) } }},
//			abtest.Func{Name: "new", Do: func(n int) { for range n { newParse(text) } }})
//		r.FailIfSlower(t)
//	}
//
// Both functions run in short blocks in the order ABBA, so the machine treats both
// alike. Each round gives one log-ratio, and package stat turns these into the verdict,
// as in contend compare.
//
// If the processor's counters can be read (Linux), a second verdict is on the
// instructions that each executes. They are not time: they include no waiting, cache
// misses or neighbours, so they suit a test in shared CI:
//
//	r := abtest.Run(t, abtest.Config{InstructionsOnly: true, Fresh: true}, old, new)
//	r.FailIfMoreInstructions(t)
//
// A test that fails prints what the candidate spends more CPU time on, by kind of work and
// function, from samples taken after the measurement.
//
// Functions are timed directly and not driven by package load: a block is a
// number of operations that are known to be done when the call returns, which
// needs neither due times nor a window that cuts iterations off.
package abtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"contend/finding"
	"contend/internal/perf"
)

// A Func is one of the two functions that are compared.
type Func struct {
	Name string
	// Do performs n operations, n ≥ 1. It is called by one goroutine at a time,
	// often, and must leave nothing running behind.
	Do func(n int)
}

// A Config says how functions are compared. The zero value is ready to use: about
// four seconds for functions that are faster than a block.
type Config struct {
	// Rounds are the replications; a verdict at 95% confidence needs at least 6.
	// 0 means 12.
	Rounds int
	// Pairs of blocks in a round in which time is taken. 0 means 10.
	Pairs int
	// Block is about how long a function runs at a time, at least 1 ms. 0 means
	// 10 ms.
	Block time.Duration
	// Margin is the largest relative difference in time that does not matter, below 1.
	// 0 means 0.02.
	Margin float64
	// InstructionMargin is that in instructions. 0 means 0.005.
	InstructionMargin float64
	// Confidence of the intervals, below 1. 0 means 0.95.
	Confidence float64
	// InstructionsOnly takes no time and judges by instructions alone, in about
	// two seconds.
	InstructionsOnly bool
	// Seed decides which function begins a round.
	Seed uint64
	// Fresh gives each round a process of its own: Run starts the test binary again
	// for this one test, and the test's code before Run runs there as well. A
	// process keeps the memory layout that it happens to have, so without it a
	// difference may be one of layout. It works for one Run in a test or subtest.
	Fresh bool
	// History is a folder that the result is added to, as contend compare --history does: a file of its own, with the
	// commit of the checkout. "" means none. go test runs in the folder of the package, where relative names begin.
	History string

	open   func(...perf.Event) (counters, error) // of this process; nil means perf.Own
	sample func() (sampler, error)               // of this process; nil means perf.SampleOwn
}

// withDefaults replaces zeros and returns every mistake at once.
func (c Config) withDefaults(a, b Func) (Config, error) {
	set(&c.Rounds, 12)
	set(&c.Pairs, 10)
	set(&c.Block, 10*time.Millisecond)
	set(&c.Margin, 0.02)
	set(&c.InstructionMargin, 0.005)
	set(&c.Confidence, 0.95)
	if c.open == nil {
		c.open = own
	}
	if c.sample == nil {
		c.sample = sampleOwn
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("abtest: "+format, args...))
		}
	}
	check(c.Rounds >= 1 && c.Rounds <= 1000, "rounds is %d; expected 1 to 1000", c.Rounds)
	check(c.Pairs >= 1 && c.Pairs <= 1000, "pairs is %d; expected 1 to 1000", c.Pairs)
	check(c.Block >= time.Millisecond && c.Block <= time.Minute, "block is %v; expected 1ms to 1m", c.Block)
	check(c.Margin > 0 && c.Margin < 1, "margin is %g; expected more than 0 and less than 1", c.Margin)
	check(c.InstructionMargin > 0 && c.InstructionMargin < 1, "instruction margin is %g; expected more than 0 and less than 1", c.InstructionMargin)
	check(c.Confidence > 0 && c.Confidence < 1, "confidence is %g; expected more than 0 and less than 1", c.Confidence)
	check(a.Do != nil && b.Do != nil, "a function is nil")
	check(a.Name != b.Name && a.Name != "" && b.Name != "", "the functions are named %q and %q, two different names are needed", a.Name, b.Name)
	return c, errors.Join(errs...)
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Compare compares the candidate b with the baseline a in this process; Fresh is
// not supported. name is that of the benchmark lines, without "Benchmark".
func Compare(ctx context.Context, name string, c Config, a, b Func) (*Result, error) {
	c, err := c.withDefaults(a, b)
	if c.Fresh {
		err = errors.Join(err, errors.New("abtest: fresh is set, but only Run can start the test again"))
	}
	if err != nil {
		return nil, err
	}
	p, err := prepare(c, a, b)
	if err != nil {
		return nil, err
	}
	rounds, err := c.replicate(func(n int) (Round, error) { return p.round(ctx, n) })
	if err != nil {
		return nil, err
	}
	notFresh := finding.RoundsNotFresh.Warning("all rounds ran in one process; an effect of its memory layout and hash seeds may be in all of them")
	r := newResult(name, c, [2]string{a.Name, b.Name}, rounds, notFresh)
	r.funcs = p.funcs
	return r, r.keep(ctx, c.History)
}

// replicate drives the rounds. Without counters one is enough if only
// instructions are asked for.
func (c Config) replicate(round func(n int) (Round, error)) ([]Round, error) {
	var rounds []Round
	for n := range c.Rounds {
		r, err := round(n)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, r)
		if c.InstructionsOnly && r.Uncounted != "" {
			break
		}
	}
	return rounds, nil
}

// Run compares the candidate b with the baseline a, logs the result and returns
// it. It ends the test if that is not possible. The benchmark lines are named as
// the test is.
func Run(t *testing.T, c Config, a, b Func) *Result {
	t.Helper()
	var r *Result
	var err error
	if c.Fresh {
		if r, err = runFresh(t, c, a, b); err == nil {
			err = r.keep(t.Context(), c.History)
		}
	} else {
		r, err = Compare(t.Context(), benchmarkName(t.Name()), c, a, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	return r
}
