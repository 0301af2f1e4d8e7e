package outbox

import (
	"math/bits"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// An Outcome is what became of a message.
type Outcome uint8

// The outcomes.
const (
	Answered         Outcome = iota // acknowledged with the true MIC
	Rejected                        // rejected, or acknowledged with a wrong MIC or DevEUI
	Expired                         // no answer before the deadline, or from one connection after the other
	DroppedOverflow                 // the outbox was full
	DroppedSuspended                // all of its devices are suspended
	DroppedInvalid                  // no candidate, or only a MIC
	Withheld                        // of an address where the customer has proved nothing
	Withdrawn                       // taken out for another place; it is not reported
	// Outcomes is how many there are.
	Outcomes
)

func (o Outcome) String() string {
	return [...]string{"answered", "rejected", "expired", "dropped_overflow",
		"dropped_suspended", "dropped_invalid", "withheld", "withdrawn"}[o]
}

// Stats says what an outbox did, and what it holds. The counters only grow.
type Stats struct {
	Put               uint64           // messages
	Sent, Redelivered uint64           // first deliveries, and further ones
	Outcomes          [Outcomes]uint64 // of messages; their sum is Put less what is held

	// Answers, by kind. Unknown ones are late, given twice, or made up.
	RightMIC, WrongMIC, NotOffered, MICFailed, OtherRejects, Unknown uint64

	Suspensions uint64
	Challenges  Histogram // lengths at first delivery, in entries
	Wait        Histogram // from Put to the first delivery, in µs
	AnswerTime  Histogram // from the last delivery to the answer, in µs

	// What it holds now; Bytes is an estimate of the memory for messages.
	Waiting, Unanswered, Bytes, Devices, Connections int
}

// A Histogram counts values by their size: Counts[i] those that need i bits, from
// 2^(i-1) to 2^i - 1; the last bucket also counts all above.
type Histogram struct {
	Counts [32]uint64
	Sum    uint64
}

func (h *Histogram) count(v uint64) {
	h.Counts[min(bits.Len64(v), len(h.Counts)-1)]++
	h.Sum += v
}

// Stats returns a snapshot.
func (o *Outbox) Stats() Stats {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.stats
	s.Waiting, s.Unanswered, s.Bytes = o.waits, o.unanswered, o.bytes
	s.Devices, s.Connections = len(o.devices), len(o.conns)
	return s
}

// Waiting returns how many messages no connection holds, for less than Stats.
func (o *Outbox) Waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits
}

// settled collects what a step has to report once the outbox is unlocked.
type settled struct {
	uplinks   [Outcomes][]*message.Uplink
	solved    []solution
	suspended []Suspension
}

type solution struct {
	eui    lorawan.EUI
	uplink *message.Uplink
}

func micros(d time.Duration) uint64 { return uint64(max(0, d.Microseconds())) }

// report tells what was settled and prepares s for the next step.
func (s *settled) report(c *Config) {
	for _, solution := range s.solved {
		if c.Solved != nil {
			c.Solved(solution.eui, solution.uplink)
		}
	}
	for outcome, uplinks := range s.uplinks {
		if len(uplinks) > 0 && c.Settled != nil {
			c.Settled(uplinks, Outcome(outcome))
		}
		clear(uplinks)
		s.uplinks[outcome] = uplinks[:0]
	}
	for _, suspension := range s.suspended {
		if c.Suspended != nil {
			c.Suspended(suspension)
		}
	}
	clear(s.solved)
	s.solved, s.suspended = s.solved[:0], s.suspended[:0]
}
