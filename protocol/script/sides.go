package script

import (
	"time"

	"contend/loop"
)

// Sides are the calls of a virtual user on an event loop that are in flight side by side.
type sides struct {
	lanes   []*lane
	queue   []*carried  // not sent yet
	open    int         // how many have no reply
	arrived []*carried  // replies that settle something, which the script has not seen yet
	wait    func() bool // reports whether the script can go on that waits for lanes; nil: it does not wait for any
}

// A carried is one of these calls.
type carried struct {
	call   *call
	among  *sharing     // those it shares a bound with; nil: it has no bound
	reply  *reply       // nil: it has not come
	settle func() error // what the reply has the script do; nil: the script waits for it
}

// A sharing bounds how many of some calls are in flight.
type sharing struct{ most, inFlight int }

var _ loop.Fan = (*conversation)(nil)

// Lane is one of the connections.
func (c *conversation) Lane(i int) loop.Lane { return c.sides.lanes[i] }

// takesAside reports whether lanes can carry a call.
func (c *conversation) takesAside(asked *call) bool {
	return c != nil && c.v.target.limit.every == 0 && c.takes(asked)
}

// owes reports whether there are calls whose replies the script has not seen.
func (c *conversation) owes() bool { return c != nil && c.sides.open+len(c.sides.arrived) > 0 }

// push has a call sent when the script waits.
func (c *conversation) push(one *carried) {
	c.sides.queue = append(c.sides.queue, one)
	c.sides.open++
}

// alongside sends a call while others are in flight, and waits for its reply.
func (c *conversation) alongside(asked *call) *reply {
	one := &carried{call: asked}
	c.push(one)
	if !c.until(func() bool { return one.reply != nil }) {
		return &reply{err: errEnded}
	}
	return one.reply
}

// together sends calls side by side, at most so many at a time, and waits for all replies.
func (c *conversation) together(asks []*ask, most int) []*reply {
	c.v.sendPromised()
	among := &sharing{most: most}
	all := make([]carried, len(asks))
	for i, a := range asks {
		all[i] = carried{call: &a.call, among: among}
		c.push(&all[i])
	}
	first := 0 // without a reply
	c.until(func() bool {
		for first < len(all) && all[first].reply != nil {
			first++
		}
		return first == len(all)
	})
	replies := make([]*reply, len(all))
	for i := range all {
		if replies[i] = all[i].reply; replies[i] == nil {
			replies[i] = &reply{err: errEnded}
		}
	}
	return replies
}

// next waits for a reply that settles something, and returns what it has the script do.
func (c *conversation) next() func() error {
	if !c.until(func() bool { return len(c.sides.arrived) > 0 }) {
		return func() error { return errEnded }
	}
	one := c.sides.arrived[0]
	c.sides.arrived = c.sides.arrived[1:]
	return one.settle
}

// until has the script wait for lanes; false: it is to end.
func (c *conversation) until(can func() bool) bool {
	return can() || c.strand.yield(step{lanes: can})
}

// await goes on with a script that waits for lanes, if it can.
func (c *conversation) await(out []byte, ends bool) []byte {
	if c.sides.wait() {
		c.sides.wait = nil
		return c.goOn(out, ends)
	}
	c.slots.Await()
	return c.flush(out, ends)
}

// flush sends what is queued and may be sent: over the loop's connection, unless that ends, and over others.
func (c *conversation) flush(out []byte, ends bool) []byte {
	for len(c.sides.queue) > 0 {
		one := c.sides.queue[0]
		if one.among != nil {
			if one.among.inFlight == one.among.most {
				break
			}
			one.among.inFlight++
		}
		c.sides.queue = c.sides.queue[1:]
		l := c.free(ends)
		l.asked, l.aside, l.marks = one.call, one, marks{began: time.Now()}
		if l.number == 0 {
			out = l.send(out, one.call)
			c.slots.Carries()
		} else {
			c.slots.Carry(l.number)
		}
	}
	return out
}

// free is a lane that carries nothing.
func (c *conversation) free(ends bool) *lane {
	for _, l := range c.sides.lanes {
		if l.asked == nil && (l.number > 0 || !ends) {
			return l
		}
	}
	l := &lane{c: c, number: len(c.sides.lanes)}
	c.sides.lanes = append(c.sides.lanes, l)
	return l
}

// bring hands over the reply to a call that is one of several.
func (l *lane) bring(r *reply) {
	c, one := l.c, l.aside
	l.aside, one.reply = nil, r
	c.sides.open--
	if one.among != nil {
		one.among.inFlight--
	}
	if one.settle != nil {
		c.sides.arrived = append(c.sides.arrived, one)
	}
	c.v.timers.nudge()
	c.slots.Carried(l.number)
}

// forget gives up all these calls; the loop closes their connections when the iteration ends.
func (c *conversation) forget() {
	if c == nil {
		return
	}
	for _, l := range c.sides.lanes {
		if l.aside != nil {
			l.asked, l.aside, l.again = nil, nil, false
		}
	}
	c.sides = sides{lanes: c.sides.lanes}
}
