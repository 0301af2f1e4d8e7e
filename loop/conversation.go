// Package loop drives many connections from one thread: non-blocking sockets,
// epoll, one timerfd. It knows no protocol; a Conversation does.
//
// TLS is crypto/tls on memory: the loop reads and writes the socket, and no
// call waits. Handshakes, which wait, have goroutines of their own; their time
// is part of Phases.Connect, and timeouts and the end of a run cut them off.
// Work of iterations outside their connections also has goroutines of its own.
package loop

import (
	"context"
	"net"
	"time"

	"contend/load"
)

// maxRepeats is how often an iteration is repeated that the peer did not
// process.
const maxRepeats = 2

// An Unprocessed error ends an iteration that the peer certainly did not
// process, so that its request may be sent again. If the conversation is a
// Repeater the iteration goes on: on a new connection if this one drains, with
// its due time and its start as they were, so that the wait is part of its
// service time. Repeated twice in vain it ends with Err.
type Unprocessed struct{ Err error }

func (e *Unprocessed) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Unprocessed) Unwrap() error { return e.Err }

// A Conversation is a protocol's side of one connection. It turns iterations
// into bytes and bytes into answers and does no I/O: the loop owns the socket,
// the buffers, the deadlines and the clock. Iterations are named by slots: a
// connection of HTTP/1.1 has the slot 0 only, one of HTTP/2 as many as it has
// streams at a time. A slot has at most one iteration in flight.
//
// All methods append the bytes to be sent to out and return it, are called by
// one goroutine, and should not allocate.
type Conversation interface {
	// Open begins a new connection and forgets the previous one. Its bytes go
	// before those of the first iteration (HTTP/2: the preface). It is not
	// called again while an iteration is in flight on the connection.
	Open(out []byte) []byte
	// Start begins the next iteration of a slot.
	Start(out []byte, slot int) []byte
	// Receive takes bytes that arrived, in pieces of any size; in is valid only
	// during the call, and empty when the peer has closed its side. It reports to
	// slots what it learns about iterations. An error means that the connection is
	// no longer usable: the loop closes it, and every iteration still in flight
	// ends with that error. On a close that comes between iterations it may return
	// nil or an error; one that comes within an iteration must end it by Slots.End
	// or return an error.
	Receive(out, in []byte, slots Slots) ([]byte, error)
}

// Slots learn what became of the iterations of a connection.
type Slots interface {
	// FirstByte says that the answer to the slot's iteration begins here.
	FirstByte(slot int)
	// End ends the slot's iteration: an answer arrived whole, or err says why no
	// answer will come on a connection that itself remains usable; then out is nil
	// or has what came before. The outcome's phases are the loop's to fill in.
	// Another iteration of the slot may be started before End returns to the loop,
	// but not before Receive does.
	End(slot int, out *load.Outcome, err error)
	// Drain says that no further iteration may start on this connection
	// (Connection: close, GOAWAY): it is closed when the last has ended.
	Drain()
}

// A Namer is a Conversation whose slots send requests of several names.
type Namer interface {
	Conversation
	// Name returns that of the request of the slot's iteration in flight, for
	// one that ends without an answer: load.Outcome.Request.
	Name(slot int) string
}

// A Repeater is a Conversation that can begin an iteration again, after an
// Unprocessed error, and where its connection was lost that had been idle.
type Repeater interface {
	Conversation
	// Repeat sends the request of the slot's latest iteration once more.
	Repeat(out []byte, slot int) []byte
	// Safe reports whether that may be sent again although the peer may have processed
	// it.
	Safe(slot int) bool
}

// A Leftover error ends a connection on which more of an earlier answer came
// instead of the next one.
type Leftover struct{ Err error }

func (e *Leftover) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Leftover) Unwrap() error { return e.Err }

