// Package outbox delivers uplinks to one customer: each at least once, to one of
// its connections at a time, behind a MIC challenge whose length follows the
// trust that the customer earned for the device.
//
// It does no I/O: connections take messages from it and give it answers. A message is
// settled exactly once, when it needs no delivery any more, whatever the reason; until
// then its entry in the intake has to stay.
//
// Messages are delivered in the order of their arrival, except that a device with a long
// challenge has a limited number of unanswered messages: its further ones wait, and
// those of other devices pass.
//
// The vendor who published the challenge calls the procedure patent-pending.
package outbox

import (
	"context"
	"sync"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// A Message is an uplink for the customer, with its devices that could have sent
// it, at least one and none twice. Neither is changed after Put.
type Message struct {
	Uplink     *message.Uplink
	Candidates []Candidate
	// Addr is the address in the frame, if it has one. Devices of others may also have it.
	Addr    lorawan.DevAddr
	HasAddr bool
	// Proven: one of the candidates is known to have solved a challenge with Addr.
	Proven bool
}

// A Candidate is a device that could have sent an uplink.
type Candidate struct {
	DevEUI lorawan.EUI
	// Created tells the device's row from those that it had before. What is known of
	// a device is known of its row: of the next one nothing is.
	Created int64
}

// Config is how an outbox works. The zero value of each field has a meaning; the
// functions are called without a lock, from several goroutines at once, and may
// use the outbox, unless it says otherwise.
type Config struct {
	Trust TrustConfig
	// Deadline is how long a connection has for an answer; 0: 60 s. Clients that
	// wait for another copy of a frame answer after 20 s.
	Deadline time.Duration
	// MaxMessages and MaxBytes limit what is not settled; 0: 100 000 and 64 MiB.
	// Beyond them the oldest of those that wait is dropped, or of those that are
	// unanswered if they are more.
	MaxMessages, MaxBytes int
	// Room counts what this outbox holds, with others; nil: on its own.
	Room *Room
	// Secret is what challenges are drawn with; zero: one of its own. Outboxes of other
	// customers that may get the same frames have the same.
	Secret Secret
	// Settled, if set, is called with uplinks that need no further delivery, and
	// with why. The slice is valid during the call only.
	Settled func([]*message.Uplink, Outcome)
	// Solved, if set, is called with the device that sent an uplink, before Settled.
	Solved func(lorawan.EUI, *message.Uplink)
	// Suspended, if set, is called with a device that has too many wrong solutions. Nothing is
	// delivered for it any more until it comes with another row.
	Suspended func(Suspension)
}

// An Outbox holds the messages for one customer. Its methods may be called
// concurrently.
type Outbox struct {
	config Config
	start  time.Time
	key    challengeKey
	// settled holds values for locked to reuse.
	settled sync.Pool

	mu      sync.Mutex
	devices map[lorawan.EUI]*device
	sent    map[uint64]*entry // by transaction; what came back included
	waiting list
	ready   laneHeap
	guests  guests
	changed []*device // since the last Trust
	free    []*entry
	// first and last are the ranks of the ends of waiting.
	first, last int64
	// transaction is the last that was given. The first is the time in nanoseconds, so it repeats no number of an
	// earlier process.
	transaction uint64
	waits       int // messages in waiting
	unanswered  int
	bytes       int

	conns   []*Conn
	idle    []*Conn // waiting in Take, the longest first
	roused  int     // of those woken up, how many have not looked yet
	timer   *time.Timer
	alarm   time.Duration // when the timer fires; 0: it does not
	closed  bool
	drained chan struct{} // closed when there is nothing to wait for; nil: nobody waits
	stats   Stats
}

// New returns an empty outbox; Close ends it.
func New(config Config) *Outbox {
	config.setDefaults()
	o := &Outbox{
		config:  config,
		start:   time.Now(),
		devices: map[lorawan.EUI]*device{},
		guests:  newGuests(),
		sent:    map[uint64]*entry{},
		settled: sync.Pool{New: func() any { return new(settled) }},
	}
	if o.config.Secret == (Secret{}) {
		o.config.Secret = NewSecret()
	}
	o.key = newChallengeKey(o.config.Secret)
	if o.config.Room == nil {
		o.config.Room = new(Room)
	}
	o.transaction = uint64(o.start.UnixNano())
	return o
}

func (c *Config) setDefaults() {
	setDefault(&c.Deadline, time.Minute)
	setDefault(&c.MaxMessages, 100_000)
	setDefault(&c.MaxBytes, 64<<20)
	c.Trust.setDefaults()
}

func setDefault[T int | time.Duration](v *T, value T) {
	if *v <= 0 {
		*v = value
	}
}

// Put accepts messages for delivery. After Close it does nothing.
func (o *Outbox) Put(messages []Message) {
	o.locked(func(now time.Duration, out *settled) {
		for i := range messages {
			o.put(&messages[i], now, out)
		}
	})
}

// locked runs a step of the outbox, wakes up connections for which it made work,
// and then reports, unlocked, what it settled.
func (o *Outbox) locked(step func(now time.Duration, out *settled)) {
	out := o.settled.Get().(*settled)
	o.mu.Lock()
	if !o.closed {
		step(o.now(), out)
		o.rouse()
		o.notifyDrained()
	}
	o.mu.Unlock()
	out.report(&o.config)
	o.settled.Put(out)
}

// now is the time since the outbox was made, so that it is monotonic and small.
func (o *Outbox) now() time.Duration { return time.Since(o.start) }

func (o *Outbox) put(m *Message, now time.Duration, out *settled) {
	o.stats.Put++
	if len(m.Candidates) == 0 || len(m.Uplink.PHY) <= micLen {
		o.report(m.Uplink, DroppedInvalid, out)
		return
	}
	e := o.newEntry(m, now)
	o.bytes += e.bytes
	o.config.Room.held.Add(1)
	if !e.dropSuspended() {
		o.finish(e, DroppedSuspended, out)
		return
	}
	o.last++
	e.rank = o.last
	o.waiting.pushBack(&e.order)
	o.waits++
	e.lane.queue.pushBack(&e.turn)
	if e.lane.queue.head == &e.turn {
		o.headChanged(e.lane)
	}
	for o.waits+o.unanswered > o.config.MaxMessages || o.bytes > o.config.MaxBytes {
		o.settle(o.oldest(), DroppedOverflow, out)
	}
}

// oldest is the message to give up when there is no room. While more are
// unanswered than wait it is one of those: it was delivered, at least.
func (o *Outbox) oldest() *entry {
	if o.waits >= o.unanswered {
		return o.waiting.head.entry
	}
	return o.oldestUnanswered()
}

// oldestUnanswered is the first sent of the messages that connections hold; nil if
// they hold none.
func (o *Outbox) oldestUnanswered() *entry {
	var oldest *entry
	for _, c := range o.conns {
		if head := c.sent.head; head != nil && (oldest == nil || head.entry.sent < oldest.sent) {
			oldest = head.entry
		}
	}
	return oldest
}

// settle takes a message out of the outbox.
func (o *Outbox) settle(e *entry, outcome Outcome, out *settled) {
	o.detach(e)
	o.finish(e, outcome, out)
}

// finish reports and forgets a message that nothing refers to any more but its transaction.
func (o *Outbox) finish(e *entry, outcome Outcome, out *settled) {
	o.report(e.uplink, outcome, out)
	o.forget(e)
}

func (o *Outbox) forget(e *entry) {
	if e.transaction != 0 {
		delete(o.sent, e.transaction)
		o.config.Room.sent.Add(-1)
	}
	o.config.Room.held.Add(-1)
	o.bytes -= e.bytes
	o.recycle(e)
}

func (o *Outbox) report(u *message.Uplink, outcome Outcome, out *settled) {
	o.stats.Outcomes[outcome]++
	out.uplinks[outcome] = append(out.uplinks[outcome], u)
}

// detach takes a message from where it waits, or from the connection that holds
// it, and lets messages pass that had to wait for it.
func (o *Outbox) detach(e *entry) {
	held := e.conn != nil
	if held {
		e.conn.sent.remove(&e.order)
		e.conn = nil
		o.unanswered--
	} else {
		o.dequeue(e)
	}
	for d := range e.candidates {
		if held {
			d.unanswered--
		}
		if !d.full() {
			o.release(d)
		}
	}
}

// dequeue takes a message from where it waits.
func (o *Outbox) dequeue(e *entry) {
	o.waiting.remove(&e.order)
	o.waits--
	first := e.lane.queue.head == &e.turn
	e.lane.queue.remove(&e.turn)
	if first {
		o.headChanged(e.lane)
	}
}

// Drain waits until every message is settled, no connection is left, or ctx
// ends, and returns how many are not settled.
func (o *Outbox) Drain(ctx context.Context) int {
	for {
		o.mu.Lock()
		left, over := o.waits+o.unanswered, o.over()
		if o.drained == nil && !over {
			o.drained = make(chan struct{})
		}
		drained := o.drained
		o.mu.Unlock()
		if over {
			return left
		}
		select {
		case <-drained:
		case <-ctx.Done():
			return left
		}
	}
}

func (o *Outbox) over() bool {
	return o.closed || len(o.conns) == 0 || o.waits+o.unanswered == 0
}

func (o *Outbox) notifyDrained() {
	if o.drained != nil && o.over() {
		close(o.drained)
		o.drained = nil
	}
}

// Close ends the outbox: connections get ErrClosed, and what is not settled never
// will be.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
	}
	for _, c := range o.conns {
		close(c.done)
	}
	o.notifyDrained()
}
