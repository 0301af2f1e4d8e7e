package pace

import "slices"

// A Share is what one of several generators does of a load that they drive together: of
// arrivals, callers, iterations or rows, each numbered from 0, those whose number modulo Of is
// one of Turns. The zero value is all of them.
type Share struct {
	Turns []int `json:"turns"` // ascending, each below Of
	Of    int   `json:"of"`
}

// Shares divides a load among generators by their weights, each at least 1: each thing is in
// one share, and of every so many as all weights together a share has its weight, spread as
// evenly as can be (smooth weighted round robin).
func Shares(weights []int) []Share {
	shares, current, all := make([]Share, len(weights)), make([]int, len(weights)), 0
	for _, w := range weights {
		all += w
	}
	for turn := range all {
		for i, w := range weights {
			current[i] += w
		}
		next := slices.Index(current, slices.Max(current))
		current[next] -= all
		shares[next].Turns = append(shares[next].Turns, turn)
	}
	for i := range shares {
		shares[i].Of = all
	}
	return shares
}

// Whole reports whether the share is all.
func (s Share) Whole() bool { return s.Of == 0 }

// Has reports whether a thing is in the share.
func (s Share) Has(number int64) bool {
	return s.Whole() || slices.Contains(s.Turns, int(number%int64(s.Of)))
}

// Number returns the number of the thing that is the share's own i-th, from 0.
func (s Share) Number(i int64) int64 {
	if s.Whole() {
		return i
	}
	n := int64(len(s.Turns))
	return i/n*int64(s.Of) + int64(s.Turns[i%n])
}

// From returns the share of things that are counted from the n-th of these on, which is number 0 then.
func (s Share) From(n int64) Share {
	if s.Whole() {
		return s
	}
	turns := make([]int, len(s.Turns))
	for i, turn := range s.Turns {
		turns[i] = int(((int64(turn)-n)%int64(s.Of) + int64(s.Of)) % int64(s.Of))
	}
	slices.Sort(turns)
	return Share{Turns: turns, Of: s.Of}
}

// Among returns the share of what is distributed in turn to n things: what those in the share get. n is
// positive; the share is empty if no thing is in it.
func (s Share) Among(n int) Share {
	if s.Whole() {
		return s
	}
	among := Share{Of: n}
	for i := range s.Count(int64(n)) {
		among.Turns = append(among.Turns, int(s.Number(i)))
	}
	return among
}

// Count returns how many of the first n things are in the share.
func (s Share) Count(n int64) int64 {
	if s.Whole() {
		return n
	}
	count := n / int64(s.Of) * int64(len(s.Turns))
	for _, turn := range s.Turns {
		if int64(turn) < n%int64(s.Of) {
			count++
		}
	}
	return count
}
