package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"contend/errkind"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
)

const (
	// A read buffer starts small, so that ten thousand virtual users fit into
	// memory, and doubles while answers fill it, because large bodies cost
	// mainly the system calls that fetch them.
	minBuffer = 4 << 10
	maxBuffer = 256 << 10
	// idleCheck is how long after the start of the previous iteration a
	// connection is looked at before it is used. Servers keep idle connections
	// for seconds; looking costs a system call.
	idleCheck = 10 * time.Millisecond
)

// A vu is one virtual user with its connection.
type vu struct {
	target  *Target
	sender  *sender
	parser  parser
	buf     []byte
	timeout time.Duration
	// Times are offsets from epoch.
	epoch    time.Time
	lastUse  time.Duration
	deadline wire.Deadline
	began    time.Duration // when the answer's first byte was read

	watch wire.Watch
	mu    sync.Mutex // guards link between Do and interrupt
	link  *keptConn  // nil: not connected
}

var _ interface {
	load.VU
	load.TimeoutSetter
	io.Closer
} = (*vu)(nil)

func newVU(t *Target, s *sender) *vu {
	v := &vu{
		target: t,
		sender: s,
		parser: t.newParser(),
		buf:    make([]byte, minBuffer),
		epoch:  time.Now(),
	}
	v.watch.Interrupt = v.interrupt
	return v
}

func (v *vu) SetTimeout(d time.Duration) {
	v.timeout = d
	v.deadline = wire.Deadline{}
}

// Do sends a request and reads the answer.
func (v *vu) Do(ctx context.Context) (out load.Outcome, err error) {
	v.sender.next(&v.parser)
	if out, err = v.iterate(ctx); err != nil {
		out.Request = v.sender.request.name
	}
	return out, err
}

func (v *vu) iterate(ctx context.Context) (load.Outcome, error) {
	if v.watch.On(ctx) {
		v.deadline = wire.Deadline{} // the previous context may have left one in the past
	}
	start := time.Since(v.epoch)
	if v.link != nil && start-v.lastUse >= idleCheck && v.link.stale(&v.parser) {
		v.drop()
	}
	v.lastUse = start
	if v.link == nil {
		return v.connectAndExchange(ctx, start, start)
	}
	if err := v.setDeadline(ctx, start); err != nil {
		return load.Outcome{}, err
	}
	idle := v.link.used
	out, err := v.exchange(ctx)
	if err != nil {
		return v.resend(ctx, start, idle, err)
	}
	out.Phases.FirstByte = v.began - start
	if !v.reusable() {
		v.drop()
	}
	return out, nil
}

// resend sends the request of an iteration that began at start again on a new connection, if that is
// safe and either the idle connection was closed before any answer, or it delivered leftovers of an
// earlier one. Otherwise it returns err.
func (v *vu) resend(ctx context.Context, start time.Duration, idle bool, err error) (load.Outcome, error) {
	var leftover *loop.Leftover
	stale := idle && !v.parser.begun && errkind.IsLost(err)
	switch {
	case !stale && !errors.As(err, &leftover):
		return load.Outcome{}, err
	case v.sender.request.safe:
		out, err := v.connectAndExchange(ctx, start, time.Since(v.epoch))
		out.Resent = 1
		return out, err
	case stale:
		err = errkind.StaleError(err)
	}
	return load.Outcome{}, err
}

// connectAndExchange does an iteration that began at began on a new connection, and measures how long that takes.
func (v *vu) connectAndExchange(ctx context.Context, began, connectingSince time.Duration) (load.Outcome, error) {
	if err := v.connect(ctx, began); err != nil {
		return load.Outcome{}, err
	}
	connected := time.Since(v.epoch)
	if err := v.setDeadline(ctx, began); err != nil {
		return load.Outcome{}, err
	}
	out, err := v.exchange(ctx)
	if err != nil {
		return out, err
	}
	out.Phases = load.Phases{
		Connect:   connected - connectingSince,
		FirstByte: v.began - connected,
		Exchange:  time.Since(v.epoch) - connected,
	}
	if !v.target.keepAlive || !v.reusable() {
		v.drop()
	}
	return out, nil
}

