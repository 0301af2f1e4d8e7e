package loop

import "iter"

// Await implements RoamerSlots.
func (k *connection) Await() {
	if s := k.slots[0]; s.busy {
		s.depart()
		s.away, s.awaits = true, true
	}
}

// Carry implements RoamerSlots.
func (k *connection) Carry(lane int) {
	l, to := k.loop, k.at(lane)
	to.carries = true
	var err error
	if to.state == closed {
		err = to.begin(to.lane.Start, 0)
	} else {
		l.aside = to.lane.Start(l.aside[:0], 0)
		err = to.write(l.aside)
	}
	if err != nil {
		l.fail(to, err)
	}
}

// Carries implements RoamerSlots.
func (k *connection) Carries() { k.carries = true }

// Carried implements RoamerSlots.
func (k *connection) Carried(lane int) {
	k.at(lane).carries = false
	if s := k.slots[0]; s.awaits {
		s.awaits = false
		k.loop.entering = append(k.loop.entering, s)
	}
}

// at returns the connection of a lane.
func (k *connection) at(lane int) *connection {
	l := k.loop
	for lane > len(k.others) {
		side := k.roamer.(Fan).Lane(1 + len(k.others))
		to := &connection{loop: l, id: int32(len(l.links) + len(l.lanes)), address: k.address, conversation: side, witness: side, lane: side}
		to.impatient, _ = side.(Impatient)
		k.others, l.lanes = append(k.others, to), append(l.lanes, to)
	}
	if lane == 0 {
		return k
	}
	return k.others[lane-1]
}

// drop has the lanes closed that still carry what an iteration sent that has ended: this connection after its turn,
// which may be now.
func (k *connection) drop() {
	for _, to := range k.others {
		if to.carries {
			to.carries = false
			to.close()
		}
	}
	if k.carries {
		k.carries = false
		k.Drain()
	}
}

// link returns the connection that events call by its id.
func (l *Loop) link(id int32) *connection {
	if i := int(id) - len(l.links); i >= 0 {
		return l.lanes[i]
	}
	return &l.links[id]
}

// connections are all, lanes too.
func (l *Loop) connections() iter.Seq[*connection] {
	return func(yield func(*connection) bool) {
		for i := range l.links {
			if !yield(&l.links[i]) {
				return
			}
		}
		for _, k := range l.lanes {
			if !yield(k) {
				return
			}
		}
	}
}
