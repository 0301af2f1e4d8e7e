package sink

import (
	"math/bits"

	"contend/systems/uplink/lorawan"
)

// An account keeps which uplinks of one device have arrived. The zero value has
// none. It takes a bit for each counter up to the highest.
type account struct {
	highest uint32
	end     uint32 // how many uplinks there were, at least, by the end marker; 0: not seen
	seen    []uint64
}

// An arrival says what an uplink was to its account.
type arrival uint8

const (
	inOrder    arrival = iota
	reordered          // the first copy, after an uplink with a higher counter
	duplicated         // not the first copy
)

// note books the uplink of a counter.
func (a *account) note(fcnt uint32) arrival {
	word, bit := int(fcnt/64), uint64(1)<<(fcnt%64)
	if word >= len(a.seen) {
		a.seen = append(a.seen, make([]uint64, word+1-len(a.seen))...)
	}
	if a.seen[word]&bit != 0 {
		return duplicated
	}
	a.seen[word] |= bit
	if fcnt < a.highest {
		return reordered
	}
	a.highest = fcnt
	return inOrder
}

// count returns how many uplinks have arrived, and how many counters are missing
// below the highest, or below the end marker's.
func (a *account) count() (arrived, missing int64) {
	for _, word := range a.seen {
		arrived += int64(bits.OnesCount64(word))
	}
	sent := int64(a.end)
	if arrived > 0 {
		sent = max(sent, int64(a.highest)+1)
	}
	return arrived, sent - arrived
}

// maxFresh is how many multiples of 65536 are tried for the first uplink of a
// device: a sink may come late to a session.
const maxFresh = 64

// candidate returns the full counter with these low 16 bits, at the n-th try from
// 0. Frames may be late, or up to 65536 of them lost: the next counter that ends
// in these bits is tried, the one before it and the one after, the nearest to the
// highest first.
func (a *account) candidate(low uint16, n int) (fcnt uint32, ok bool) {
	if len(a.seen) == 0 {
		return uint32(n)<<16 | uint32(low), n < maxFresh
	}
	const turn = 1 << 16
	next := lorawan.FullFCnt(a.highest, low)
	late := next >= turn && next-a.highest > turn/2
	switch {
	case n == 0 && late, n == 1 && !late && next >= turn:
		return next - turn, true
	case n == 0, n == 1 && late:
		return next, true
	}
	return next + turn, n == 2 || n == 1 && next < turn
}
