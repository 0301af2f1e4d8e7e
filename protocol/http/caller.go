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

// A caller sends requests over one connection, which it opens when it needs one, and
// reads their answers. What it calls an iteration is one request.
type caller struct {
	connects  func(ctx context.Context) (*keptConn, error)
	keepAlive bool
	parser    parser
	buf       []byte
	timeout   time.Duration
	// Times are offsets from epoch.
	epoch    time.Time
	lastUse  time.Duration
	deadline wire.Deadline
	began    time.Duration // when the answer's first byte was read

	watch wire.Watch
	mu    sync.Mutex // guards link between call and interrupt
	link  *keptConn  // nil: not connected
}

func (c *caller) init(connect func(ctx context.Context) (*keptConn, error), keepAlive bool) {
	c.connects, c.keepAlive = connect, keepAlive
	c.buf = make([]byte, minBuffer)
	c.epoch = time.Now()
	c.watch.Interrupt = c.interrupt
}

func (c *caller) SetTimeout(d time.Duration) {
	c.timeout = d
	c.deadline = wire.Deadline{}
}

// call sends a request and reads the answer, of in bytes, with the parser, which is prepared
// for it. Without an error the connection is there until settle is called.
func (c *caller) call(ctx context.Context, request []byte) (in int64, took load.Phases, err error) {
	if c.watch.On(ctx) {
		c.deadline = wire.Deadline{} // the previous context may have left one in the past
	}
	start := time.Since(c.epoch)
	if c.link != nil && start-c.lastUse >= idleCheck && c.link.stale() {
		c.drop()
	}
	c.lastUse = start
	if c.link == nil {
		return c.connectAndExchange(ctx, request, start)
	}
	if err = c.arm(ctx, start); err != nil {
		return 0, took, err
	}
	in, err = c.exchange(ctx, request)
	took.FirstByte = c.began - start
	return in, took, err
}

// connectAndExchange is a call that has to connect, and measures it.
func (c *caller) connectAndExchange(ctx context.Context, request []byte, start time.Duration) (in int64, took load.Phases, err error) {
	if err := c.connect(ctx); err != nil {
		return 0, took, err
	}
	connected := time.Since(c.epoch)
	if err := c.arm(ctx, start); err != nil {
		return 0, took, err
	}
	in, err = c.exchange(ctx, request)
	took = load.Phases{
		Connect:   connected - start,
		FirstByte: c.began - connected,
		Exchange:  time.Since(c.epoch) - connected,
	}
	return in, took, err
}

// settle closes a connection after an answer that ends it.
func (c *caller) settle() {
	if !c.keepAlive || !c.parser.reusable() {
		c.drop()
	}
}

func (c *caller) connect(ctx context.Context) error {
	limited := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	l, err := c.connects(limited)
	if err != nil {
		return wire.OrCancelled(ctx, "http", err)
	}
	c.mu.Lock()
	c.link = l
	c.mu.Unlock()
	c.deadline = wire.Deadline{}
	return nil
}

// exchange sends the request and reads the answer to its end.
func (c *caller) exchange(ctx context.Context, request []byte) (in int64, err error) {
	n, err := c.link.exchange(request, c.buf)
	c.began = time.Since(c.epoch)
	in = int64(n)
	for {
		used, perr := c.parser.feed(c.buf[:n])
		switch {
		case perr != nil:
			return in, c.fail(ctx, perr)
		case used < n:
			return in, c.fail(ctx, protocolError("%d bytes or more follow the answer's end", n-used))
		case c.parser.done():
			return in, nil
		case err != nil:
			return in, c.end(ctx, in, err)
		}
		if n == len(c.buf) && n < maxBuffer {
			c.buf = make([]byte, 2*n)
		}
		n, err = c.link.Read(c.buf)
		in += int64(n)
	}
}

// arm moves the connection's deadline for a request that began at now.
func (c *caller) arm(ctx context.Context, now time.Duration) error {
	at, moves := c.deadline.Next(c.epoch, now, c.timeout)
	if !moves {
		return nil
	}
	c.mu.Lock()
	err := ctx.Err() // if it is nil, interrupt is yet to come and overrules the deadline
	if err == nil {
		err = c.link.SetDeadline(at)
	}
	c.mu.Unlock()
	if err != nil {
		err = c.fail(ctx, err)
	}
	return err
}

// interrupt makes every read and write of the connection fail.
func (c *caller) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil {
		_ = c.link.SetDeadline(time.Unix(1, 0)) // fails if the connection is closed, which is as good
	}
}

// end handles an error of the connection after in bytes of an answer.
func (c *caller) end(ctx context.Context, in int64, err error) error {
	if err != io.EOF {
		return c.fail(ctx, err)
	}
	if err := c.parser.eof(); err != nil {
		return c.fail(ctx, fmt.Errorf("connection closed after %d bytes of an answer: %w", in, err))
	}
	return nil
}

// fail drops the connection, of which nothing is certain any more.
func (c *caller) fail(ctx context.Context, err error) error {
	c.abort()
	return wire.OrCancelled(ctx, "http", err)
}

// drop closes the connection in an orderly manner.
func (c *caller) drop() { _ = c.detach().Close() }

// abort closes the connection without waiting for the peer.
func (c *caller) abort() { _ = c.detach().wire().Close() }

func (c *caller) detach() *keptConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.link
	c.link = nil
	return l
}

// Close closes the connection. It must not be called during call.
func (c *caller) Close() error {
	c.watch.Off()
	if c.link == nil {
		return nil
	}
	c.drop()
	return nil
}
