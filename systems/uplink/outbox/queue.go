package outbox

import (
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// An entry is a message in the outbox. It either waits, in the outbox's list and
// in the queue of its lane, or a connection holds it.
type entry struct {
	uplink      *message.Uplink
	lane        *device       // of the first candidate
	others      []*device     // of the further ones
	order       node          // among all that wait, or those that the connection holds
	turn        node          // among those of the lane that wait
	conn        *Conn         // that holds it; nil: it waits
	transaction uint64        // 0: it was never sent
	rank        int64         // its place among those that wait
	since       time.Duration // when it was put or, once sent, sent first
	sent        time.Duration // when it was sent last
	bytes       int
	size        uint16 // of the challenge, once sent
	addressed   bool   // addr counts
	guest       bool   // no candidate is known to have proved itself at addr
	addr        lorawan.DevAddr
}

const (
	micLen = 4
	// overhead is about what a message takes in memory in addition to its frame: the
	// entry, its place in the map, the uplink and its radio block.
	overhead = 512
	// maxFree limits the entries kept for reuse.
	maxFree = 4096
)

// candidates are the devices that could have sent the message.
func (e *entry) candidates(yield func(*device) bool) {
	if !yield(e.lane) {
		return
	}
	for _, d := range e.others {
		if !yield(d) {
			return
		}
	}
}

// dropSuspended takes suspended devices from the candidates of a message that is
// in no lane, unless it was sent, and reports whether any candidate is left.
func (e *entry) dropSuspended() bool {
	left, suspended := 0, 0
	for d := range e.candidates {
		if d.suspended {
			suspended++
		} else {
			left++
		}
	}
	if left == 0 || suspended == 0 || e.transaction != 0 {
		return left > 0
	}
	devices := make([]*device, 0, left)
	for d := range e.candidates {
		if !d.suspended {
			devices = append(devices, d)
		}
	}
	e.lane, e.others = devices[0], devices[1:]
	return true
}

func (o *Outbox) newEntry(m *Message, now time.Duration) *entry {
	var e *entry
	if n := len(o.free); n > 0 {
		e = o.free[n-1]
		o.free = o.free[:n-1]
	} else {
		e = &entry{}
		e.order.entry, e.turn.entry = e, e
	}
	e.uplink, e.since = m.Uplink, now
	if o.config.Trust.Start > MinChallenge {
		e.addr, e.addressed, e.guest = m.Addr, m.HasAddr, m.HasAddr && !m.Proven
	}
	e.bytes = overhead + len(m.Uplink.PHY) + 16*len(m.Candidates)
	e.lane = o.device(m.Candidates[0])
	if len(m.Candidates) > 1 {
		e.others = make([]*device, 0, len(m.Candidates)-1)
		for _, c := range m.Candidates[1:] {
			e.others = append(e.others, o.device(c))
		}
	}
	return e
}

func (o *Outbox) recycle(e *entry) {
	if len(o.free) >= maxFree {
		return
	}
	*e = entry{}
	e.order.entry, e.turn.entry = e, e
	o.free = append(o.free, e)
}

// A node is a message's place in a list.
type node struct {
	prev, next *node
	entry      *entry
}

// A list is a doubly linked list of messages.
type list struct {
	head, tail *node
}

func (l *list) pushBack(x *node) {
	x.prev, x.next = l.tail, nil
	if l.tail != nil {
		l.tail.next = x
	} else {
		l.head = x
	}
	l.tail = x
}

func (l *list) pushFront(x *node) {
	x.prev, x.next = nil, l.head
	if l.head != nil {
		l.head.prev = x
	} else {
		l.tail = x
	}
	l.head = x
}

func (l *list) remove(x *node) {
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		l.head = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	} else {
		l.tail = x.prev
	}
	x.prev, x.next = nil, nil
}
