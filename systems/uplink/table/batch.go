package table

import (
	"slices"

	"contend/systems/uplink/lorawan"
)

// batchRows is how many rows are written, or read, without giving way to others.
const batchRows = 256

// reserve makes room for one more device of a customer. What is in the table already
// needs none: the database will refuse it.
func (x *index) reserve(c Customer, eui lorawan.EUI, limit int) error {
	x.lock()
	defer x.unlock()
	owner := x.customers[x.customer(c)]
	if owner.order.len+owner.pending >= limit && x.find(eui, x.mix.eui(uint64(eui))) == 0 {
		return ErrDeviceLimit
	}
	owner.pending++
	return nil
}

func (x *index) unreserve(c Customer) {
	x.lock()
	defer x.unlock()
	x.customers[x.customer(c)].pending--
}

// putAll shows what was written. It returns the devices whose known row had another
// owner or moment of creation.
func (x *index) putAll(entries []entry) (replaced []lorawan.EUI) {
	for batch := range slices.Chunk(entries, batchRows) {
		x.lock()
		for i := range batch {
			if _, again := x.put(&batch[i]); again {
				replaced = append(replaced, batch[i].DevEUI)
			}
			x.touch(batch[i].DevEUI)
		}
		x.unlock()
	}
	return replaced
}

// removeAll takes out what was dropped.
func (x *index) removeAll(euis []lorawan.EUI) {
	for batch := range slices.Chunk(euis, batchRows) {
		x.lock()
		for _, e := range batch {
			x.remove(e)
			x.touch(e)
		}
		x.unlock()
	}
}

// touch keeps a reload from undoing a write that came after its reading.
func (x *index) touch(eui lorawan.EUI) {
	if x.touched != nil {
		x.touched[eui] = struct{}{}
	}
}

// A seen marks the rows that a reload read.
type seen []uint64

func (s *seen) add(row uint32) {
	for int(row/64) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[row/64] |= 1 << (row % 64)
}

func (s seen) has(row uint32) bool {
	return int(row/64) < len(s) && s[row/64]&(1<<(row%64)) != 0
}

// begin starts a reload. What is written after it wins over what the reload reads.
func (x *index) begin() {
	x.lock()
	defer x.unlock()
	x.touched = map[lorawan.EUI]struct{}{}
}

func (x *index) end() {
	x.lock()
	defer x.unlock()
	x.touched = nil
}

// merge puts in what a reload read.
func (x *index) merge(entries []entry, met *seen) {
	x.lock()
	defer x.unlock()
	for i := range entries {
		if _, ok := x.touched[entries[i].DevEUI]; !ok {
			row, _ := x.put(&entries[i])
			met.add(row)
		}
	}
}

// sweep takes out what a reload did not meet and returns the DevEUIs.
func (x *index) sweep(met seen) (gone []lorawan.EUI) {
	for row, more := uint32(1), true; more; {
		x.lock()
		for end := row + batchRows; row < end && row <= x.rows; row++ {
			r := x.record(row)
			eui := lorawan.EUI(r.eui)
			if _, ok := x.touched[eui]; r.flags&live != 0 && !met.has(row) && !ok {
				gone = append(gone, eui)
				x.remove(eui)
			}
		}
		more = row <= x.rows
		x.unlock()
	}
	return gone
}
