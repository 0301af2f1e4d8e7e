package table

import (
	"slices"

	"contend/internal/uplink/lorawan"
)

// A Filter chooses devices.
type Filter struct {
	DevEUIs []lorawan.EUI // empty: all
	Offset  int           // how many of those to leave out, from 0
	Limit   int           // how many to return at most; negative: all
}

// Select returns a customer's devices in order of their creation and then of their
// DevEUI. It reads memory in short steps, between which devices may come and go.
func (t *Table) Select(c Customer, f Filter) []Device {
	offset, limit := max(f.Offset, 0), f.Limit
	if limit < 0 {
		limit = t.index.count(c)
	}
	if len(f.DevEUIs) > 0 {
		found := t.index.chosen(c, f.DevEUIs)
		found = found[min(offset, len(found)):]
		return found[:min(limit, len(found))]
	}
	devices := make([]Device, 0, min(limit, max(0, t.index.count(c)-offset)))
	at := position{skip: offset}
	for more := true; more && len(devices) < limit; {
		devices, more = t.index.page(devices, c, &at, min(batchRows, limit-len(devices)))
	}
	return devices
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

// A position is where a customer's next devices are: behind a number of them, or,
// once some were read, behind the last.
type position struct {
	skip  int
	begun bool
	last  rank
}

// page appends at most n devices and says whether there may be more.
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
		at.begun, at.last = true, rank{e.created, uint64(e.DevEUI)}
	})
	return dst, len(dst) == before+n
}
