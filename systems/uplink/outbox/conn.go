package outbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"contend/systems/uplink/message"
)

// ErrClosed is returned by Take after the connection, or the outbox, was closed.
var ErrClosed = errors.New("outbox: closed")

const (
	// outdated is the age from which an uplink is marked, as published.
	outdated = 2500 * time.Millisecond
	// maxEntries limits the challenges of one Take, which are up to 44 kB each
	// when written.
	maxEntries = 1 << 16
)

// A Conn is a connection of the customer. Take is called by one goroutine at a
// time, the other methods by any.
type Conn struct {
	o    *Outbox
	sent list // in order of sending
	wake chan struct{}
	done chan struct{} // closed with the connection
	// roused: the connection was woken up and has not looked yet.
	idle, roused, closed bool

	challenger challenger
	picked     []pick // by the Take under way
}

// A pick is what is needed to draw the challenge of a message.
type pick struct {
	size int
	phy  []byte
}

// Connect adds a connection; Close ends it.
func (o *Outbox) Connect() *Conn {
	c := &Conn{
		o:          o,
		wake:       make(chan struct{}, 1), // a wake-up that nobody waits for yet
		done:       make(chan struct{}),
		challenger: challenger{key: o.key},
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		c.closed = true
		close(c.done)
		return c
	}
	o.conns = append(o.conns, c)
	return c
}

// Take waits for messages and appends at least one and at most limit of them to dst: fewer if
// other connections also wait, or if challenges are long. The connection holds them
// until they are answered or their deadline passes. It reuses DevEUIs and challenges
// in the spare capacity of dst. Position and PHYNoMIC are shared: do not change them.
func (c *Conn) Take(ctx context.Context, dst []message.Upstream, limit int) ([]message.Upstream, error) {
	for {
		taken, err := c.take(dst, limit)
		if err != nil || len(taken) > len(dst) {
			return taken, err
		}
		select {
		case <-c.wake:
		case <-c.done:
		case <-ctx.Done():
			c.giveUp()
			return dst, ctx.Err()
		}
	}
}

// take takes what there is, or has the connection wait for more.
func (c *Conn) take(dst []message.Upstream, limit int) ([]message.Upstream, error) {
	first := len(dst)
	c.picked = c.picked[:0]
	c.o.locked(func(now time.Duration, out *settled) {
		c.stopWaiting()
		dst = c.pick(dst, limit, now, out)
		if len(dst) == first && !c.closed {
			c.idle = true
			c.o.idle = append(c.o.idle, c)
		}
	})
	for i, p := range c.picked {
		u := &dst[first+i]
		u.Challenge = c.challenger.draw(u.Challenge, p.size, p.phy)
	}
	select {
	case <-c.done: // and took back what was picked
		return dst[:first], ErrClosed
	default:
		return dst, nil
	}
}

// pick has the connection hold messages and appends them to dst, without their
// challenges.
func (c *Conn) pick(dst []message.Upstream, limit int, now time.Duration, out *settled) []message.Upstream {
	o := c.o
	if c.closed {
		return dst
	}
	before := time.Now().Add(-outdated) // as Heard; now is monotonic
	limit = min(max(1, limit), o.share())
	for entries := 0; len(c.picked) < limit && entries < maxEntries && len(o.ready) > 0; {
		lane := o.ready[0]
		e := lane.queue.head.entry
		if full := o.full(e); full != nil {
			o.standAside(lane, full)
			continue
		}
		o.dequeue(e)
		if !e.dropSuspended() {
			o.finish(e, DroppedSuspended, out)
			continue
		}
		if !o.admit(e, now) {
			o.finish(e, Withheld, out)
			continue
		}
		o.send(e, c, now)
		entries += int(e.size)
		dst = c.append(dst, e, before)
	}
	return dst
}

// share is how many messages a connection may take so that as many are left for
// each of the others that were woken up.
func (o *Outbox) share() int { return o.waits / (o.roused + 1) }

// full returns a candidate whose messages have to be answered first, if there is one.
func (o *Outbox) full(e *entry) *device {
	for d := range e.candidates {
		if d.full() {
			return d
		}
	}
	if o.undecided(e) {
		return e.lane
	}
	return nil
}

