package trial

import (
	"context"
	"math"
	"slices"

	"contend/why"
)

// leastTimed is the share of the CPU time from which a difference between samples is not one of code at another place in memory: of
// functions that nobody edited, those of servers in Go differ by up to 0.6% of it (bench/README.md).
const leastTimed = 0.01

// A Counter counts what the arms execute, if it is not nil.
type Counter func(context.Context) ([]why.Instructions, error)

// answers reports whether what has been sampled names functions of each candidate at each level, or says that threads wait. Where it
// does not, or the difference is so small that the place of code in memory can make it, instructions are counted.
func (d *Diagnosis) answers(ctx context.Context, t *Trials) bool {
	d.attribute(t.Arms)
	d.explain(t.Arms, t.Design.Levels, t.Design.Confidence)
	unclear := func(share float64) bool {
		return slices.ContainsFunc(d.Explanations, func(e why.Explanation) bool {
			clear := func(r why.Root) bool { return math.Abs(r.Value) >= share*e.CPU.BaselineValue }
			return !e.Wait.Excludes0() && !slices.ContainsFunc(e.Roots, clear) && (e.Counted == nil || !e.Counted.Same)
		})
	}
	if d.counter != nil && d.isCompiled() && unclear(leastTimed) {
		d.count(ctx, t.Arms)
		d.explain(t.Arms, t.Design.Levels, t.Design.Confidence)
	}
	return !unclear(0)
}

// count has the counter count.
func (d *Diagnosis) count(ctx context.Context, arms []string) {
	instructions, err := d.counter(ctx)
	if err != nil {
		d.Uncounted = err.Error()
		return
	}
	stacks := d.stacks(arms)
	for i := range instructions {
		instructions[i].Trace(stacks, d.own)
	}
	d.Instructions = instructions
}

// isCompiled reports whether functions of the programs themselves are known, and all of them are in files: those of a JIT compiler are others
// under a simulator.
func (d *Diagnosis) isCompiled() bool {
	isOwn := func(f why.Function) bool { return f.Of == why.Own }
	return !slices.ContainsFunc(d.Profiles, func(p why.Profile) bool { return p.NamesCompiled() || !slices.ContainsFunc(p.Functions, isOwn) })
}