// reusable reports whether the connection of a complete answer may carry another request.
func (v *vu) reusable() bool { return !v.link.broken && v.parser.reusable() }

// connect opens the connection of an iteration that began at start.
func (v *vu) connect(ctx context.Context, start time.Duration) error {
	limited := ctx
	if v.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, v.epoch.Add(start+v.timeout))
		defer cancel()
	}
	l, err := v.target.connect(limited)
	if err != nil {
		return wire.OrCancelled(ctx, "http", err)
	}
	v.mu.Lock()
	v.link = l
	v.mu.Unlock()
	v.deadline = wire.Deadline{}
	v.parser.renew()
	v.parser.reset()
	return nil
}

// exchange sends the request and reads the answer to its end.
func (v *vu) exchange(ctx context.Context) (load.Outcome, error) {
	n, err := v.link.exchange(v.sender.bytes(), v.buf)
	v.began = time.Since(v.epoch)
	in := int64(0)
	for {
		used, perr := v.parser.receive(v.buf[:n])
		in += int64(used)
		switch {
		case perr != nil:
			return v.fail(ctx, perr)
		case v.parser.done():
			return v.answer(in), nil
		case err != nil:
			return v.end(ctx, in, err)
		}
		if n == len(v.buf) && n < maxBuffer {
			v.buf = make([]byte, 2*n)
		}
		n, err = v.link.Read(v.buf)
		if !v.parser.begun {
			v.began = time.Since(v.epoch)
		}
	}
}

// answer turns a complete answer of in bytes into an Outcome.
func (v *vu) answer(in int64) (out load.Outcome) {
	v.target.judge(&out, v.sender, &v.parser, v.link, in)
	return out
}

// setDeadline moves the connection's deadline for an iteration that began at began.
func (v *vu) setDeadline(ctx context.Context, began time.Duration) error {
	at, moves := v.deadline.Next(v.epoch, began, v.timeout)
	if !moves {
		return nil
	}
	v.mu.Lock()
	err := ctx.Err() // if it is nil, interrupt is yet to come and overrules the deadline
	if err == nil {
		err = v.link.SetDeadline(at)
	}
	v.mu.Unlock()
	if err != nil {
		_, err = v.fail(ctx, err)
	}
	return err
}

// interrupt makes every read and write of the connection fail.
func (v *vu) interrupt() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.link != nil {
		_ = v.link.SetDeadline(time.Unix(1, 0)) // fails if the connection is closed, which is as good
	}
}

// end handles an error of the connection after in bytes of an answer.
func (v *vu) end(ctx context.Context, in int64, err error) (load.Outcome, error) {
	if err != io.EOF {
		return v.fail(ctx, err)
	}
	if err := v.parser.eof(); err != nil {
		return v.fail(ctx, fmt.Errorf("connection closed after %d bytes of an answer: %w", in, err))
	}
	return v.answer(in), nil
}

// fail drops the connection, whose state is unknown now.
func (v *vu) fail(ctx context.Context, err error) (load.Outcome, error) {
	v.abort()
	return load.Outcome{}, wire.OrCancelled(ctx, "http", err)
}

// drop closes the connection in an orderly manner.
func (v *vu) drop() { _ = v.detach().Close() }

// abort closes the connection without waiting for the peer.
func (v *vu) abort() { _ = v.detach().wire().Close() }

func (v *vu) detach() *keptConn {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.link
	v.link = nil
	return l
}

// Close closes the connection. It must not be called during Do.
func (v *vu) Close() error {
	v.watch.Off()
	if v.link == nil {
		return nil
	}
	v.drop()
	return nil
}
