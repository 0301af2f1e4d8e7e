package router

import (
	"context"
	"maps"
	"sync"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/stream"
	"contend/systems/uplink/table"
)

// defaultHeld is how many messages of one customer are held in memory: those of
// most of a second at full speed. Where nobody answers, the oldest unanswered
// ones beyond it are given up.
const defaultHeld = 50_000

// What the router holds, in multiples of what it may hold of one customer, so that customers who read
// slowly or do not answer do not keep it from reading for others. In flight are, in addition to what
// waits in memory and what is unanswered, uplinks whose copies are awaited, whose acknowledgement is
// on its way, and that wait for the streams of customers.
const (
	mostUnsent   = 2
	mostHeld     = 4
	mostInFlight = 7
)

// A customer is one whose messages pass through this instance.
type customer struct {
	box *outbox.Outbox

	// order is locked while uplinks are handed on, so that those of an address stay in their order. direct: they go
	// to the outbox; else by way of the stream in Redis, and all that it had before is older. aside asks for direct.
	order  sync.Mutex
	direct bool
	aside  chan struct{}

	// One downlink of all connections at a time has its target address stored in the table, and one is sent to Redis.
	storing, sending table.Turn
	// One reads its stream in Redis at a time, and gives back what is left.
	reading table.Turn

	mu          sync.Mutex
	sockets     int
	leave, back context.CancelFunc // ends the reading of its stream, and the waits before and after it
}

// customer returns the customer of a name, new where it is not known yet.
func (r *Router) customer(name string) *customer {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.customers[name]
	if c == nil {
		c = &customer{box: outbox.New(r.outboxConfig(name)), aside: make(chan struct{}, 1),
			storing: make(table.Turn, 1), sending: make(table.Turn, 1), reading: make(table.Turn, 1)}
		r.customers[name] = c
	}
	return c
}

// all returns the customers that are known, by name.
func (r *Router) all() map[string]*customer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.customers)
}

func (r *Router) outboxConfig(customer string) outbox.Config {
	trust := r.config.Trust
	trust.Initial = func(eui lorawan.EUI) outbox.Trust {
		saved := r.config.Table.Trust(eui)
		return outbox.Trust{Size: saved.Size, Proven: saved.Proven, HasProven: saved.HasProven}
	}
	trust.Exists = func(c outbox.Candidate) bool {
		row, ok := r.config.Table.ByDevEUI(c.DevEUI)
		return ok && row.Created == c.Created
	}
	return outbox.Config{
		Trust:       trust,
		MaxMessages: r.config.Held,
		Room:        &r.outboxes,
		Secret:      r.secret,
		Settled:     func(list []*message.Uplink, _ outbox.Outcome) { r.settled(list) },
		Solved:      r.solved,
		Suspended: func(s outbox.Suspension) {
			r.config.Log.Warn("a device is suspended until it is dropped and inserted again: too many wrong MICs in succession",
				"customer", customer, "DevEUI", s.DevEUI, "failures", s.Failures)
			r.chores.add(suspension(s.Candidate))
		},
	}
}

// deliver hands messages to the customer's connections here, or else leaves them
// in Redis for the instance that has, or will have, some.
func (r *Router) deliver(name string, messages []outbox.Message) {
	c := r.customer(name)
	c.order.Lock()
	defer c.order.Unlock()
	if c.direct && c.here() && !r.crowded(c) {
		r.put(c, messages)
		return
	}
	uplinks := make([]*message.Uplink, len(messages))
	for i, m := range messages {
		uplinks[i] = m.Uplink
	}
	r.detour(name, c, uplinks)
}

// detour leaves uplinks in the customer's stream, after those of the outbox that were not sent: further ones follow them
// there until it has been read up. c.order is locked.
func (r *Router) detour(name string, c *customer, uplinks []*message.Uplink) {
	if c.direct {
		c.direct = false
		uplinks = append(c.box.Withdraw(0), uplinks...)
	}
	r.intake.Forward(name, uplinks)
	c.wantDirect()
}

// wantDirect has straighten look.
func (c *customer) wantDirect() {
	select {
	case c.aside <- struct{}{}:
	default:
	}
}