// send has a connection hold a message that is in no lane.
func (o *Outbox) send(e *entry, c *Conn, now time.Duration) {
	for d := range e.candidates {
		d.unanswered++
	}
	if e.transaction == 0 {
		o.draw(e)
		o.stats.Sent++
		o.stats.Wait.count(micros(now - e.since))
		o.stats.Challenges.count(uint64(e.size))
		e.since = now
	} else {
		o.stats.Redelivered++
	}
	e.conn, e.sent = c, now
	c.sent.pushBack(&e.order)
	o.unanswered++
	o.setAlarm(now + o.config.Deadline)
}

// draw gives a message its transaction and the length of its challenge: the
// longest of those of its candidates, and for a guest one of the address.
func (o *Outbox) draw(e *entry) {
	for d := range e.candidates {
		e.size = max(e.size, d.size)
	}
	if e.guest {
		e.size = max(e.size, o.strangers(e.addr))
	}
	o.transaction++
	e.transaction = o.transaction
	o.sent[e.transaction] = e
	o.config.Room.sent.Add(1)
}

// append appends a message to dst and notes what its challenge needs. It is
// outdated if it was heard before that time.
func (c *Conn) append(dst []message.Upstream, e *entry, before time.Time) []message.Upstream {
	if len(dst) < cap(dst) {
		dst = dst[:len(dst)+1]
	} else {
		dst = append(dst, message.Upstream{})
	}
	u, phy := &dst[len(dst)-1], e.uplink.PHY
	u.Transaction = e.transaction
	u.Outdated = e.uplink.Heard().Before(before)
	u.DevEUIs = u.DevEUIs[:0]
	for d := range e.candidates {
		u.DevEUIs = append(u.DevEUIs, d.DevEUI)
	}
	u.Radio = e.uplink.Radio
	u.Position = nil
	if !e.guest { // who needs it to solve nothing
		u.Position = e.uplink.Position
	}
	u.PHYNoMIC = phy[: len(phy)-micLen : len(phy)-micLen]
	u.Challenge = u.Challenge[:0]
	if cap(u.Challenge) > longChallenge && int(e.size) <= longChallenge {
		u.Challenge = nil // rather than keep 16 kB for each place of dst
	}
	c.picked = append(c.picked, pick{int(e.size), phy})
	return dst
}

// stopWaiting says that the connection is looking, or gave up.
func (c *Conn) stopWaiting() {
	if c.idle {
		c.idle = false
		c.o.idle = slices.DeleteFunc(c.o.idle, func(other *Conn) bool { return other == c })
	}
	if c.roused {
		c.roused = false
		c.o.roused--
	}
	select {
	case <-c.wake:
	default:
	}
}

// giveUp passes a wake-up on to another connection.
func (c *Conn) giveUp() {
	c.o.locked(func(time.Duration, *settled) { c.stopWaiting() })
}

// rouse wakes up connections that wait, in turn, while there is a message for
// each.
func (o *Outbox) rouse() {
	for len(o.idle) > 0 && len(o.ready) > 0 && o.roused < o.waits {
		c := o.idle[0]
		o.idle = slices.Delete(o.idle, 0, 1)
		c.idle, c.roused = false, true
		o.roused++
		c.wake <- struct{}{} // has room: whoever was roused or looked emptied it
	}
}

// Answer takes answers of the customer. They are valid on any of its connections,
// also after Close; those to what is settled are counted and ignored.
func (c *Conn) Answer(answers []message.Answer) {
	c.o.locked(func(now time.Duration, out *settled) {
		for i := range answers {
			c.o.answer(&answers[i], now, out)
		}
	})
}

// Close returns what the connection holds to the head of what waits, in order,
// to be delivered again with the same transactions and challenges. Calling it
// again does nothing.
func (c *Conn) Close() {
	c.o.locked(func(now time.Duration, out *settled) {
		if c.closed {
			return
		}
		c.closed = true
		close(c.done)
		c.stopWaiting()
		c.o.conns = slices.DeleteFunc(c.o.conns, func(other *Conn) bool { return other == c })
		for c.sent.tail != nil {
			c.o.takeBack(c.sent.tail.entry, now, out)
		}
	})
}

// lostFor is how long connections may lose a message, from its first delivery on, before it is given up.
const lostFor = 10 * time.Minute

func (o *Outbox) takeBack(e *entry, now time.Duration, out *settled) {
	if now-e.since > lostFor {
		o.settle(e, Expired, out)
		return
	}
	o.detach(e)
	o.first--
	e.rank = o.first
	o.waiting.pushFront(&e.order)
	o.waits++
	e.lane.queue.pushFront(&e.turn)
	o.headChanged(e.lane)
}
