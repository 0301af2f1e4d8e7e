package outbox

import (
	"maps"
	"time"

	"contend/systems/uplink/lorawan"
)

// A customer is a guest at an address with which none of its devices has solved a
// challenge. The frames there may all be of another customer's device, as anybody may
// give a device any address. A guest gets the first of them, then one in so many, and
// at least one in so long: enough for a device of its own to prove itself among frames
// of others.
const (
	firstFrames = 20
	oneIn       = 10
	oneEvery    = time.Minute
	// maxOwed is how many right solutions wrong ones cost at most. Who guesses has one
	// attempt, with the chance of 1 in the length of the list: then it owes more than
	// it can guess.
	maxOwed = 3
	// maxPaid right solutions and one more are as many as it takes from the longest list to the shortest.
	maxPaid = 10
	// maxGuests bounds the addresses that are known of one customer. Those without a
	// frame for forget make room; where they do not suffice, what is beyond counts as
	// one address.
	maxGuests = 100_000
	forget    = time.Hour
)

// A guest is what is known of a customer at one address. It belongs to no device: who
// drops one and inserts it again, or inserts ten of them, gets no more.
type guest struct {
	last    time.Duration // when the last frame was sent
	first   uint8         // how many of the first frames were; more: those have been judged
	lost    uint8         // how many of them were, and count as not sent
	skipped uint8         // frames since the last that was sent
	owed    uint8         // right solutions that prove nothing
	paid    uint8         // and how many of those came
}

// admit reports whether the next frame is sent, once the first ones are answered.
func (g *guest) admit(now time.Duration) bool {
	if g.first < firstFrames {
		g.first++
	} else {
		g.first = firstFrames + 1
		if g.skipped < oneIn-1 && now-g.last < oneEvery {
			g.skipped++
			return false
		}
	}
	g.skipped, g.last = 0, now
	return true
}

// guests are the addresses at which the customer is a guest.
type guests struct {
	at     map[lorawan.DevAddr]guest
	others guest // all that at has no room for
	swept  time.Duration
}

func newGuests() guests {
	return guests{at: map[lorawan.DevAddr]guest{}, others: guest{first: firstFrames + 1}}
}

// change changes what is known of an address.
func (s *guests) change(addr lorawan.DevAddr, now time.Duration, do func(*guest)) {
	g, ok := s.at[addr]
	if !ok && !s.room(now) {
		do(&s.others)
		return
	}
	do(&g)
	s.at[addr] = g
}

// room reports whether one more address may be known, and makes room once in a while.
func (s *guests) room(now time.Duration) bool {
	if len(s.at) >= maxGuests && now-s.swept >= oneEvery {
		s.swept = now
		maps.DeleteFunc(s.at, func(_ lorawan.DevAddr, g guest) bool { return now-g.last >= forget })
	}
	return len(s.at) < maxGuests
}

// asGuest reports whether the customer gets a message as a guest: no candidate has proved
// itself at its address, as far as is known by now. What was sent stays what it was.
func (e *entry) asGuest() bool {
	if e.guest && e.transaction == 0 {
		for d := range e.candidates {
			if d.provenAt(e.addr) && !d.suspended {
				e.guest = false
			}
		}
	}
	return e.guest
}

// undecided says that a message has to wait for answers to the first frames at its
// address: with the first solution all are sent, so that a new device loses nothing.
func (o *Outbox) undecided(e *entry) bool {
	return e.transaction == 0 && e.asGuest() && o.guests.at[e.addr].first == firstFrames && e.lane.unanswered > 0
}

// admit reports whether a message that is in no lane is sent.
func (o *Outbox) admit(e *entry, now time.Duration) (admitted bool) {
	if e.transaction != 0 || !e.asGuest() {
		return true
	}
	o.guests.change(e.addr, now, func(g *guest) { admitted = g.admit(now) })
	return admitted
}

// unsend has one of the first frames count as not sent, because its connection was lost and it is put again. That holds for
// as many as there are of them: whoever goes away again and again would hear as many others each time.
func (o *Outbox) unsend(e *entry) {
	if g := o.guests.at[e.addr]; e.guest && 0 < g.first && g.first <= firstFrames && g.lost < firstFrames {
		g.first--
		g.lost++
		o.guests.at[e.addr] = g
	}
}

// prove notes that a device solved a message with an address. A message sent to a guest
// proves nothing while solutions are owed for wrong ones.
func (o *Outbox) prove(d *device, e *entry, now time.Duration) {
	if !e.addressed || d.provenAt(e.addr) {
		return
	}
	if e.guest {
		owed := false
		o.guests.change(e.addr, now, func(g *guest) {
			if owed = g.owed > 0; owed {
				g.owed--
				g.paid = min(g.paid+1, maxPaid)
			}
		})
		if owed {
			return
		}
		delete(o.guests.at, e.addr)
	}
	d.proven, d.hasProven, d.newProof = e.addr, true, true
	o.note(d)
}

// strangers is how long a guest's challenge is at least: as long as that of a new device that solved one, whatever its
// device solved at other addresses, since anybody may give a device that is trusted any address. What it solves here,
// as a guest, halves that.
func (o *Outbox) strangers(addr lorawan.DevAddr) uint16 {
	return clampSize(o.config.Trust.Start >> (1 + o.guests.at[addr].paid))
}

// owe counts a wrong solution of a message.
func (o *Outbox) owe(e *entry, now time.Duration) {
	if e.guest {
		o.guests.change(e.addr, now, func(g *guest) { g.owed = min(maxOwed, g.owed+1) })
	}
}

func (d *device) provenAt(addr lorawan.DevAddr) bool { return d.hasProven && d.proven == addr }
