// Package tcp puts a server of any protocol over TCP under load: an iteration
// writes some bytes and reads a response, up to a delimiter or of a fixed length.
//
// Each virtual user has a connection and one iteration at a time. Event loops and
// goroutines drive the same conversation.
//
// Bytes after a response's end, or without a request, are errors of kind Protocol, and
// so is a response without the delimiter in MaxMessage bytes. A response that is cut off
// is Closed or Reset. After an error the next iteration connects again. What was sent is
// never sent again.
package tcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"contend/errkind"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
)

// A Target writes and reads once per iteration. Its methods may be called
// concurrently.
type Target struct {
	config   Config
	address  string
	ownCores bool
	early    wire.EarlyDial
}

var (
	_ load.LoopTarget = (*Target)(nil)
	_ load.Reacher    = (*Target)(nil)
)

// Loops returns how many event loops would drive the virtual users (wire.Loops).
func (t *Target) Loops(vus int) (int, string) {
	if ok, why := loop.Supported(); !ok {
		return 0, why
	}
	if t.config.NoLoops() {
		return 0, ""
	}
	return wire.Loops(!t.ownCores && wire.IsNear("tcp", t.address), vus, 0), ""
}

// NewLoop makes an event loop. Its connections are opened when they are first needed.
func (t *Target) NewLoop(ctx context.Context, part load.LoopPart) (load.Loop, error) {
	var ids []int
	for id := part.Index; id < part.VUs; id += part.Of {
		ids = append(ids, id)
	}
	return loop.New(ctx, loop.Config{
		Network: "tcp", Address: t.address, VUs: ids, CloseEach: t.config.NoKeepAlive,
		New: func([]int) loop.Conversation { return &conversation{config: &t.config} },
	})
}

// NewVU makes a virtual user and connects it, unless each iteration has a connection
// of its own. One that cannot be opened is not an error: the iteration tries again.
func (t *Target) NewVU(ctx context.Context, _ int) (load.VU, error) {
	v := &vu{target: t, conversation: conversation{config: &t.config}, in: make([]byte, readBuffer)}
	v.watch.Interrupt = v.interrupt
	if !t.config.NoKeepAlive {
		t.early.Try(ctx, v.connect)
	}
	return v, nil
}

// Reach opens a connection and closes it.
func (t *Target) Reach(ctx context.Context) error {
	conn, err := t.dial(ctx)
	if err != nil {
		return err
	}
	conn.Close() // it has shown what it was for
	return nil
}

// dial opens a connection. Probes for a dead peer are off, since timeouts find it.
func (t *Target) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1}
	return d.DialContext(ctx, "tcp", t.address)
}

// A conversation is a connection without I/O. It has one slot.
type conversation struct {
	config   *Config
	inFlight bool
	got      int64
	tail     []byte // the last bytes of the answer, in which Until may have begun
	outcome  load.Outcome
	said     load.Content // only its length
}

// Open has nothing to say before the first iteration.
func (c *conversation) Open(out []byte) []byte {
	c.inFlight = false
	return out
}

// Start writes the data.
func (c *conversation) Start(out []byte, _ int) []byte {
	c.inFlight, c.got, c.tail = true, 0, c.tail[:0]
	return append(out, c.config.Data...)
}

// Receive reads a piece of the answer.
func (c *conversation) Receive(out, in []byte, slots loop.Slots) ([]byte, error) {
	switch {
	case len(in) == 0 && c.inFlight:
		return out, fmt.Errorf("connection closed after %d bytes of an answer: %w", c.got, io.EOF)
	case len(in) == 0:
		return out, nil
	case !c.inFlight:
		return out, protocolError("%d bytes that nobody asked for: %.40q", len(in), in)
	case c.got == 0:
		slots.FirstByte(0)
	}
	end, err := c.end(in)
	if err != nil || end < 0 {
		return out, err
	}
	if end < len(in) {
		return out, protocolError("%d bytes or more follow the answer's end", len(in)-end)
	}
	c.inFlight = false
	c.outcome = load.Outcome{BytesIn: c.got, BodyIn: c.got, BytesOut: int64(len(c.config.Data)), Content: &c.said}
	slots.End(0, &c.outcome, nil)
	return out, nil
}

