package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"contend/systems/uplink/message"
)

const (
	keyCustomer = "ran:customer:" // and the customer
	// defaultBacklog is how many uplinks wait for a customer: a minute at 1700 per
	// second, and about 30 MB.
	defaultBacklog = 100_000
)

// Forward leaves uplinks for the stream of a customer, which is read by the instance that holds, or will hold, the
// socket. They are written in the background, in the order of the calls. Then they are safe in Redis, and
// IntakeConfig.Forwarded is called. Uplinks are dropped, and counted in Stats, if the customer's backlog or its share
// of the memory is used up, if its key is not a stream, or if too many wait for a server of a cluster that is away.
func (in *Intake) Forward(customer string, uplinks []*message.Uplink) {
	in.customer(customer).relay.add(uplinks)
}

// forward is one attempt to write uplinks to a customer's stream.
func (in *Intake) forward(ctx context.Context, s *source, uplinks []*message.Uplink) error {
	added, err := in.append(ctx, s, uplinks, func(waiting int64) (int, error) {
		return in.roomFor(ctx, s.customer(), waiting, uplinks)
	})
	if err != nil {
		return err
	}
	in.took(uplinks[:added])
	in.count.forwarded.Add(uint64(added))
	in.cfg.Forwarded(uplinks)
	return nil
}

// dropForwarded gives up uplinks that wait for a customer's stream.
func (in *Intake) dropForwarded(uplinks []*message.Uplink) {
	in.count.dropped.Add(uint64(len(uplinks)))
	in.cfg.Forwarded(uplinks)
}

// add writes uplinks to a stream, all together or none, also if Redis has no memory left: were some refused for a moment, those
// after them would come before them.
func (in *Intake) add(ctx context.Context, key string, uplinks []*message.Uplink) error {
	if len(uplinks) == 0 {
		return nil
	}
	var e encoder
	for _, u := range uplinks {
		at := len(e.args)
		e.args = append(e.args, "")
		e.forwarded(u)
		e.args[at] = strconv.Itoa(len(e.args) - at - 1)
	}
	return in.redis.write(ctx, in.redis.script(scriptAdd, key, e.args...))[0]
}

// forwarded adds the fields of an uplink that is passed on to a customer's stream.
func (e *encoder) forwarded(u *message.Uplink) {
	e.uplink(u, byFrame)
	e.uint(fieldArrived, u.Origin.Millis)
}

// ErrReceiving is the error of a second Receive for one customer.
var ErrReceiving = errors.New("queue: the customer's stream is being read already")

// Receive reads the stream of a customer until ctx ends, and then returns nil. It calls handle
// as Run does; Ack accepts these uplinks as well. handle must be quick: it is called for all
// customers in turn. What lost instances had in hand comes first.
func (in *Intake) Receive(ctx context.Context, customer string, handle func([]*message.Uplink)) error {
	s := in.customer(customer)
	s.mu.Lock()
	taken, ours := s.handle != nil, s.ours
	if !taken {
		s.handle, s.recover, s.ours = handle, true, true
	}
	s.mu.Unlock()
	if taken {
		return ErrReceiving
	}
	if ours {
		in.forwarded.update(func(list []*source) []*source { return append(list, s) })
	} else {
		in.arrive(s)
	}
	in.wakeKeeper() // it looks for what dead instances left
	select {
	case <-ctx.Done():
	case <-in.ctx.Done():
	}
	in.mu.Lock()
	delete(in.arriving, s)
	in.mu.Unlock()
	version := in.forwarded.update(func(list []*source) []*source {
		return slices.DeleteFunc(list, func(other *source) bool { return other == s })
	})
	for passed, changed := in.forwarded.hasPassed(version); !passed; passed, changed = in.forwarded.hasPassed(version) {
		<-changed
	}
	s.rest()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle = nil
	return nil
}

// customer returns the source of a customer's stream. It is kept for good,
// because its number is part of Origins.
func (in *Intake) customer(name string) *source {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := in.customers[name]
	if s == nil {
		s = newSource(keyCustomer+name, -1-len(in.byIndex))
		s.relay = in.relayTo(s, in.forward, in.dropForwarded)
		in.customers[name] = s
		in.byIndex = append(in.byIndex, s)
	}
	return s
}
