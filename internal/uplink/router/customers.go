package router

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"contend/internal/uplink/message"
	"contend/internal/uplink/outbox"
	"contend/internal/uplink/stream"
	"contend/internal/uplink/table"
)

// defaultHeld is how many messages of one customer are held in memory: those of
// most of a second at full speed. Where nobody answers, the oldest unanswered
// ones beyond it are given up.
const defaultHeld = 50_000

// inFlight is how many uplinks the router holds in all, so that customers who
// read slowly do not keep it from reading for others: four of them, here.
func (c *Config) inFlight() int { return 5 * c.Held }

// A customer is one whose messages pass through this instance.
type customer struct {
	box *outbox.Outbox
	// spillAt is how many messages in the box may wait to be sent before further
	// ones wait in Redis.
	spillAt int

	mu      sync.Mutex
	sockets int
	leave   context.CancelFunc // ends the reading of its stream in Redis
	left    chan struct{}      // closed when it has ended
}

// customer returns the customer of a name, new where it is not known yet.
func (r *Router) customer(name string) *customer {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.customers[name]
	if c == nil {
		c = &customer{box: outbox.New(r.outboxConfig(name)), spillAt: r.config.Held * 2 / 5}
		r.customers[name] = c
	}
	return c
}

// all returns the customers that are known.
func (r *Router) all() []*customer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.customers))
}

func (r *Router) outboxConfig(customer string) outbox.Config {
	trust := r.config.Trust
	trust.Initial = r.config.Table.Trust
	return outbox.Config{
		Trust:       trust,
		MaxMessages: r.config.Held,
		Settled:     func(list []*message.Uplink, _ outbox.Outcome) { r.settled(list) },
		Solved:      r.solved,
		Suspended: func(s outbox.Suspension) {
			r.config.Log.Warn("a device failed too often and is suspended until it is dropped and inserted again",
				"customer", customer, "DevEUI", s.DevEUI, "failures", s.Failures, "last", s.Last)
			r.chores.add(suspension(s.Candidate))
		},
	}
}

// deliver hands messages to the customer's connections here, or else leaves them
// in Redis for the instance that has, or will have, some.
func (r *Router) deliver(name string, messages []outbox.Message) {
	c := r.customer(name)
	if c.here() && !c.crowded() {
		c.box.Put(messages)
		return
	}
	uplinks := make([]*message.Uplink, len(messages))
	for i, m := range messages {
		uplinks[i] = m.Uplink
	}
	if r.forward(name, uplinks) {
		r.settled(uplinks)
	}
}

// forwardAgain is how long after a failure of Redis uplinks are forwarded again.
const forwardAgain = 500 * time.Millisecond

// forward leaves uplinks in the customer's stream. While Redis is away nothing
// else could be read either, so it waits; the end of the router ends that, and the
// uplinks come again to the next one.
func (r *Router) forward(name string, uplinks []*message.Uplink) bool {
	for r.working.Err() == nil {
		err := r.intake.Forward(r.working, name, uplinks)
		if err == nil {
			return true
		}
		r.config.Log.Warn("uplinks wait for Redis", "customer", name, "uplinks", len(uplinks), "error", err)
		select {
		case <-time.After(forwardAgain):
		case <-r.working.Done():
		}
	}
	return false
}

// crowded says whether more messages wait to be sent than need to.
func (c *customer) crowded() bool { return c.box.Waiting() >= c.spillAt }

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
	var ctx context.Context
	ctx, c.leave = context.WithCancel(r.working)
	before, left := c.left, make(chan struct{})
	c.left = left
	r.receivers.Go(func() {
		defer close(left)
		if before != nil {
			<-before
		}
		r.receive(ctx, name, c)
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

// receive reads what waits for the customer in Redis, while the outbox has room.
func (r *Router) receive(ctx context.Context, name string, c *customer) {
	for ctx.Err() == nil {
		if c.crowded() {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		reading, pause := context.WithCancel(ctx)
		err := r.intake.Receive(reading, name, func(uplinks []*message.Uplink) {
			r.received(name, c, uplinks)
			if c.crowded() {
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
	messages := make([]outbox.Message, 0, len(uplinks))
	for _, u := range uplinks {
		rows, _ := r.rows(room[:0], u)
		m := outbox.Message{Uplink: u}
		for _, row := range rows {
			if string(row.Customer) == name {
				m.Candidates = append(m.Candidates, candidate(&row))
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
	c.box.Put(messages)
}
