// Package flame exports the stacks of a diagnosis: a pprof profile of each variant, and the
// difference of two as a flame graph.
//
// A variant is given by its stacks at each level of concurrency. Values per operation are
// means over the levels.
package flame

import "contend/why"

// perOp returns the CPU time of a stack for an operation, in ns, as a part of the mean of
// so many levels.
func perOp(at *why.Stacks, stack why.Stack, levels int) float64 {
	return at.PerOp(stack) / float64(levels)
}
