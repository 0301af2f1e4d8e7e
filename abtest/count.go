package abtest

import (
	"context"
	"errors"
	"math"
	"runtime"

	"contend/internal/perf"
)

// countedPairs is how many pairs of blocks a round has in which instructions are
// counted: the fewest with which one disturbed pair does not decide the
// Hodges–Lehmann estimate (6 of its 10 averages are without it).
const countedPairs = 4

// counters count events of this process, as [perf.Counters] do.
type counters interface {
	Start() error
	Stop() (perf.Counts, error)
	Close() error
}

func own(events ...perf.Event) (counters, error) { return perf.Own(events...) }

// count drives the pairs of blocks in which instructions are counted, and no time is
// taken, as counting slows some machines down. Where it is not possible the round says
// why; the error is that of ctx.
func (p *pair) count(ctx context.Context, r *Round, first int) error {
	c, err := p.config.open(perf.Instructions)
	if err != nil {
		r.Uncounted = err.Error()
		return nil
	}
	var sums [2]Sample
	n, err := p.alike(c)
	var ratio float64
	if err == nil {
		ratio, err = p.pairs(ctx, countedPairs, first, func(i int) (float64, error) {
			s, err := countBlock(c, p.funcs[i].Do, n[i])
			sums[i].add(s)
			return s.InstructionsPerOp(), err
		})
	}
	err = errors.Join(err, c.Close())
	switch {
	case err == nil:
		r.InstructionsLogRatio = ratio
		r.Baseline.add(sums[0])
		r.Candidate.add(sums[1])
	case ctx.Err() != nil:
		return err
	default:
		r.Uncounted = err.Error()
	}
	return nil
}

// alike finds numbers of operations with which both functions execute as many
// instructions in a block, by counting one of each. How long blocks take depends on
// the neighbours, and then so would the share of what comes once in a block and of
// collections of garbage, which come in whole numbers: equal functions would differ.
func (p *pair) alike(c counters) (n [2]int, err error) {
	var samples [2]Sample
	for i, f := range p.funcs {
		if samples[i], err = countBlock(c, f.Do, p.ops[i]); err != nil {
			return n, err
		}
	}
	least := float64(min(samples[0].Instructions, samples[1].Instructions))
	for i, s := range samples {
		n[i] = max(1, int(math.Round(least/s.InstructionsPerOp())))
	}
	return n, nil
}

// countBlock performs a block after a collection of garbage, like run.
func countBlock(c counters, do func(int), n int) (Sample, error) {
	runtime.GC()
	if err := c.Start(); err != nil {
		return Sample{}, err
	}
	do(n)
	counts, err := c.Stop()
	if err == nil && counts[perf.Instructions] == 0 {
		err = errors.New("abtest: the counters show 0 instructions, as those of some virtual machines do")
	}
	return Sample{CountedOps: int64(n), Instructions: counts[perf.Instructions]}, err
}
