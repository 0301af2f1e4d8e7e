package why

import (
	"slices"
	"strconv"
	"strings"
)

// A place is the file and line by which a function of a script without a name of its own is called.
type place struct {
	file string
	line int
}

const anonymous = "(anonymous) ("

func placeOf(function string) (at place, ok bool) {
	text, ok := strings.CutPrefix(function, anonymous)
	colon := strings.LastIndexByte(text, ':')
	if !ok || colon < 0 {
		return at, false
	}
	line, err := strconv.Atoi(strings.TrimSuffix(text[colon+1:], ")"))
	return place{text[:colon], line}, err == nil
}

func (p place) String() string { return anonymous + p.file + ":" + strconv.Itoa(p.line) + ")" }

// shifted are functions without a name of their own that have another line in the candidate, as an edit above them added or
// removed lines: the baseline's names by the candidate's. The shift is the one that explains most lines of a file which one
// arm alone has, and more than half of these; of several the smallest.
func (t *tree) shifted(names []string) map[string]string {
	var lines [2]map[string][]int // of each file
	for side := range lines {
		lines[side] = map[string][]int{}
		for _, name := range names {
			if at, ok := placeOf(name); ok && t.sum(name, side) > 0 {
				lines[side][at.file] = append(lines[side][at.file], at.line)
			}
		}
	}
	renamed := map[string]string{}
	for file, before := range lines[0] {
		after := lines[1][file]
		by, from := shiftOf(before, after)
		for _, line := range after {
			if by != 0 && line >= from && slices.Contains(before, line-by) {
				renamed[place{file, line}.String()] = place{file, line - by}.String()
			}
		}
	}
	return renamed
}

// shiftOf is by how many lines functions moved, and from which of the candidate's on; 0: not by a number that is clear.
func shiftOf(before, after []int) (by, from int) {
	gone, fresh := without(before, after), without(after, before)
	most := (len(gone) + len(fresh)) / 2
	for _, one := range gone {
		for _, other := range after {
			d := other - one
			var moved []int
			for _, line := range gone {
				if slices.Contains(after, line+d) {
					moved = append(moved, line+d)
				}
			}
			for _, line := range fresh {
				if slices.Contains(before, line-d) {
					moved = append(moved, line)
				}
			}
			if len(moved) > most || len(moved) == most && max(d, -d) < max(by, -by) {
				most, by, from = len(moved), d, slices.Min(moved)
			}
		}
	}
	return by, from
}

func without(lines, others []int) []int {
	return slices.DeleteFunc(slices.Clone(lines), func(line int) bool { return slices.Contains(others, line) })
}

// rename gives calls of the candidate the names of the baseline's. Where both arms have a name that the candidate's function
// loses, it is two functions, with all that they call.
func rename(calls []Call, baseline, candidate int, renamed map[string]string) []Call {
	var list []Call
	for len(calls) > 0 {
		c := calls[0]
		former, ok := renamed[c.Function]
		if ok && c.PerOp[baseline] > 0 && c.PerOp[candidate] > 0 {
			end := slices.IndexFunc(calls[1:], func(below Call) bool { return below.Depth <= c.Depth }) + 1
			if end == 0 {
				end = len(calls)
			}
			list = append(list, rename(onlyOf(calls[:end], baseline), baseline, candidate, renamed)...)
			list = append(list, rename(onlyOf(calls[:end], candidate), baseline, candidate, renamed)...)
			calls = calls[end:]
			continue
		}
		if ok && c.PerOp[candidate] > 0 {
			c.Function = former
		}
		list, calls = append(list, c), calls[1:]
	}
	return list
}

// onlyOf are calls of one arm.
func onlyOf(calls []Call, arm int) []Call {
	var list []Call
	for _, c := range calls {
		if c.PerOp[arm] > 0 {
			times := make([]float64, len(c.PerOp))
			times[arm] = c.PerOp[arm]
			list = append(list, Call{c.Function, c.Depth, times})
		}
	}
	return list
}
