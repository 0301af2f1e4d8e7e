package table

import (
	"cmp"
	"slices"
	"sort"
)

// A rank is what the devices of a customer are ordered by.
type rank struct {
	created int64 // µs since the epoch
	eui     uint64
}

func (r rank) compare(other rank) int {
	return cmp.Or(cmp.Compare(r.created, other.created), cmp.Compare(r.eui, other.eui))
}

// next is the rank directly after r.
func (r rank) next() rank {
	if r.eui++; r.eui == 0 {
		r.created++
	}
	return r
}

// blockRows bounds what one insertion or removal moves.
const blockRows = 1024

// An ordered holds row numbers by rank, in blocks of at most blockRows. No block is
// empty.
type ordered struct {
	blocks [][]uint32
	len    int
}

// locate returns the first place whose rank is not below r; block is len(o.blocks)
// if all ranks are below it.
func (o *ordered) locate(r rank, of func(row uint32) rank) (block, i int) {
	block = sort.Search(len(o.blocks), func(b int) bool {
		rows := o.blocks[b]
		return of(rows[len(rows)-1]).compare(r) >= 0
	})
	if block == len(o.blocks) {
		return block, 0
	}
	rows := o.blocks[block]
	return block, sort.Search(len(rows), func(i int) bool { return of(rows[i]).compare(r) >= 0 })
}

// add puts a row in its place.
func (o *ordered) add(row uint32, of func(row uint32) rank) {
	o.len++
	block, i := o.locate(of(row), of)
	if block == len(o.blocks) {
		if block == 0 || len(o.blocks[block-1]) == blockRows {
			o.blocks = append(o.blocks, []uint32{row})
			return
		}
		o.blocks[block-1] = append(o.blocks[block-1], row)
		return
	}
	rows := o.blocks[block]
	if len(rows) == blockRows {
		half := slices.Clone(rows[blockRows/2:])
		o.blocks[block] = rows[:blockRows/2]
		o.blocks = slices.Insert(o.blocks, block+1, half)
		if i > blockRows/2 {
			block, i = block+1, i-blockRows/2
		}
	}
	o.blocks[block] = slices.Insert(o.blocks[block], i, row)
}

// remove takes out a row, which must be there with its rank.
func (o *ordered) remove(row uint32, of func(row uint32) rank) {
	o.len--
	block, i := o.locate(of(row), of)
	rows := slices.Delete(o.blocks[block], i, i+1)
	o.blocks[block] = rows
	switch {
	case len(rows) == 0:
		o.blocks = slices.Delete(o.blocks, block, block+1)
	case block+1 < len(o.blocks) && len(rows)+len(o.blocks[block+1]) <= blockRows/2:
		o.blocks[block] = slices.Concat(rows, o.blocks[block+1])
		o.blocks = slices.Delete(o.blocks, block+1, block+2)
	}
}

// skip returns the place after the first n.
func (o *ordered) skip(n int) (block, i int) {
	for block < len(o.blocks) && n >= len(o.blocks[block]) {
		n -= len(o.blocks[block])
		block++
	}
	return block, n
}

// take calls yield for at most n rows from a place on.
func (o *ordered) take(block, i, n int, yield func(row uint32)) {
	for ; block < len(o.blocks) && n > 0; block++ {
		rows := o.blocks[block][min(i, len(o.blocks[block])):]
		rows = rows[:min(n, len(rows))]
		for _, row := range rows {
			yield(row)
		}
		n -= len(rows)
		i = 0
	}
}
