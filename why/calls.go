package why

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"contend/why/symbol"
	"contend/why/symbol/work"
)

// A Call is a function together with its callers. In a list it comes before what it called,
// which is one deeper.
type Call struct {
	Function string `json:"function"`
	// Depth is 0 for the first of a list alone, which is all of it.
	Depth int `json:"depth,omitempty"`
	// PerOp is the CPU time of an operation in it and in all that it called, in ns, of each arm:
	// the mean of the levels.
	PerOp []float64 `json:"cpu_ns_per_op"`
}

// LeastCall is the share of an operation's CPU time below which a call is not shown: on 1200
// pixels it has about one.
const LeastCall = 0.001

// CallsOf returns the calls of arms, which are given by their stacks at each level, without
// calls below LeastCall in each arm. If there are more than most, it returns the largest and
// those that they were called from. A function is called before another by its name.
func CallsOf(arms [][]Stacks, most int) []Call {
	root := &callee{perOp: make([]float64, len(arms))}
	for arm, levels := range arms {
		for i := range levels {
			for _, stack := range levels[i].List {
				root.add(stack, arm, levels[i].PerOp(stack)/float64(len(levels)))
			}
		}
	}
	least := root.least(most)
	var list []Call
	var walk func(name string, c *callee, depth int)
	walk = func(name string, c *callee, depth int) {
		if depth > 0 && root.sizeOf(c) < least {
			return
		}
		list = append(list, Call{Function: name, Depth: depth, PerOp: rounded(c.perOp)})
		for _, name := range slices.Sorted(maps.Keys(c.calls)) {
			walk(name, c.calls[name], depth+1)
		}
	}
	walk("all", root, 0)
	return list
}

// outermost are the functions in which threads begin, except those of Go, which always has
// frame pointers.
var outermost = []string{"start_thread", "thread_start", "__clone", "clone", "__clone3", "clone3", "_start", "main", startsMain,
	"__libc_start_main", "__libc_start_main_impl", "libc_start_main_stage2", "ret_from_fork", "ret_from_fork_asm", unseen, unsampled, others}

// Cut returns the share of an arm's CPU time whose callers are not all known, 0 to 1: its stacks do not begin
// where threads do, as without frame pointers. Stacks that begin in a function without a name in a known file
// may begin where threads do, and are not counted.
func Cut(calls []Call, arm int) float64 {
	if len(calls) == 0 || calls[0].PerOp[arm] == 0 {
		return 0
	}
	cut := 0.0
	for _, c := range calls {
		if c.Depth == 1 && !slices.Contains(outermost, c.Function) && !strings.HasPrefix(c.Function, "runtime.") && !strings.HasPrefix(c.Function, unknown+" in ") {
			cut += c.PerOp[arm]
		}
	}
	return cut / calls[0].PerOp[arm]
}

// rounded are times to a hundredth of a nanosecond.
func rounded(times []float64) []float64 {
	list := make([]float64, len(times))
	for i, t := range times {
		list[i] = math.Round(100*t) / 100
	}
	return list
}

// A callee is a function with all that it called from where it was called.
type callee struct {
	perOp []float64
	calls map[string]*callee
}

func (c *callee) add(stack Stack, arm int, time float64) {
	c.perOp[arm] += time
	names := []string{symbol.Frame{}.String()}
	if len(stack.Frames) > 0 {
		names = names[:0]
		for _, frame := range slices.Backward(stack.Frames) {
			names = append(names, frame.String())
		}
	}
	for _, name := range names {
		next := c.calls[name]
		if next == nil {
			if c.calls == nil {
				c.calls = map[string]*callee{}
			}
			next = &callee{perOp: make([]float64, len(c.perOp))}
			c.calls[name] = next
		}
		next.perOp[arm] += time
		c = next
	}
}

// sizeOf is the largest share that a call has of the operation of an arm.
func (c *callee) sizeOf(call *callee) float64 {
	size := 0.0
	for arm, all := range c.perOp {
		if all > 0 {
			size = max(size, call.perOp[arm]/all)
		}
	}
	return size
}

// least is the smallest share that no more than most calls reach.
func (c *callee) least(most int) float64 {
	var sizes []float64
	var look func(call *callee)
	look = func(call *callee) {
		for _, next := range call.calls {
			if size := c.sizeOf(next); size >= LeastCall {
				sizes = append(sizes, size)
				look(next)
			}
		}
	}
	look(c)
	if len(sizes) < most {
		return LeastCall
	}
	slices.SortFunc(sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	return math.Nextafter(sizes[most-1], 2) // of the same size none has a place
}

// Under are the program's own functions that call a function, directly or not, the outermost first: those of the call
// in which one arm spends most more time than another. None: they are not known.
func Under(calls []Call, function string, more, than int) []string {
	var under []string
	for _, i := range PathTo(calls, function, func(c Call) float64 { return c.PerOp[more] - c.PerOp[than] }) {
		caller := calls[i].Function
		if calls[i].Depth > 0 && caller != function && work.Of(caller, "") == "" && !slices.Contains(outermost, caller) {
			under = append(under, caller)
		}
	}
	return under
}

// PathTo are the indices of the call of a function that is worth most, and more than 0, and of its callers, the outermost
// first. None: there is no such call.
func PathTo(calls []Call, function string, worth func(Call) float64) []int {
	var path, found []int
	most := 0.0
	for i, c := range calls {
		path = append(path[:min(c.Depth, len(path))], i)
		if c.Function == function && worth(c) > most {
			most, found = worth(c), slices.Clone(path)
		}
	}
	return found
}

// Begins returns where each of the calls begins in the operation of an arm, in ns, if those that
// are called from one follow each other from where it begins.
func Begins(calls []Call, arm int) []float64 {
	begins, next := make([]float64, len(calls)), []float64{0} // by depth
	for i, c := range calls {
		begins[i] = next[c.Depth]
		next[c.Depth] += c.PerOp[arm]
		next = append(next[:c.Depth+1], begins[i])
	}
	return begins
}