// A Roamer is a Conversation whose iterations may leave their connection and
// come back, to it or to a new one: several requests with other things between
// them. The loop fills in none of the phases of their outcomes, and opens no
// connection before an iteration needs it.
//
// Start and Resume may end an iteration, or have it leave, at once. A connection
// that is closed is opened only for bytes: where they append none Open was called
// for nothing, and will be called again.
type Roamer interface {
	Conversation
	// Bind tells the slots, once, before anything else.
	Bind(slots RoamerSlots)
	// Resume goes on with the iteration of a slot that has left, or was lost. Its
	// bytes go to the connection, a new one if the former is closed.
	Resume(out []byte, slot int) []byte
	// Lost says that the connection of a slot's iteration failed with err, or
	// could not be opened. false ends the iteration with err; true has it go on
	// with Resume.
	Lost(slot int, err error) bool
	// Abandon says that a slot's iteration has ended otherwise than by End or
	// Lost: it ran into its timeout, or Drive ends. It is called by the goroutine
	// of Drive, when the iteration's work has returned.
	Abandon(slot int)
}

// A Witness is a Conversation that learns how far its bytes have come.
type Witness interface {
	Conversation
	// Opened reports the connection that the bytes wait for, and its peer.
	Opened(to net.Addr)
	// Written says that the system has taken all bytes.
	Written()
}

// A Fan is a Roamer with one slot whose iteration may send several requests at a
// time, each over a lane. Lane 0 is the Fan's own connection, the others are
// opened when they first carry something, and stay open for later iterations.
// When an iteration ends, the lanes that still carry something are closed.
type Fan interface {
	Roamer
	// Lane returns the protocol's side of a lane.
	Lane(i int) Lane
}

// A Lane is a protocol's side of one connection of a Fan. Of lane 0 only Lost and
// Start are called, since its connection is the Fan's. The slot of Start is 0, and
// it appends what the lane carries. Its methods are also called while the iteration
// is away, and may tell the Fan's slots what they carry.
type Lane interface {
	Witness
	// Lost says that the connection failed with err, or could not be opened, while
	// it carried something.
	Lost(err error)
}

// An Impatient is a Roamer, or a Lane, that gives up what it has sent when no
// answer comes in time.
type Impatient interface {
	// Patience returns for how long it still waits for an answer, or the error with
	// which it gives up: its connection is closed, and Lost gets that error. 0 and
	// nil say that it waits for none. A wait that begins with less than
	// LeastPatience may end that much late.
	Patience() (left time.Duration, gaveUp error)
}

// LeastPatience is after how long an Impatient is asked again.
const LeastPatience = time.Second

// RoamerSlots are the Slots of a Roamer, which may tell them things within Start,
// Resume, Receive and Skipped.
type RoamerSlots interface {
	Slots
	// Leave takes the slot's iteration from its connection, which stays open. work
	// runs in a goroutine of its own, at once; Resume follows when it has returned.
	// ctx ends when nothing will come of the iteration any more: work then has to
	// return soon, since the slot's next iteration and the end of Drive wait for
	// it. Until it returns no method is called for the slot, but Receive is if the
	// peer closes.
	//
	// Without work (nil) Resume follows as soon as the connection can be written
	// to, or another be opened: after Drain, or in Skipped.
	Leave(slot int, work func(ctx context.Context))

	// Await takes the iteration of a Fan from its connection, which stays open;
	// Resume follows a call of Carried.
	Await()
	// Carry has a lane of a Fan, which carries nothing, send what its Start
	// appends, lane 0 only within Lost.
	Carry(lane int)
	// Carries says that what the Fan appends to out is carried by lane 0.
	Carries()
	// Carried says that a lane carries nothing any more.
	Carried(lane int)
}

// A Skipper is a Conversation that need not see all bytes. Before each read
// the loop asks Skip how many of the next bytes are of no interest; it may drop
// up to that many in the kernel, and then says by Skipped how many it dropped.
type Skipper interface {
	Conversation
	Skip() int64
	Skipped(n int64, slots Slots)
}

// A Canceler is a Conversation that can give up one iteration and keep the
// connection (HTTP/2: RST_STREAM). Without it an iteration that runs into its
// timeout takes its connection with it.
type Canceler interface {
	Conversation
	Cancel(out []byte, slot int) []byte
}
