// Package load drives a Target by a Plan and returns a Result.
//
// The engine knows no protocol. A Target makes virtual users (VUs); each VU
// performs one iteration at a time; the engine decides when each iteration is
// due, measures it, and accounts for every iteration it planned:
//
//	planned = completed + failed + errored + dropped + unfinished
package load

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"contend/errkind"
	"contend/failure"
)

// A Target is what is put under load. If it also implements io.Closer, Run
// does not close it: whoever opened the Target closes it.
type Target interface {
	// NewVU makes virtual user id, 0 ≤ id < Plan.VUs. It may be slow (dial,
	// handshake) and runs before the clock starts. It may be called
	// concurrently. If the VU implements io.Closer it is closed after the run.
	NewVU(ctx context.Context, id int) (VU, error)
}

// Opened is a target that was opened, or nothing: a nil pointer would look like a target.
func Opened[T Target](t T, err error) (Target, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// A LocalTarget runs in this process: what it costs is the generator's CPU, and
// what its VUs wait for each other is its own time, not the generator's.
type LocalTarget interface {
	Target
	Local()
}

// A Reacher is a Target that can check whether its server responds. Reach opens one
// connection as a VU would, its handshake included, sends no request, and closes it. An error
// has a kind (errkind.Of).
type Reacher interface {
	Target
	Reach(ctx context.Context) error
}

// reachLimit bounds Reach where no limit is given, and leastReach is its least: the timeout of an
// iteration on a connection that stays may be too short to open one.
const (
	reachLimit = 10 * time.Second
	leastReach = time.Second
)

// Reach checks whether the server of the named target responds, for at most limit (0: 10 s;
// a second at least). It returns nil for a target that is no Reacher.
func Reach(ctx context.Context, name string, target Target, limit time.Duration) error {
	r, ok := target.(Reacher)
	if !ok {
		return nil
	}
	limit = max(cmp.Or(limit, reachLimit), leastReach)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.Reach(ctx)
	if err == nil {
		return nil
	}
	facts := failure.Connecting(err)
	if errkind.Of(err) == errkind.Timeout {
		err = fmt.Errorf("no connection within %v: %w", limit, err)
		facts = failure.Failure{Kind: failure.Silent, Cause: err.Error()}
	}
	facts.Address = name
	return failure.About(fmt.Sprintf("cannot reach %s: ", name), err, facts)
}

// A VU is one simulated caller with its own state. One goroutine at a time
// calls Do, so a VU needs no locks of its own.
type VU interface {
	// Do performs one iteration. It returns an error when no valid answer
	// arrived; a wrong answer is an Outcome with Failed set and a nil error.
	// Do should be fast and should not allocate. It must return promptly once
	// ctx is done. After an error the VU must be ready for the next Do.
	Do(ctx context.Context) (Outcome, error)
}

// A TimeoutSetter is a VU that enforces the iteration timeout itself, which
// spares a context per iteration. SetTimeout is called before the first Do of
// each run; zero means no timeout. A Do that runs into it, connecting included,
// returns an error of kind Timeout, at the latest 10% after the timeout.
type TimeoutSetter interface {
	SetTimeout(d time.Duration)
}

// withTimeout bounds each iteration, by the VU itself where it can.
func withTimeout(vu VU, d time.Duration) VU {
	if setter, ok := vu.(TimeoutSetter); ok {
		setter.SetTimeout(d)
		return vu
	}
	if d == 0 {
		return vu
	}
	return boundedVU{vu, d}
}

// timedOut is the error of an iteration that took longer than limit.
func timedOut(limit time.Duration) error {
	return &errkind.Error{Kind: errkind.Timeout, Err: fmt.Errorf("no complete answer within %v", limit)}
}

type boundedVU struct {
	VU
	timeout time.Duration
}

func (b boundedVU) Do(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.VU.Do(ctx)
}

// An Outcome describes one iteration that got an answer.
type Outcome struct {
	// Status is the protocol's status (HTTP status, gRPC code), or 0.
	Status int
	// Failed marks a wrong answer: it is counted apart and never as throughput.
	Failed bool
	// Stray: bytes came that belong to no answer.
	Stray bool
	// Continued: 100 Continue came before the answer. The first byte is its.
	Continued bool
	// Check names the check that a failed answer broke; "" means its status.
	Check string
	// Expected are the statuses that were asked for in place of that of a failed answer,
	// as in "201 or 204"; "" where none were.
	Expected string
	// Detail is the beginning of a failed answer, for an example of each cause.
	// It is valid until the VU's next iteration.
	Detail []byte
	// Request names the request that was sent, if the target has several: they
	// are counted and timed apart.
	Request string
	// Ops is the number of operations done; 0 means 1. An in-process VU does
	// batches, because an increment is cheaper than reading the clock.
	Ops int64
	// BytesIn and BytesOut are bytes of the protocol as read and written, BodyIn
	// those of them that are content (HTTP: without header and chunk framing).
	BytesIn, BytesOut, BodyIn int64
	// Content is what a right answer says of itself; nil: the protocol does not tell.
	// It is valid until the VU's next iteration.
	Content *Content
	// Phases are the optional parts of the service time.
	Phases Phases
	// Resent is how often a request was sent again, because the server had closed the
	// connection, or refused the request, before any of its answer came.
	Resent int
	// Parted is how many answers a connection carried that was to be kept, and that the server ended with this one; 0: it did not.
	Parted int
	// Messages are the latencies of the single messages of a stream. They are
	// valid until the VU's next iteration.
	Messages []time.Duration
	// Flow is that of an iteration of several requests, also where it ended with an error; nil: it is of one.
	// It is valid until the VU's next iteration.
	Flow *Flow
}

// Phases are parts of one iteration's service time; zero means not measured.
type Phases struct {
	// Connect is the time to open a connection inside the iteration, name
	// resolution and handshakes included.
	Connect time.Duration
	// FirstByte is the time from the request's first byte written to the
	// answer's first byte read (over grpc-go, its first whole message). It is
	// measured in every iteration.
	FirstByte time.Duration
	// Exchange is the time from a ready connection to the complete answer, set
	// only where an iteration does more than that (connects, closes).
	Exchange time.Duration
}

// Func is a Target whose every VU calls the same function. The function must
// be safe for concurrent use.
type Func func(ctx context.Context) (Outcome, error)

var (
	_ Target = Func(nil)
	_ VU     = Func(nil)
)

// NewVU returns f itself.
func (f Func) NewVU(context.Context, int) (VU, error) { return f, nil }

// Do calls f.
func (f Func) Do(ctx context.Context) (Outcome, error) { return f(ctx) }
