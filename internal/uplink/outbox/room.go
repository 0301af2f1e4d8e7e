package outbox

import (
	"sync/atomic"
	"time"
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

// GiveUp drops the n messages that were sent first and are not settled, or as many as
// there are, and returns how many those were.
func (o *Outbox) GiveUp(n int) (given int) {
	o.locked(func(_ time.Duration, out *settled) {
		for ; given < n && len(o.sent) > 0; given++ {
			o.settle(o.oldestSent(), DroppedOverflow, out)
		}
	})
	return given
}

// oldestSent is the message that was sent first, of those that connections hold and
// of those that stand first among what waits since theirs were lost.
func (o *Outbox) oldestSent() *entry {
	oldest := o.oldestUnanswered()
	if head := o.waiting.head; head != nil && head.entry.transaction != 0 && (oldest == nil || head.entry.sent < oldest.sent) {
		return head.entry
	}
	return oldest
}