// handOver leaves in Redis what was not sent, before partitions go to other instances, and after some have come from them.
func (r *Router) handOver() {
	sleep(r.working, r.dedup.longest(time.Now()))
	r.passDue()
	for name, c := range r.all() {
		r.leave(name, c, nil)
	}
}

const (
	// straightAgain is how long after an attempt to go straight the first other one is, and longestPause the last one.
	straightAgain = 20 * time.Millisecond
	longestPause  = 500 * time.Millisecond
	// retreatAgain is how long after a failure of Redis uplinks are given back again.
	retreatAgain = 500 * time.Millisecond
)

// straighten has what is new go to the outbox directly, whenever all that went by way of the stream was read.
func (r *Router) straighten(ctx context.Context, name string, c *customer) {
	caughtUp := func() (bool, error) { return r.intake.CaughtUp(ctx, name) }
	for pause := straightAgain; ctx.Err() == nil; {
		switch {
		case r.crowded(c):
			sleep(ctx, straightAgain)
		case c.straight(ctx, caughtUp):
			pause = straightAgain
			select {
			case <-c.aside:
			case <-ctx.Done():
			}
		default:
			sleep(ctx, pause)
			pause = min(2*pause, longestPause)
		}
	}
}

// straight has messages bypass the stream, if what is in it is read in a moment. Holding the order holds up other
// customers, so the server of this one's stream has to have answered just before, and is not asked again if it does not.
func (c *customer) straight(ctx context.Context, caughtUp func() (bool, error)) bool {
	c.order.Lock()
	direct := c.direct
	c.order.Unlock()
	if !direct {
		if _, err := caughtUp(); err != nil {
			return false
		}
	}
	c.order.Lock()
	defer c.order.Unlock()
	for attempt := 0; attempt < 5 && !c.direct; attempt++ {
		var err error
		if c.direct, err = caughtUp(); err != nil {
			return false
		}
		if !c.direct {
			sleep(ctx, time.Millisecond)
		}
	}
	return c.direct
}

// retreat gives back what was not sent to the last connection of a customer. What it was sent and did not answer
// stays for the same connection to come back, until the customer is at another router, or for a while. Then what came by way
// of the stream is given back, as it is still there, and the rest is written to the end of the stream.
func (r *Router) retreat(away context.Context, name string, c *customer) {
	r.leave(name, c, nil)
	if r.config.Redis.Embedded() {
		return // which nobody else reads
	}
	r.giveBack(name, c.box.WithdrawForwarded())
	for end := time.Now().Add(r.config.Hold); away.Err() == nil && c.box.Sent() > 0 && time.Now().Before(end); sleep(away, lookAgain) {
		if _, here, somewhere := r.intake.Holder(name); somewhere && !here {
			break
		}
	}
	if away.Err() != nil {
		return
	}
	var forwarded, others []*message.Uplink
	for _, u := range c.box.WithdrawLost() {
		if u.Origin.Partition < 0 {
			forwarded = append(forwarded, u)
		} else {
			others = append(others, u)
		}
	}
	r.leave(name, c, others)
	r.giveBack(name, forwarded)
}

// giveBack leaves uplinks in the customer's stream that came from there, again and again while Redis is away. The end of the
// router ends that, and the uplinks come again to the next one.
func (r *Router) giveBack(name string, uplinks []*message.Uplink) {
	for r.working.Err() == nil {
		err := r.intake.Retreat(r.working, name, uplinks)
		if err == nil {
			return
		}
		r.config.Log.Warn("uplinks wait for Redis", "customer", name, "uplinks", len(uplinks), "error", err)
		sleep(r.working, retreatAgain)
	}
}

// leave leaves uplinks in the customer's stream, after those that were not sent.
func (r *Router) leave(name string, c *customer, uplinks []*message.Uplink) {
	c.order.Lock()
	defer c.order.Unlock()
	r.detour(name, c, uplinks)
}

// lookAgain is how often it is looked whether a customer is at another router.
const lookAgain = time.Second

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// crowded reports whether so many messages wait to be sent that further ones should wait in
// Redis: more than need to, or more than there are places left for the others. A
// customer with none may always have some.
func (r *Router) crowded(c *customer) bool { return r.fills(c, 1) }

