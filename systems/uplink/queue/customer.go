package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"contend/systems/uplink/message"
)

const (
	keyCustomer = "ran:customer:" // and the customer
	// defaultBacklog is how many uplinks wait for a customer: a minute at 1700 per
	// second, and some 30 MB.
	defaultBacklog = 100_000
)

// Forward writes uplinks to the stream of a customer, which the instance reads
// that holds, or will hold, the socket. After it returned nil they are safe in Redis
// and may be acknowledged here; but of a customer for whom a backlog waits already, or what takes
// its share of the memory, or whose key is no stream, further ones are dropped and counted in Stats.
func (in *Intake) Forward(ctx context.Context, customer string, uplinks []*message.Uplink) error {
	key := keyCustomer + customer
	added, err := in.append(ctx, "forwarding to "+customer, key, uplinks, func(waiting int64) (int, error) {
		return in.roomFor(ctx, customer, waiting, uplinks)
	})
	if err != nil {
		return fmt.Errorf("queue: forwarding to %s: %w", customer, err)
	}
	in.took(uplinks[:added])
	in.count.forwarded.Add(uint64(added))
	return nil
}

func (in *Intake) forward(ctx context.Context, key string, uplinks []*message.Uplink) (failed error) {
	var again []*message.Uplink
	for i, err := range in.redis.write(ctx, additions(in.redis.cmd, key, uplinks)...) {
		if isFull(err) {
			again = append(again, uplinks[i])
			continue
		}
		failed = cmp.Or(failed, err)
	}
	if failed != nil {
		return failed
	}
	return cmp.Or(in.redis.write(ctx, additions(in.redis.evenFull, key, again)...)...)
}

// additions are the commands that add uplinks to a stream.
func additions(cmd func(...string) rueidis.Completed, key string, uplinks []*message.Uplink) []rueidis.Completed {
	var e encoder
	cmds := make([]rueidis.Completed, len(uplinks))
	for i, u := range uplinks {
		e.args = append(e.args[:0], "XADD", key, "*")
		e.uplink(u, byFrame)
		e.uint(fieldArrived, u.Origin.Millis)
		cmds[i] = cmd(e.args...)
	}
	return cmds
}

// ErrReceiving is the error of a second Receive for one customer.
var ErrReceiving = errors.New("queue: the customer's stream is being read already")

// Receive reads the stream of a customer until ctx ends, and then returns nil.
// It calls handle as Run does; Ack takes these uplinks, too. handle must be quick:
// it is called for all customers in turn. What instances had in hand that are gone comes first.
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
		in.customers[name] = s
		in.byIndex = append(in.byIndex, s)
	}
	return s
}
