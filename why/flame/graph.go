package flame

import (
	"cmp"
	"math"
	"slices"

	"contend/why"
)

// A box is a call where it is drawn.
type box struct {
	name  string
	sides [2]float64
	begin float64 // ns of the candidate's operation to the left of it
	depth int     // the root has 0
}

func (b box) more() float64 { return b.sides[1] - b.sides[0] }

// boxes lays the candidate's side out, the widest first, so that callers come before what they
// call.
func boxes(sides [2][]why.Stacks) []box {
	calls := why.CallsOf(sides[:], math.MaxInt)
	begins := why.Begins(calls, 1)
	var list []box
	for i, c := range calls {
		if i == 0 || c.PerOp[1] > 0 && c.PerOp[1] >= why.LeastCall*calls[0].PerOp[1] {
			list = append(list, box{c.Function, [2]float64(c.PerOp), begins[i], c.Depth})
		}
	}
	slices.SortStableFunc(list, func(a, b box) int {
		return cmp.Or(cmp.Compare(b.sides[1], a.sides[1]), cmp.Compare(a.depth, b.depth))
	})
	return list
}

// most returns the greatest difference in a list, either way.
func most(list []box) float64 {
	greatest := 0.0
	for _, b := range list {
		greatest = max(greatest, math.Abs(b.more()))
	}
	return greatest
}
