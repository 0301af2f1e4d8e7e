package table

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// partBits is the base-2 logarithm of how many hash tables make up one. Each grows by
// itself, so that a write never waits for more than 1/32 of all rows to be put in new
// places: about 10 ms among ten million.
const partBits = 5

// A hashes maps 32-bit hash values to 32-bit numbers other than 0, by linear
// probing. Both are in the slots, so that growing looks at nothing else.
type hashes struct {
	parts [1 << partBits]struct {
		slots []uint64 // hash<<32 | number; 0: free. A power of two.
		used  int
	}
}

// find returns the first number stored with the hash for which match is true, or
// 0.
func (t *hashes) find(hash uint32, match func(number uint32) bool) uint32 {
	slots := t.parts[hash>>(32-partBits)].slots
	if len(slots) == 0 {
		return 0
	}
	mask := uint32(len(slots) - 1)
	for i := hash & mask; slots[i] != 0; i = (i + 1) & mask {
		if number := uint32(slots[i]); uint32(slots[i]>>32) == hash && match(number) {
			return number
		}
	}
	return 0
}

// touch reads the slot where looking for a hash begins.
func (t *hashes) touch(hash uint32) uint32 {
	slots := t.parts[hash>>(32-partBits)].slots
	if len(slots) == 0 {
		return 0
	}
	return uint32(slots[hash&uint32(len(slots)-1)])
}

// add stores a number. The same pair is not stored twice by the callers.
func (t *hashes) add(hash, number uint32) {
	p := &t.parts[hash>>(32-partBits)]
	if 4*(p.used+1) > 3*len(p.slots) {
		old := p.slots
		p.slots = huge(make([]uint64, max(4, 2*len(old))))
		for _, slot := range old {
			if slot != 0 {
				place(p.slots, slot)
			}
		}
	}
	place(p.slots, uint64(hash)<<32|uint64(number))
	p.used++
}

func place(slots []uint64, slot uint64) {
	mask := uint32(len(slots) - 1)
	i := uint32(slot>>32) & mask
	for slots[i] != 0 {
		i = (i + 1) & mask
	}
	slots[i] = slot
}

// at returns the index of a pair that is stored.
func (t *hashes) at(hash, number uint32) (slots []uint64, i uint32) {
	slots = t.parts[hash>>(32-partBits)].slots
	mask := uint32(len(slots) - 1)
	i = hash & mask
	for slots[i] != uint64(hash)<<32|uint64(number) {
		i = (i + 1) & mask
	}
	return slots, i
}

// replace overwrites a stored number with another.
func (t *hashes) replace(hash, old, number uint32) {
	slots, i := t.at(hash, old)
	slots[i] = uint64(hash)<<32 | uint64(number)
}

// remove takes out a pair that is stored, and moves what probing put after it.
func (t *hashes) remove(hash, number uint32) {
	slots, i := t.at(hash, number)
	mask := uint32(len(slots) - 1)
	for next := (i + 1) & mask; slots[next] != 0; next = (next + 1) & mask {
		home := uint32(slots[next]>>32) & mask
		if (next-home)&mask >= (next-i)&mask {
			slots[i] = slots[next]
			i = next
		}
	}
	slots[i] = 0
	t.parts[hash>>(32-partBits)].used--
}

// A mixer spreads keys over 32-bit hash values, by numbers drawn at the start, so
// that nobody can choose keys that collide.
type mixer struct{ xor, times uint64 }

func newMixer() mixer {
	var seed [16]byte
	_, _ = rand.Read(seed[:]) // never fails
	return mixer{binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:]) | 1}
}

// eui mixes 64 bits; two keys may have one hash value.
func (m mixer) eui(key uint64) uint32 {
	high, low := bits.Mul64(key^m.xor, m.times)
	return fold(uint32((high ^ low) >> 16))
}

// addr mixes 32 bits one to one: equal hash values are equal addresses.
func (m mixer) addr(key uint32) uint32 {
	return fold((key ^ uint32(m.xor)) * uint32(m.times))
}

// fold is one to one: every bit of the result depends on every bit of x. The
// numbers are those of the finaliser of MurmurHash3 (Appleby).
func fold(x uint32) uint32 {
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	return x ^ x>>16
}