// fills reports whether so many times as many as wait would be too many.
func (r *Router) fills(c *customer, times int) bool {
	waiting, left := c.box.Waiting(), mostUnsent*r.config.Held-r.outboxes.Unsent()
	return waiting > 0 && times*waiting >= min(r.config.Held*2/5, left)
}

// put hands messages to the customer's connections. Where the outboxes then hold too
// many, whoever has left most unanswered gives up the oldest of these, which were
// delivered: so nobody has less than an equal share.
func (r *Router) put(c *customer, messages []outbox.Message) {
	c.box.Put(messages)
	for over := r.tooMany(); over > 0; over = r.tooMany() {
		var worst *outbox.Outbox
		most := 0
		for _, c := range r.all() {
			if n := c.box.Sent(); n > most {
				worst, most = c.box, n
			}
		}
		if worst == nil || worst.GiveUp(over, 0) == 0 {
			return
		}
	}
}

// stale is how long a message may be in memory while Redis has little left: its entry keeps its neighbours in Redis.
const stale = 5 * time.Second

// relieve lets go of what customers keep in the partitions of a Redis that is nearly full: what they do not answer is
// given up, and what they do not read goes to their own streams, which have their share.
func (r *Router) relieve() {
	for name, c := range r.all() {
		c.box.GiveUp(mostHeld*r.config.Held, stale)
		c.order.Lock()
		if unread := c.box.Withdraw(stale); len(unread) > 0 {
			c.direct = false
			r.detour(name, c, append(unread, c.box.Withdraw(0)...))
		}
		c.order.Unlock()
	}
}

func (r *Router) tooMany() int { return r.outboxes.Held() - mostHeld*r.config.Held }

func (c *customer) here() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sockets > 0
}

// opened begins to read the customer's stream with the first connection.
func (r *Router) opened(name string, kind stream.Kind) {
	if kind == stream.Downstream {
		return
	}
	r.intake.Hold(name)
	c := r.customer(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sockets++; c.sockets > 1 {
		return
	}
	if c.back != nil {
		c.back()
	}
	present, leave := context.WithCancel(r.working)
	away, back := context.WithCancel(r.working)
	c.leave, c.back = leave, back
	r.receivers.Go(func() {
		defer back()
		_ = c.reading.Take(away, func() error { // if the next connection comes first, that one reads
			var straightening sync.WaitGroup
			straightening.Go(func() { r.straighten(present, name, c) })
			r.receive(present, name, c)
			straightening.Wait()
			r.retreat(away, name, c)
			return nil
		})
	})
}

// closed ends it with the last.
func (r *Router) closed(name string, kind stream.Kind) {
	if kind == stream.Downstream {
		return
	}
	r.intake.Release(name)
	c := r.customer(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sockets--; c.sockets == 0 {
		c.leave()
	}
}

// receive reads what waits for the customer in Redis, while the outbox has room. When that is used up, it begins again
// only when half is free, as each beginning asks Redis what this instance has in hand.
func (r *Router) receive(ctx context.Context, name string, c *customer) {
	for ctx.Err() == nil {
		if r.fills(c, 2) {
			sleep(ctx, 20*time.Millisecond)
			continue
		}
		reading, pause := context.WithCancel(ctx)
		err := r.intake.Receive(reading, name, func(uplinks []*message.Uplink) {
			r.received(name, c, uplinks)
			if r.crowded(c) {
				pause()
			}
		})
		pause()
		if err != nil {
			r.config.Log.Error("the customer's stream is not read", "customer", name, "error", err)
			return
		}
	}
}

// received puts what waited in Redis into the outbox. It is looked up anew which
// devices may have sent it: rows may have changed.
func (r *Router) received(name string, c *customer, uplinks []*message.Uplink) {
	var room [8]table.Row
	var lost []*message.Uplink
	r.clocks.date(uplinks, time.Now())
	messages := make([]outbox.Message, 0, len(uplinks))
	for _, u := range uplinks {
		rows, _ := r.rows(room[:0], u)
		m := newMessage(u)
		for _, row := range rows {
			if string(row.Customer) == name {
				addCandidate(&m, &row)
			}
		}
		if m.Candidates == nil {
			lost = append(lost, u)
			continue
		}
		u.Recipients.Store(1)
		messages = append(messages, m)
	}
	r.done(lost, unroutable)
	r.put(c, messages)
}
