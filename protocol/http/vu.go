package http

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"contend/load"
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
	if v.link != nil && start-v.lastUse >= idleCheck && v.link.stale() {
		v.drop()
	}
	v.lastUse = start
	if v.link == nil {
		return v.connectAndExchange(ctx, start)
	}
	if err := v.arm(ctx, start); err != nil {
		return load.Outcome{}, err
	}
	out, err := v.exchange(ctx)
	if err != nil {
		return out, err
	}
	out.Phases.FirstByte = v.began - start
	if !v.parser.reusable() {
		v.drop()
	}
	return out, nil
}

// connectAndExchange is an iteration that has to connect, and measures it.
func (v *vu) connectAndExchange(ctx context.Context, start time.Duration) (load.Outcome, error) {
	if err := v.connect(ctx); err != nil {
		return load.Outcome{}, err
	}
	connected := time.Since(v.epoch)
	if err := v.arm(ctx, start); err != nil {
		return load.Outcome{}, err
	}
	out, err := v.exchange(ctx)
	if err != nil {
		return out, err
	}
	out.Phases = load.Phases{
		Connect:   connected - start,
		FirstByte: v.began - connected,
		Exchange:  time.Since(v.epoch) - connected,
	}
	if !v.target.keepAlive || !v.parser.reusable() {
		v.drop()
	}
	return out, nil
}

func (v *vu) connect(ctx context.Context) error {
	limited := ctx
	if v.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, v.timeout)
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
	return nil
}

// exchange sends the request and reads the answer to its end.
func (v *vu) exchange(ctx context.Context) (load.Outcome, error) {
	n, err := v.link.exchange(v.sender.bytes(), v.buf)
	v.began = time.Since(v.epoch)
	in := int64(n)
	for {
		used, perr := v.parser.feed(v.buf[:n])
		switch {
		case perr != nil:
			return v.fail(ctx, perr)
		case used < n:
			return v.fail(ctx, protocolError("%d bytes or more follow the answer's end", n-used))
		case v.parser.done():
			return v.answer(in), nil
		case err != nil:
			return v.end(ctx, in, err)
		}
		if n == len(v.buf) && n < maxBuffer {
			v.buf = make([]byte, 2*n)
		}
		n, err = v.link.Read(v.buf)
		in += int64(n)
	}
}

// answer turns a complete answer of in bytes into an Outcome.
func (v *vu) answer(in int64) load.Outcome {
	return v.target.judge(v.sender, &v.parser, v.link, in)
}

// arm moves the connection's deadline for an iteration that began at now.
func (v *vu) arm(ctx context.Context, now time.Duration) error {
	at, moves := v.deadline.Next(v.epoch, now, v.timeout)
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

// fail drops the connection, of which nothing is certain any more.
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
