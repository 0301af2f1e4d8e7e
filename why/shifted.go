package why

import (
	"slices"
	"strconv"
	"strings"

	"contend/why/symbol"
)

// A place is the file and line by which a function of a script without a name of its own is called.
type place struct {
	file string
	line int
}

// placeOf is what such a name says; false: the function has another.
func placeOf(function string) (at place, ok bool) {
	text, ok := strings.CutPrefix(function, symbol.Anonymous)
	colon := strings.LastIndexByte(text, ':')
	if !ok || colon < 0 {
		return at, false
	}
	line, err := strconv.Atoi(strings.TrimSuffix(text[colon+1:], ")"))
	return place{text[:colon], line}, err == nil
}

func (p place) String() string { return symbol.Anonymous + p.file + ":" + strconv.Itoa(p.line) + ")" }

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
		for now, former := range shiftOf(before, lines[1][file]) {
			renamed[place{file, now}.String()] = place{file, former}.String()
		}
	}
	return renamed
}

// shiftOf are the lines of functions that moved: the baseline's by the candidate's.
func shiftOf(before, after []int) map[int]int {
	gone, fresh := without(before, after), without(after, before)
	by, most := 0, 0
	for _, one := range gone {
		for _, other := range after {
			d, pairs := other-one, 0
			for _, line := range gone {
				pairs += min(1, len(movedFrom(line, d, before, after)))
			}
			if 4*pairs > len(gone)+len(fresh) && (pairs > most || pairs == most && max(d, -d) < max(by, -by)) {
				by, most = d, pairs
			}
		}
	}
	moved := map[int]int{}
	for _, line := range gone {
		for _, to := range movedFrom(line, by, before, after) {
			moved[to] = to - by
		}
	}
	return moved
}

// movedFrom is where a function went that is gone, and those that made room for it: up to a line that was free; nil: one did not
// go as far.
func movedFrom(line, by int, before, after []int) (to []int) {
	for by != 0 && slices.Contains(before, line) {
		if line += by; !slices.Contains(after, line) {
			return nil
		}
		to = append(to, line)
	}
	return to
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
