package outbox

import (
	"sync/atomic"
	"time"

	"contend/systems/uplink/message"
)

// A Room counts what outboxes hold together, so that who fills them can share a limit
// among them. The zero value is empty. Its methods may be called concurrently.
type Room struct {
	held, sent atomic.Int64
}

// Held is how many messages are not settled.
func (r *Room) Held() int { return int(r.held.Load()) }

// Unsent is how many of them no connection ever had.
func (r *Room) Unsent() int { return int(r.held.Load() - r.sent.Load()) }

// Sent returns how many messages were sent and are not settled: a connection holds
// them, or lost them.
func (o *Outbox) Sent() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.sent)
}

// GiveUp drops the n messages that were sent first and are not settled, of those that were sent that
// long ago, or as many as there are, and returns how many those were.
func (o *Outbox) GiveUp(n int, age time.Duration) (given int) {
	o.locked(func(now time.Duration, out *settled) {
		for ; given < n && len(o.sent) > 0; given++ {
			e := o.oldestSent()
			if e.sent > now-age {
				return
			}
			o.settle(e, DroppedOverflow, out)
		}
	})
	return given
}

// Withdraw takes out the messages of an intake's partition that no connection ever had, and that have waited that
// long, and returns their uplinks in their order. They are not reported as settled: the caller finds them another place.
func (o *Outbox) Withdraw(age time.Duration) []*message.Uplink {
	now := o.now()
	return o.withdraw(func(e *entry) bool { return e.transaction == 0 && e.uplink.Origin.Partition >= 0 && e.since <= now-age })
}

// WithdrawForwarded does so with those that came by way of the customer's stream.
func (o *Outbox) WithdrawForwarded() []*message.Uplink {
	return o.withdraw(func(e *entry) bool { return e.transaction == 0 && e.uplink.Origin.Partition < 0 })
}

// WithdrawLost does so with those that connections had and lost. Later answers to them are unknown.
func (o *Outbox) WithdrawLost() []*message.Uplink {
	return o.withdraw(func(e *entry) bool {
		if e.transaction != 0 {
			o.unsend(e)
		}
		return e.transaction != 0
	})
}

func (o *Outbox) withdraw(wanted func(*entry) bool) (uplinks []*message.Uplink) {
	o.locked(func(time.Duration, *settled) {
		for at := o.waiting.head; at != nil; {
			e := at.entry
			at = at.next
			if wanted(e) {
				uplinks = append(uplinks, e.uplink)
				o.stats.Outcomes[Withdrawn]++
				o.detach(e)
				o.forget(e)
			}
		}
	})
	return uplinks
}

// oldestSent is the message that was sent first, of those that connections hold and
// of those that wait first in line since their connections were lost.
func (o *Outbox) oldestSent() *entry {
	oldest := o.oldestUnanswered()
	if head := o.waiting.head; head != nil && head.entry.transaction != 0 && (oldest == nil || head.entry.sent < oldest.sent) {
		return head.entry
	}
	return oldest
}
