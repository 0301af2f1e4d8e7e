package count

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

const (
	// mostLinesOfRow are the lines of source that a row keeps.
	mostLinesOfRow = 10
	// mostAligned bounds the pairs of lines that are looked at to align one function.
	mostAligned = 4 << 20
)

// A Line is a line of source of a function, as the candidate numbers it; one that only the baseline has, as that does.
type Line struct {
	Name string `json:"line"` // main.go:71
	Difference
}

// A source is what one side executes in a line, by repetitions.
type source struct {
	line
	values []float64
}

func (s source) String() string { return fmt.Sprintf("%s:%d", path.Base(s.file), s.number) }

// find finds the lines in which the rows differ. The intervals of all lines hold together.
func (c *Comparison) find(baseline, candidate []map[line]float64) {
	wanted := map[string]bool{}
	for _, r := range c.Rows {
		wanted[r.Name] = true
	}
	before, after := sources(baseline, wanted), sources(candidate, wanted)
	pairs, looked := make([][][2]source, len(c.Rows)), 0
	for i, r := range c.Rows {
		pairs[i] = align(before[r.Name], after[r.Name])
		looked += len(pairs[i])
	}
	each := 1 - (1-confidence)/float64(max(1, looked))
	for i := range c.Rows {
		r := &c.Rows[i]
		for _, p := range pairs[i] {
			s := series{make([]float64, len(baseline)), make([]float64, len(candidate))}
			copy(s.baseline, p[0].values)
			copy(s.candidate, p[1].values)
			if d := s.shift(each); d.excludes0() && math.Abs(d.Value) >= leastRow {
				name := p[1].String()
				if p[1].values == nil {
					name = p[0].String()
				}
				r.Lines = append(r.Lines, Line{name, d})
			}
		}
		slices.SortStableFunc(r.Lines, func(a, b Line) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
		r.Lines = slices.Clip(r.Lines[:min(len(r.Lines), mostLinesOfRow)])
	}
}

// sources are the lines of each wanted function in their order.
func sources(repetitions []map[line]float64, wanted map[string]bool) map[string][]source {
	values := map[line][]float64{}
	for i, counts := range repetitions {
		for at, n := range counts {
			if !wanted[at.function] {
				continue
			}
			if values[at] == nil {
				values[at] = make([]float64, len(repetitions))
			}
			values[at][i] = n
		}
	}
	all := map[string][]source{}
	for at, list := range values {
		all[at.function] = append(all[at.function], source{at, list})
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b source) int {
			return cmp.Or(strings.Compare(path.Base(a.file), path.Base(b.file)), cmp.Compare(a.number, b.number), strings.Compare(a.file, b.file))
		})
	}
	return all
}

// align pairs the lines of a function of both sides. One may have been edited, and its numbers have moved. Lines are the
// same if their counts agree, as many as are in the same order. What is between them is paired by its distance from these.
// A line that one side does not have is paired with nothing.
func align(a, b []source) (pairs [][2]source) {
	var known [][2]int
	if len(a)*len(b) <= mostAligned {
		known = matching(a, b)
	}
	moved, fromA, fromB := 0, 0, 0
	if len(known) > 0 {
		moved = b[known[0][1]].number - a[known[0][0]].number
	}
	for _, k := range known {
		one, other := a[k[0]], b[k[1]]
		pairs = append(append(pairs, between(a[fromA:k[0]], b[fromB:k[1]], moved)...), [2]source{one, other})
		fromA, fromB, moved = k[0]+1, k[1]+1, other.number-one.number
	}
	return append(pairs, between(a[fromA:], b[fromB:], moved)...)
}

// matching are the places of as many lines as possible that fit together, in the order of both sides.
func matching(a, b []source) (known [][2]int) {
	width := len(b) + 1
	best := make([]int32, (len(a)+1)*width) // of what is left from a line of each side
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1], best[(i+1)*width+j+1]+alike(a[i], b[j]))
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		same := alike(a[i], b[j])
		switch now := best[i*width+j]; {
		case same > 0 && now == best[(i+1)*width+j+1]+same:
			known = append(known, [2]int{i, j})
			i, j = i+1, j+1
		case now == best[(i+1)*width+j]:
			i++
		default:
			j++
		}
	}
	return known
}

// alike is how well two lines fit together; 0: not at all.
func alike(a, b source) int32 {
	one, other := mean(a.values), mean(b.values)
	switch {
	case math.Abs(one-other) > max(agreeCount, agreeShare*math.Abs(one)):
		return 0
	case a.number == b.number:
		return 3
	}
	return 2
}

// between pairs lines whose counts differ, where the candidate's have moved by so many.
func between(a, b []source, moved int) (pairs [][2]source) {
	for len(a) > 0 && len(b) > 0 {
		switch at := a[0].number + moved; {
		case len(a) == len(b) || at == b[0].number:
			pairs = append(pairs, [2]source{a[0], b[0]})
			a, b = a[1:], b[1:]
		case at < b[0].number:
			pairs, a = append(pairs, [2]source{a[0]}), a[1:]
		default:
			pairs, b = append(pairs, [2]source{{}, b[0]}), b[1:]
		}
	}
	for _, left := range a {
		pairs = append(pairs, [2]source{left})
	}
	for _, left := range b {
		pairs = append(pairs, [2]source{{}, left})
	}
	return pairs
}
