package flame

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"contend/why"
)

// leastShare is the share of an operation's CPU time below which a frame is not drawn: on
// 1200 pixels it has about one.
const leastShare = 0.001

// A node is a function with all that it called from where it was called.
type node struct {
	sides  [2]float64 // CPU time per operation of the baseline and of the candidate, in ns
	called map[string]*node
}

// tree has the stacks of both sides, from their outermost callers.
func tree(sides [2][]why.Stacks) *node {
	root := &node{}
	for side, levels := range sides {
		for i := range levels {
			for _, stack := range levels[i].List {
				root.add(stack, side, perOp(&levels[i], stack, len(levels)))
			}
		}
	}
	return root
}

func (n *node) add(stack why.Stack, side int, time float64) {
	n.sides[side] += time
	for _, frame := range slices.Backward(framesOf(stack)) {
		n = n.call(frame.String())
		n.sides[side] += time
	}
}

func (n *node) call(name string) *node {
	if n.called[name] == nil {
		if n.called == nil {
			n.called = map[string]*node{}
		}
		n.called[name] = &node{}
	}
	return n.called[name]
}

// A box is a node where it is drawn.
type box struct {
	name  string
	sides [2]float64
	begin float64 // ns of the candidate's operation to the left of it
	depth int     // the root has 0
}

func (b box) more() float64 { return b.sides[1] - b.sides[0] }

// boxes lays the candidate's side out, the widest first, so that callers come before what they
// call.
func boxes(root *node) []box {
	var list []box
	var lay func(n *node, name string, begin float64, depth int)
	lay = func(n *node, name string, begin float64, depth int) {
		if n.sides[1] <= 0 || n.sides[1] < leastShare*root.sides[1] {
			return
		}
		list = append(list, box{name, n.sides, begin, depth})
		for _, name := range slices.Sorted(maps.Keys(n.called)) {
			lay(n.called[name], name, begin, depth+1)
			begin += n.called[name].sides[1]
		}
	}
	lay(root, "all", 0, 0)
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
