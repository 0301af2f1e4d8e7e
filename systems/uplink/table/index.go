package table

import (
	"slices"

	"contend/systems/uplink/lorawan"
)

// An entry is a row as the database holds it.
type entry struct {
	Row
	details *string
	trust   uint16
}

// A record is an entry in the index, without pointers: the garbage collector does
// not look at ten million of them. Rows are numbered from 1.
type record struct {
	eui, join      uint64
	created        int64
	addrs          [2]uint32 // active, target
	next, previous [2]uint32 // links of the chains of addrs
	customer       uint32
	proven         uint32
	trust          uint16
	flags          uint8
	_              [5]byte // 64 bytes: a look-up waits for one cache line
}

// The flags of a record. hasAddr and the one after it go with addrs.
const (
	hasAddr uint8 = 1 << iota
	hasTarget
	hasJoin
	suspended
	live
	hasProven
)

const (
	// pageRows is how many records make a page of 256 KiB.
	pageRows = 4096
	// maxPages is how many pages are allocated at a time at most.
	maxPages = 64
)

// A customer is what the index knows of one.
type customer struct {
	name    Customer
	order   ordered
	pending int // inserts on their way to the database
}

// An index holds all rows, by DevEUI, by address and by customer.
//
// Rows that share an address form a doubly linked chain, whose head is in the hash
// table: any number of devices may share an address without making it slower to add
// or remove another. A link is 2 × row + 0 for the active address, + 1 for the
// target address.
type index struct {
	readers
	mix       mixer
	pages     []*[pageRows]record
	rows      uint32 // numbers given so far
	free      uint32 // head of the unused ones, linked by next[0]
	byEUI     hashes
	byAddr    hashes
	customers []*customer
	known     map[Customer]uint32
	details   map[uint32]string
	len       int
	// touched holds what was written since a reload began; nil: none is running.
	touched map[lorawan.EUI]struct{}
}

func newIndex() *index {
	return &index{mix: newMixer(), known: map[Customer]uint32{}, details: map[uint32]string{}}
}

func (x *index) record(row uint32) *record {
	return &x.pages[(row-1)/pageRows][(row-1)%pageRows]
}

// find returns the row number of a device, 0 if it is not known.
func (x *index) find(eui lorawan.EUI, hash uint32) uint32 {
	return x.byEUI.find(hash, func(row uint32) bool { return x.record(row).eui == uint64(eui) })
}

func (x *index) rank(row uint32) rank {
	r := x.record(row)
	return rank{r.created, r.eui}
}

// byDevEUI looks up a device.
func (x *index) byDevEUI(eui lorawan.EUI) (Row, bool) {
	hash := x.mix.eui(uint64(eui))
	defer x.read(hash).RUnlock()
	row := x.find(eui, hash)
	if row == 0 {
		return Row{}, false
	}
	return x.row(x.record(row)), true
}

// trustOf returns what was saved of a device's challenges, with the size 0 if nothing was.
func (x *index) trustOf(eui lorawan.EUI) Trust {
	hash := x.mix.eui(uint64(eui))
	defer x.read(hash).RUnlock()
	row := x.find(eui, hash)
	if row == 0 {
		return Trust{}
	}
	r := x.record(row)
	return Trust{eui, r.created, int(r.trust), lorawan.DevAddr(r.proven), r.flags&hasProven != 0}
}

// appendByAddr looks up an address.
func (x *index) appendByAddr(dst []Row, addr lorawan.DevAddr) []Row {
	hash := x.mix.addr(uint32(addr))
	defer x.read(hash).RUnlock()
	for link := x.head(hash); link != 0; {
		r := x.record(link / 2)
		dst = append(dst, x.row(r))
		link = r.next[link%2]
	}
	return dst
}

// others counts a customer's devices at an address, except one.
func (x *index) others(c Customer, eui lorawan.EUI, addr lorawan.DevAddr) (n int) {
	hash := x.mix.addr(uint32(addr))
	defer x.read(hash).RUnlock()
	id, ok := x.known[c]
	for link := x.head(hash); ok && link != 0; {
		r := x.record(link / 2)
		if r.customer == id && r.eui != uint64(eui) {
			n++
		}
		link = r.next[link%2]
	}
	return n
}

func (x *index) head(hash uint32) uint32 {
	return x.byAddr.find(hash, func(uint32) bool { return true })
}

// warm has the processor fetch what ByAddr will read, first all slots of the hash
// table and then all rows: it waits for many of them at a time, where look-ups one
// by one wait for each. The sum keeps the compiler from leaving the reading out.
func (x *index) warm(addrs []lorawan.DevAddr) (sum uint32) {
	var hashes [batchRows]uint32
	for batch := range slices.Chunk(addrs, batchRows) {
		lock := x.read(0)
		for i, addr := range batch {
			hashes[i] = x.mix.addr(uint32(addr))
			sum += x.byAddr.touch(hashes[i])
		}
		for _, hash := range hashes[:len(batch)] {
			if link := x.head(hash); link != 0 {
				sum += x.record(link / 2).customer
			}
		}
		lock.RUnlock()
	}
	return sum
}

