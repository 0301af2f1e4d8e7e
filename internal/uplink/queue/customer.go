package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/uplink/message"
)

const (
	keyCustomer = "ran:customer:" // and the customer
	// maxForwarded is about how many uplinks wait for a customer.
	maxForwarded = 100_000
	// forwardedFor is how long the uplinks of a customer are kept whom nothing is
	// forwarded to any more.
	forwardedFor = 10 * time.Minute
)

// Forward writes uplinks to the stream of a customer, which the instance reads
// that holds the socket. After it returned nil they are safe in Redis and may be
// acknowledged here. Of more than about 100 000 uplinks the oldest are dropped.
func (in *Intake) Forward(ctx context.Context, customer string, uplinks []*message.Uplink) error {
	var e encoder
	key := keyCustomer + customer
	limit := strconv.Itoa(maxForwarded)
	cmds := make([]rueidis.Completed, 0, len(uplinks)+1)
	for _, u := range uplinks {
		e.args = append(e.args[:0], key, "MAXLEN", "~", limit, "*")
		e.uplink(u)
		cmds = append(cmds, in.redis.client.B().Arbitrary("XADD").Args(e.args...).Build())
	}
	cmds = append(cmds, in.redis.cmd("PEXPIRE", key, strconv.FormatInt(forwardedFor.Milliseconds(), 10)))
	for _, reply := range in.redis.client.DoMulti(ctx, cmds...) {
		if err := reply.Error(); err != nil {
			return fmt.Errorf("queue: forwarding to %s: %w", customer, err)
		}
	}
	in.count.forwarded.Add(uint64(len(uplinks)))
	return nil
}

// ErrReceiving is the error of a second Receive for one customer.
var ErrReceiving = errors.New("queue: the customer's stream is being read already")

// Receive reads the stream of a customer until ctx ends, and then returns nil.
// It calls handle as Run does; Ack takes these uplinks, too. handle must be quick:
// it is called for all customers in turn.
func (in *Intake) Receive(ctx context.Context, customer string, handle func([]*message.Uplink)) error {
	s := in.customer(customer)
	s.mu.Lock()
	taken := s.handle != nil
	if !taken {
		s.handle, s.recover = handle, true
	}
	s.mu.Unlock()
	if taken {
		return ErrReceiving
	}
	in.forwarded.update(func(list []*source) []*source { return append(list, s) })
	in.wakeKeeper() // it looks for what dead instances left
	select {
	case <-ctx.Done():
	case <-in.ctx.Done():
	}
	version := in.forwarded.update(func(list []*source) []*source {
		return slices.DeleteFunc(list, func(other *source) bool { return other == s })
	})
	for passed, changed := in.forwarded.hasPassed(version); !passed; passed, changed = in.forwarded.hasPassed(version) {
		<-changed
	}
	s.busy.Wait()
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
		s = newSource(keyCustomer+name, -1-len(in.byIndex), nil)
		in.customers[name] = s
		in.byIndex = append(in.byIndex, s)
	}
	return s
}
