package symbol

import (
	"bytes"
	"cmp"
	"slices"
)

// layers are ranges of addresses; later ones cover earlier ones.
type layers struct {
	points []uint64 // where a range starts or ends, in order
	tops   []int32  // the highest range from each point to the next, -1: none
}

// lay stacks n ranges in their order. A range that ends before it starts covers
// nothing.
func lay(n int, bounds func(i int) (start, end uint64)) layers {
	points := make([]uint64, 0, 2*n)
	for i := range n {
		if start, end := bounds(i); start < end {
			points = append(points, start, end)
		}
	}
	slices.Sort(points)
	points = slices.Clip(slices.Compact(points))
	l := layers{points, make([]int32, len(points))}
	free := make([]int32, len(points)+1) // the way from each place to the next one without a top
	for i := range free {
		free[i] = int32(i)
	}
	for i := range l.tops {
		l.tops[i] = -1
	}
	next := func(at int32) int32 {
		for free[at] != at {
			free[at] = free[free[at]]
			at = free[at]
		}
		return at
	}
	for i := n - 1; i >= 0; i-- {
		start, end := bounds(i)
		if start >= end {
			continue
		}
		first, _ := slices.BinarySearch(points, start)
		last, _ := slices.BinarySearch(points, end)
		for at := next(int32(first)); at < int32(last); at = next(at) {
			l.tops[at], free[at] = int32(i), at+1
		}
	}
	return l
}

// top returns the highest range that covers an address.
func (l layers) top(addr uint64) (i int, ok bool) {
	at, exact := slices.BinarySearch(l.points, addr)
	if !exact {
		at--
	}
	if at < 0 || l.tops[at] < 0 {
		return 0, false
	}
	return int(l.tops[at]), true
}

// names are functions by their addresses.
type names struct {
	spans  []span
	layers layers
	text   []byte // that the spans' names lie in
	end    byte   // what ends a name in text
}

// A span is the addresses of a function, from start to before end.
type span struct {
	start, end uint64
	name       uint32 // where its name starts in the text
}

// newNames returns spans; later ones cover earlier ones.
func newNames(spans []span, text []byte, end byte) *names {
	return &names{spans, lay(len(spans), func(i int) (uint64, uint64) { return spans[i].start, spans[i].end }), text, end}
}

// at returns the name of the function that contains an address. Nil names have none.
func (n *names) at(addr uint64) (name string, ok bool) {
	if n == nil {
		return "", false
	}
	i, ok := n.layers.top(addr)
	if !ok {
		return "", false
	}
	return n.name(n.spans[i]), true
}

// name is that of a span, as far as maxRaw.
func (n *names) name(s span) string {
	text := n.text[min(int(s.name), len(n.text)):]
	text = text[:min(maxRaw, len(text))]
	if i := bytes.IndexByte(text, n.end); i >= 0 {
		text = text[:i]
	}
	return string(text)
}

// byAddress sorts spans with the same start by length, the longer first, so that nested
// spans cover those around them.
func byAddress(a, b span) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
}
