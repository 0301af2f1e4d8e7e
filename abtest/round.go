package abtest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"contend/stat"
)

// A Round is one replication: the sums of its blocks, and what follows from
// their pairs.
type Round struct {
	Baseline, Candidate Sample
	// LogRatio is ln(time per operation of the candidate ÷ that of the
	// baseline): the Hodges–Lehmann estimate over the round's pairs, so that one
	// disturbed block does not decide the round. 0 if no time was taken.
	LogRatio float64
	// InstructionsLogRatio is that of the instructions, unless they are Uncounted.
	InstructionsLogRatio float64
	// Uncounted says why instructions were not counted; empty if they were.
	Uncounted string
}

// A Sample is what a function did in a round. Allocations and instructions are those
// of the whole process during the function's blocks, including the garbage
// collector.
type Sample struct {
	// Ops were done while time was taken and allocations were counted: none with
	// InstructionsOnly.
	Ops     int64
	Elapsed time.Duration
	Allocs  uint64 // heap objects
	Bytes   uint64 // of them
	// CountedOps were done while instructions were counted: none where these cannot be.
	CountedOps   int64
	Instructions uint64 // in user space
}

// NsPerOp is the mean time of an operation in nanoseconds. Like what follows it needs
// operations to divide by.
func (s Sample) NsPerOp() float64 { return float64(s.Elapsed.Nanoseconds()) / float64(s.Ops) }

// AllocsPerOp is the number of heap objects for each operation.
func (s Sample) AllocsPerOp() float64 { return float64(s.Allocs) / float64(s.Ops) }

// BytesPerOp is their size.
func (s Sample) BytesPerOp() float64 { return float64(s.Bytes) / float64(s.Ops) }

// InstructionsPerOp is the number of instructions in user space for each of the
// counted operations.
func (s Sample) InstructionsPerOp() float64 { return float64(s.Instructions) / float64(s.CountedOps) }

func (s *Sample) add(o Sample) {
	s.Ops += o.Ops
	s.Elapsed += o.Elapsed
	s.Allocs += o.Allocs
	s.Bytes += o.Bytes
	s.CountedOps += o.CountedOps
	s.Instructions += o.Instructions
}

// pair is the two functions and how many operations fill a block.
type pair struct {
	config Config
	funcs  [2]Func
	ops    [2]int
}

// prepare finds the number of operations that take about a block.
func prepare(c Config, a, b Func) (*pair, error) {
	p := &pair{config: c, funcs: [2]Func{a, b}}
	for i, f := range p.funcs {
		n, took := calibrate(f.Do, c.Block)
		if took <= 0 {
			return nil, fmt.Errorf("abtest: %s did %d operations in no time: it does not perform n operations, or the compiler removed them", f.Name, n)
		}
		p.ops[i] = n
	}
	return p, nil
}

// maxOps keeps a function that does nothing from running for ever.
const maxOps = 1_000_000_000

// calibrate runs more and more operations until they take half a block, and
// returns how many a whole one holds; that also warms the function up. What takes that long
// is run again, and the shorter time counts: another program may have had the CPU.
func calibrate(do func(int), block time.Duration) (n int, took time.Duration) {
	for n = 1; ; {
		if took = run(do, n).Elapsed; took >= block/2 {
			took = min(took, run(do, n).Elapsed)
		}
		fit := float64(n) * float64(block) / float64(max(1, took))
		if took >= block/2 || n == maxOps {
			return int(max(1, min(fit, maxOps))), took
		}
		n = int(min(fit, 100*float64(n), maxOps)) // at least 2n: it took less than half
	}
}

// run performs a block after a collection of garbage, which would otherwise be
// that of the block before.
func run(do func(int), n int) Sample {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	do(n)
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	return Sample{Ops: int64(n), Elapsed: elapsed, Allocs: after.Mallocs - before.Mallocs, Bytes: after.TotalAlloc - before.TotalAlloc}
}

// round drives both functions in pairs of blocks; n counts from 0.
func (p *pair) round(ctx context.Context, n int) (Round, error) {
	var r Round
	first := rand.New(rand.NewPCG(p.config.Seed, uint64(n))).IntN(2)
	if !p.config.InstructionsOnly {
		if err := p.takeTime(ctx, &r, first); err != nil {
			return Round{}, err
		}
	}
	if err := p.count(ctx, &r, first); err != nil {
		return Round{}, err
	}
	return r, nil
}

// takeTime drives the pairs of blocks in which time is taken.
func (p *pair) takeTime(ctx context.Context, r *Round, first int) (err error) {
	sums := [2]*Sample{&r.Baseline, &r.Candidate}
	r.LogRatio, err = p.pairs(ctx, p.config.Pairs, first, func(i int) (float64, error) {
		s := run(p.funcs[i].Do, p.ops[i])
		if s.Elapsed <= 0 {
			return 0, fmt.Errorf("abtest: a block of %s took no time", p.funcs[i].Name)
		}
		sums[i].add(s)
		return s.NsPerOp(), nil
	})
	return err
}

// pairs drives pairs of blocks in the order ABBA. block returns what an operation of a
// function costs; the result is the Hodges–Lehmann estimate of ln(candidate ÷ baseline).
func (p *pair) pairs(ctx context.Context, many, first int, block func(i int) (float64, error)) (float64, error) {
	var logs []float64
	for range many {
		var perOp [2]float64
		for _, i := range []int{first, 1 - first} {
			if ctx.Err() != nil {
				return 0, fmt.Errorf("abtest: %w", ctx.Err())
			}
			cost, err := block(i)
			if err != nil {
				return 0, err
			}
			perOp[i] = cost
		}
		first = 1 - first
		logs = append(logs, math.Log(perOp[1]/perOp[0]))
	}
	effect, err := stat.Paired(logs, p.config.Confidence)
	if err != nil {
		return 0, err
	}
	return math.Log(effect.Ratio), nil
}
