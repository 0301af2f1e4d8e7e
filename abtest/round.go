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
	// disturbed block does not decide the round.
	LogRatio float64
}

// A Sample is what a function did in a round. Allocations are those of the whole
// process meanwhile, as in package testing.
type Sample struct {
	Ops     int64
	Elapsed time.Duration
	Allocs  uint64 // heap objects
	Bytes   uint64 // of them
}

// NsPerOp is the mean time of an operation in nanoseconds.
func (s Sample) NsPerOp() float64 { return float64(s.Elapsed.Nanoseconds()) / float64(s.Ops) }

// AllocsPerOp is the number of heap objects for each operation.
func (s Sample) AllocsPerOp() float64 { return float64(s.Allocs) / float64(s.Ops) }

// BytesPerOp is their size.
func (s Sample) BytesPerOp() float64 { return float64(s.Bytes) / float64(s.Ops) }

func (s *Sample) add(o Sample) {
	s.Ops += o.Ops
	s.Elapsed += o.Elapsed
	s.Allocs += o.Allocs
	s.Bytes += o.Bytes
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
// returns how many a whole one holds; that is its warm-up, too.
func calibrate(do func(int), block time.Duration) (n int, took time.Duration) {
	for n = 1; ; {
		took = run(do, n).Elapsed
		fit := float64(n) * float64(block) / float64(max(1, took))
		if took >= block/2 || n == maxOps {
			return int(max(1, min(fit, maxOps))), took
		}
		n = int(min(fit, 100*float64(n), maxOps)) // at least 2n: it took less than half
	}
}

// run performs a block behind a collection of garbage, which would otherwise be
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
	var sums [2]Sample
	var logs []float64
	first := rand.New(rand.NewPCG(p.config.Seed, uint64(n))).IntN(2)
	for range p.config.Pairs {
		var perOp [2]float64
		for _, i := range []int{first, 1 - first} {
			if ctx.Err() != nil {
				return Round{}, fmt.Errorf("abtest: %w", ctx.Err())
			}
			s := run(p.funcs[i].Do, p.ops[i])
			sums[i].add(s)
			perOp[i] = s.NsPerOp()
		}
		first = 1 - first
		logs = append(logs, math.Log(perOp[1]/perOp[0]))
	}
	effect, err := stat.Paired(logs, p.config.Confidence)
	if err != nil {
		return Round{}, fmt.Errorf("abtest: a block took no time: %w", err)
	}
	return Round{Baseline: sums[0], Candidate: sums[1], LogRatio: math.Log(effect.Ratio)}, nil
}