func (x *index) row(r *record) Row {
	return Row{
		Customer:  x.customers[r.customer].name,
		DevEUI:    lorawan.EUI(r.eui),
		JoinEUI:   lorawan.EUI(r.join),
		Active:    lorawan.DevAddr(r.addrs[0]),
		Target:    lorawan.DevAddr(r.addrs[1]),
		Proven:    lorawan.DevAddr(r.proven),
		HasJoin:   r.flags&hasJoin != 0,
		HasActive: r.flags&hasAddr != 0,
		HasTarget: r.flags&hasTarget != 0,
		HasProven: r.flags&hasProven != 0,
		Suspended: r.flags&suspended != 0,
		Created:   r.created,
	}
}

func (x *index) entry(row uint32) entry {
	r := x.record(row)
	e := entry{Row: x.row(r), trust: r.trust}
	if details, ok := x.details[row]; ok {
		e.details = &details
	}
	return e
}

// customer returns the number of a customer, a new one if need be.
func (x *index) customer(name Customer) uint32 {
	id, ok := x.known[name]
	if !ok {
		id = uint32(len(x.customers))
		x.customers = append(x.customers, &customer{name: name})
		x.known[name] = id
	}
	return id
}

// put adds an entry or changes that of the same DevEUI. If that has another customer
// or moment of creation, it is replaced: the device was dropped in between.
func (x *index) put(e *entry) (row uint32, replaced bool) {
	hash := x.mix.eui(uint64(e.DevEUI))
	id := x.customer(e.Customer)
	row = x.find(e.DevEUI, hash)
	if row != 0 {
		r := x.record(row)
		replaced = r.customer != id || r.created != e.Created
	}
	if replaced {
		x.remove(e.DevEUI)
	}
	if row == 0 || replaced {
		row = x.newRow()
		*x.record(row) = record{eui: uint64(e.DevEUI), created: e.Created, customer: id, flags: live}
		x.byEUI.add(hash, row)
		x.customers[id].order.add(row, x.rank)
		x.len++
	}
	x.set(row, e)
	return row, replaced
}

// set changes what may change in an existing row.
func (x *index) set(row uint32, e *entry) {
	r := x.record(row)
	flags := live | bitIf(e.HasActive, hasAddr) | bitIf(e.HasTarget, hasTarget) | bitIf(e.HasJoin, hasJoin) |
		bitIf(e.Suspended, suspended) | bitIf(e.HasProven, hasProven)
	if addrs := [2]uint32{uint32(e.Active), uint32(e.Target)}; addrs != r.addrs || flags != r.flags {
		x.unlink(row)
		r.addrs, r.flags = addrs, flags
		x.link(row)
	}
	r.join, r.proven, r.trust = uint64(e.JoinEUI), uint32(e.Proven), e.trust
	if e.details != nil {
		x.details[row] = *e.details
	} else {
		delete(x.details, row)
	}
}

func bitIf(set bool, f uint8) uint8 {
	if set {
		return f
	}
	return 0
}

// remove takes out a device, if it is there.
func (x *index) remove(eui lorawan.EUI) {
	hash := x.mix.eui(uint64(eui))
	row := x.find(eui, hash)
	if row == 0 {
		return
	}
	r := x.record(row)
	x.unlink(row)
	x.customers[r.customer].order.remove(row, x.rank)
	x.byEUI.remove(hash, row)
	delete(x.details, row)
	*r = record{next: [2]uint32{x.free, 0}}
	x.free = row
	x.len--
}

func (x *index) newRow() uint32 {
	if row := x.free; row != 0 {
		x.free = x.record(row).next[0]
		return row
	}
	if int(x.rows) == len(x.pages)*pageRows {
		more := huge(make([][pageRows]record, max(1, min(len(x.pages), maxPages))))
		for i := range more {
			x.pages = append(x.pages, &more[i])
		}
	}
	x.rows++
	return x.rows
}

// linked reports whether the row is in the chain of its active (0) or target (1)
// address. If both are the same, it is there once.
func (r *record) linked(kind int) bool {
	if kind == 1 && r.flags&hasAddr != 0 && r.addrs[0] == r.addrs[1] {
		return false
	}
	return r.flags&(hasAddr<<kind) != 0
}

// link puts a row at the head of the chains of its addresses.
func (x *index) link(row uint32) {
	r := x.record(row)
	for kind := range r.addrs {
		if !r.linked(kind) {
			continue
		}
		link := 2*row + uint32(kind)
		hash := x.mix.addr(r.addrs[kind])
		head := x.head(hash)
		r.next[kind], r.previous[kind] = head, 0
		if head == 0 {
			x.byAddr.add(hash, link)
			continue
		}
		x.record(head / 2).previous[head%2] = link
		x.byAddr.replace(hash, head, link)
	}
}

// unlink undoes link.
func (x *index) unlink(row uint32) {
	r := x.record(row)
	for kind := range r.addrs {
		if !r.linked(kind) {
			continue
		}
		next, previous := r.next[kind], r.previous[kind]
		if next != 0 {
			x.record(next / 2).previous[next%2] = previous
		}
		link, hash := 2*row+uint32(kind), x.mix.addr(r.addrs[kind])
		switch {
		case previous != 0:
			x.record(previous / 2).next[previous%2] = next
		case next != 0:
			x.byAddr.replace(hash, link, next)
		default:
			x.byAddr.remove(hash, link)
		}
		r.next[kind], r.previous[kind] = 0, 0
	}
}
