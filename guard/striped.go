package guard

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// cellsPerP makes it unlikely that two goroutines running at the same time meet
// in a cell: with 2 Ps one chance in 8.
const cellsPerP = 4

// striped spreads additions over cells. A goroutine stays with its cell as long
// as its stack does not move, so that the cell stays in one core's cache.
type striped struct {
	cells []cell
	shift uint8
}

type cell struct {
	value atomic.Int64
	_     pad
}

func newStriped() Adder {
	width := bits.Len(uint(cellsPerP*runtime.GOMAXPROCS(0) - 1))
	return &striped{cells: make([]cell, 1<<width), shift: uint8(64 - width)}
}

func (s *striped) Add(n int64) { s.cells[s.index()].value.Add(n) }

func (s *striped) Load() int64 {
	var sum int64
	for i := range s.cells {
		sum += s.cells[i].value.Load()
	}
	return sum
}

// index hashes the address of the goroutine's stack. The smallest stack is 2 KiB,
// hence the 11 bits that are dropped; the multiplier is 2^64 divided by the golden
// ratio (Knuth, "The Art of Computer Programming", vol. 3, section 6.4).
func (s *striped) index() uint64 {
	var onStack byte
	page := uint64(uintptr(unsafe.Pointer(&onStack))) >> 11
	return page * 0x9E3779B97F4A7C15 >> s.shift
}