// end returns where in a further piece the answer ends, -1 if it goes on.
func (c *conversation) end(in []byte) (int, error) {
	before := c.got
	c.got += int64(len(in))
	if c.config.Length > 0 {
		if c.got < c.config.Length {
			return -1, nil
		}
		return int(c.config.Length - before), nil
	}
	until := c.config.Until
	begun := len(c.tail)
	c.tail = append(c.tail, in[:min(len(in), len(until)-1)]...)
	if i := bytes.Index(c.tail, until); i >= 0 {
		return i + len(until) - begun, c.checkLength(before + int64(i+len(until)-begun))
	}
	if i := bytes.Index(in, until); i >= 0 {
		return i + len(until), c.checkLength(before + int64(i+len(until)))
	}
	if len(in) >= len(until)-1 {
		c.tail = append(c.tail[:0], in[len(in)-(len(until)-1):]...)
	} else if extra := len(c.tail) - (len(until) - 1); extra > 0 {
		c.tail = append(c.tail[:0], c.tail[extra:]...)
	}
	return -1, c.checkLength(c.got)
}

func (c *conversation) checkLength(n int64) error {
	if n > int64(c.config.MaxMessage) {
		return protocolError("the answer has no %q in %d bytes", []byte(c.config.Until), c.config.MaxMessage)
	}
	return nil
}

func protocolError(format string, args ...any) error {
	return &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf(format, args...)}
}

// readBuffer is how much one read takes.
const readBuffer = 16 << 10

// A vu drives a conversation over a net.Conn.
type vu struct {
	target       *Target
	conversation conversation
	timeout      time.Duration
	in, out      []byte
	watch        wire.Watch

	mu   sync.Mutex // guards conn between Do and interrupt
	conn net.Conn   // nil: not connected

	// About the iteration in flight, as the conversation reports it.
	begin, first time.Time
	done         *load.Outcome
}

func (v *vu) FirstByte(int) { v.first = time.Now() }

func (v *vu) End(_ int, out *load.Outcome, _ error) { v.done = out }

// Drain is never called: conversations do not end connections.
func (v *vu) Drain() {}

func (v *vu) SetTimeout(d time.Duration) { v.timeout = d }

// Do writes and reads once.
func (v *vu) Do(ctx context.Context) (load.Outcome, error) {
	v.watch.On(ctx)
	v.begin, v.done = time.Now(), nil
	out, err := v.iterate(ctx)
	if err != nil || v.target.config.NoKeepAlive {
		v.drop()
	}
	if err != nil {
		err = wire.OrCancelled(ctx, "tcp", err)
	}
	return out, err
}

func (v *vu) iterate(ctx context.Context) (load.Outcome, error) {
	var phases load.Phases
	if v.conn == nil {
		if err := v.connect(ctx); err != nil {
			return load.Outcome{}, err
		}
		phases.Connect = time.Since(v.begin)
	}
	if err := v.arm(ctx); err != nil {
		return load.Outcome{}, err
	}
	exchange := time.Now()
	v.out = v.conversation.Start(v.out[:0], 0)
	if _, err := v.conn.Write(v.out); err != nil {
		return load.Outcome{}, err
	}
	for v.done == nil {
		n, err := v.conn.Read(v.in)
		if n == 0 && err != io.EOF {
			return load.Outcome{}, err
		}
		if _, err := v.conversation.Receive(nil, v.in[:n], v); err != nil {
			return load.Outcome{}, err
		}
	}
	out := *v.done
	if phases.FirstByte = v.first.Sub(exchange); phases.Connect > 0 {
		phases.Exchange = time.Since(exchange)
	}
	out.Phases = phases
	return out, nil
}

func (v *vu) connect(ctx context.Context) error {
	if v.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, v.begin.Add(v.timeout))
		defer cancel()
	}
	conn, err := v.target.dial(ctx)
	if err != nil {
		return err
	}
	v.conversation.Open(nil)
	v.mu.Lock()
	v.conn = conn
	v.mu.Unlock()
	return nil
}

// arm sets the connection's deadline, unless ctx has ended: then that of interrupt
// stays.
func (v *vu) arm(ctx context.Context) error {
	at := time.Time{}
	if v.timeout > 0 {
		at = v.begin.Add(v.timeout)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return v.conn.SetDeadline(at)
}

// interrupt makes every read and write of the connection fail.
func (v *vu) interrupt() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn != nil {
		_ = v.conn.SetDeadline(time.Unix(1, 0)) // fails if the connection is closed, which is as good
	}
}

func (v *vu) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn != nil {
		_ = v.conn.Close() // nothing is left to be lost
		v.conn = nil
	}
}

// Close closes the connection. It must not be called during Do.
func (v *vu) Close() error {
	v.watch.Off()
	v.drop()
	return nil
}
