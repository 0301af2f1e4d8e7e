package table

import (
	"iter"
	"math"
	"slices"

	"contend/systems/uplink/lorawan"
)

// A Filter chooses devices.
type Filter struct {
	DevEUIs []lorawan.EUI // empty: all
	Offset  int           // how many of those to leave out, from 0
	Limit   int           // how many to return at most; negative: all
}

// Select returns a customer's devices in order of their creation and then of their
// DevEUI.
func (t *Table) Select(c Customer, f Filter) []Device {
	size := t.index.count(c)
	if f.Limit >= 0 {
		size = min(size, f.Limit)
	}
	if len(f.DevEUIs) > 0 {
		size = min(size, len(f.DevEUIs))
	}
	return slices.AppendSeq(make([]Device, 0, size), t.Devices(c, f))
}

// Devices is Select for many devices: it holds few of them at a time. It reads memory
// in short steps, between which devices may come and go.
func (t *Table) Devices(c Customer, f Filter) iter.Seq[Device] {
	offset, limit := max(f.Offset, 0), f.Limit
	if limit < 0 {
		limit = math.MaxInt
	}
	return func(yield func(Device) bool) {
		if len(f.DevEUIs) > 0 {
			found := t.index.chosen(c, f.DevEUIs)
			found = found[min(offset, len(found)):]
			each(found[:min(limit, len(found))], yield)
			return
		}
		var page []Device
		at := position{skip: offset}
		for left, more := limit, true; more && left > 0; left -= len(page) {
			if page, more = t.index.page(page[:0], c, &at, min(batchRows, left)); !each(page, yield) {
				return
			}
		}
	}
}

func each(devices []Device, yield func(Device) bool) bool {
	for _, d := range devices {
		if !yield(d) {
			return false
		}
	}
	return true
}

// Len returns the number of devices of all customers.
func (t *Table) Len() int {
	defer t.index.read(0).RUnlock()
	return t.index.len
}

func (x *index) count(c Customer) int {
	defer x.read(0).RUnlock()
	if id, ok := x.known[c]; ok {
		return x.customers[id].order.len
	}
	return 0
}

// chosen returns the customer's devices among euis.
func (x *index) chosen(c Customer, euis []lorawan.EUI) []Device {
	euis = slices.Compact(slices.Sorted(slices.Values(euis)))
	devices := []Device{}
	for batch := range slices.Chunk(euis, batchRows) {
		lock := x.read(0)
		for _, eui := range batch {
			row := x.find(eui, x.mix.eui(uint64(eui)))
			if row == 0 {
				continue
			}
			if e := x.entry(row); e.Customer == c {
				devices = append(devices, e.device())
			}
		}
		lock.RUnlock()
	}
	slices.SortFunc(devices, func(a, b Device) int { return rankOf(a).compare(rankOf(b)) })
	return devices
}

func rankOf(d Device) rank { return rank{d.Created.UnixMicro(), uint64(d.DevEUI)} }

// A position is where a customer's next devices are: after a number of them, or,
// once some were read, after the last.
type position struct {
	skip  int
	begun bool
	last  rank
}

// page appends at most n devices and reports whether there may be more.
func (x *index) page(dst []Device, c Customer, at *position, n int) ([]Device, bool) {
	defer x.read(0).RUnlock()
	id, ok := x.known[c]
	if !ok {
		return dst, false
	}
	order := &x.customers[id].order
	var block, i int
	if at.begun {
		block, i = order.locate(at.last.next(), x.rank)
	} else {
		block, i = order.skip(at.skip)
	}
	before := len(dst)
	order.take(block, i, n, func(row uint32) {
		e := x.entry(row)
		dst = append(dst, e.device())
		at.begun, at.last = true, rank{e.Created, uint64(e.DevEUI)}
	})
	return dst, len(dst) == before+n
}
