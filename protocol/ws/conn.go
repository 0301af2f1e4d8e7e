package ws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gobwas/ws"

	"contend/errkind"
	"contend/load"
	"contend/protocol/wire"
	"contend/websocket"
)

const (
	// readBuffer is the size of a connection's read buffer, unless messages are
	// longer.
	readBuffer = 4 << 10
	// controlTimeout bounds the writing of a pong, and of a close.
	controlTimeout = 5 * time.Second
	// maxDetail is how much is kept of a wrong answer.
	maxDetail = 512
)

// A call is the part of an iteration that waits for a connection. It is
// pending from begin until it is settled, by whoever takes it out of the
// connection's calls.
type call struct {
	id    uint64
	start time.Duration // of the iteration, or of its exchange if it connected
	batch uint64        // in which its message is written
	out   load.Outcome
	said  load.Content
	err   error
	// detail holds what out.Detail shows.
	detail []byte
	done   chan struct{} // of capacity 1: a call is settled once
}

// A conn is one WebSocket with a goroutine that reads it. Its methods may be
// called concurrently.
type conn struct {
	target   *Target
	stream   net.Conn // wire, or TLS over it
	wire     net.Conn
	deflates bool
	reader   *websocket.Reader
	plain    []byte        // the latest message, inflated
	ended    chan struct{} // closed when nobody reads any more

	mu       sync.Mutex
	err      error // why the connection is no longer usable
	calls    queue
	lastID   uint64
	pushed   sync.Cond // in the mode Receive: a call has come, or err
	out      *outbox
	spare    *outbox
	batch    uint64 // in which the next message is written
	pong     []byte // to be sent, nil: none
	writing  bool   // somebody writes, or is about to
	writers  sync.WaitGroup
	deadline wire.Deadline // of writes
}

func (c *conn) IsDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// errClosedHere is what is left to say of a connection that we have closed.
var errClosedHere = net.ErrClosed

// newConn makes a connection that begins with what was read of it already.
func newConn(t *Target, stream net.Conn, already []byte, deflates bool) *conn {
	c := &conn{
		target: t, stream: stream, deflates: deflates, ended: make(chan struct{}),
		out: &outbox{}, spare: &outbox{},
		calls: queue{byID: t.message.byID},
	}
	c.reader = websocket.NewReader(stream, already,
		websocket.Config{Deflated: deflates, MaxMessage: t.config.MaxMessage, Buffer: readBuffer, Now: t.now})
	c.pushed.L = &c.mu
	return c
}

// read hands over the messages until the connection fails.
func (c *conn) read() {
	defer close(c.ended)
	for {
		m, err := c.next()
		if err != nil {
			c.fail(err)
			return
		}
		c.deliver(m)
	}
}

// begin makes a call pending and sends its message, if it has one. It fails,
// with nothing sent, if the connection is no longer usable.
func (c *conn) begin(ctx context.Context, k *call, timeout time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	// If the context ends later, interrupt finds the write on its way.
	if err := ctx.Err(); err != nil {
		return err
	}
	c.lastID++
	k.id, k.batch, k.err, k.out = c.lastID, c.batch, nil, load.Outcome{}
	c.calls.push(k)
	if c.target.config.Mode == Receive {
		c.pushed.Signal()
		return nil
	}
	k.out.BytesOut = c.target.message.append(c.out, k.id, c.deflates)
	if !c.writing {
		c.write(k.start, timeout)
	}
	return nil
}

// write sends what is in the outbox. c.mu is held when it is called and when it
// returns. What is added to the outbox in between is left to another goroutine,
// so that the caller's own answer does not wait for others' messages.
func (c *conn) write(now, timeout time.Duration) {
	c.writing = true
	c.writeOnce(now, timeout)
	if c.writing = c.err == nil && c.hasOut(); !c.writing {
		return
	}
	c.writers.Go(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for c.err == nil && c.hasOut() {
			c.writeOnce(c.target.now(), timeout)
		}
		c.writing = false
	})
}

func (c *conn) hasOut() bool { return len(c.out.frames) > 0 || c.pong != nil }

func (c *conn) writeOnce(now, timeout time.Duration) {
	if c.pong != nil {
		c.out.append(ws.OpPong, false, c.pong)
		c.pong = nil
	}
	out, batch := c.out, c.batch
	c.out, c.batch = c.spare, c.batch+1
	var err error
	if at, moves := c.deadline.Next(c.target.epoch, now, timeout); moves {
		err = c.stream.SetWriteDeadline(at)
	}
	if err == nil {
		c.mu.Unlock()
		_, err = c.stream.Write(out.frames)
		c.mu.Lock()
	}
	out.frames = out.frames[:0]
	c.spare = out
	if len(c.out.frames) == 0 { // one outbox is enough for one virtual user
		c.out, c.spare = c.spare, c.out
	}
	if err != nil {
		c.failLocked(err)
		return
	}
	if c.target.config.Mode == Send {
		c.calls.settleWritten(batch)
	}
}

// disarm makes the next write set its deadline.
func (c *conn) disarm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = wire.Deadline{}
}

// interrupt ends a write that is on its way, because its context has ended.
func (c *conn) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing {
		c.deadline = wire.Deadline{}
		_ = c.stream.SetWriteDeadline(time.Unix(1, 0)) // fails if the connection is closed, which is as good
	}
}

// control answers a ping, with the last one's data if several wait for it (RFC
// 6455, section 5.5.3), and ends the connection at a close.
func (c *conn) control(op ws.OpCode, data []byte) error {
	switch op {
	case ws.OpPing:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pong = append([]byte{}, data...)
		if !c.writing && c.err == nil {
			c.deadline = wire.Deadline{} // the last iteration may be long ago
			c.write(c.target.now(), controlTimeout)
			c.deadline = wire.Deadline{}
		}
		return nil
	case ws.OpClose:
		return c.closedByPeer(data)
	}
	return nil
}

// closedByPeer repeats a close and says what it said.
func (c *conn) closedByPeer(data []byte) error {
	code, reason, err := websocket.ParseClose(data)
	if err != nil {
		return protocolError("close: %w", err)
	}
	c.goodbye(code)
	return &errkind.Error{Kind: errkind.Closed, Err: fmt.Errorf("closed by the server: %d %.100q", code, reason)}
}

// goodbye sends a close of the code if nobody is writing, and lets nobody write
// after it.
func (c *conn) goodbye(code ws.StatusCode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing || c.err != nil {
		return
	}
	var data []byte
	if code != ws.StatusNoStatusRcvd {
		data = []byte{byte(code >> 8), byte(code)}
	}
	c.out.append(ws.OpClose, false, data)
	c.deadline = wire.Deadline{}
	c.write(c.target.now(), controlTimeout)
}

// fail settles all calls with err and closes the connection.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

func (c *conn) failLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	c.wire.Close()
	c.pushed.Broadcast()
	for k := range c.calls.drain() {
		k.settle(err)
	}
}

// settle ends a call that is no longer among the connection's.
func (k *call) settle(err error) {
	k.err = err
	k.done <- struct{}{}
}

// giveUp settles a call with err, if nobody has settled it yet.
func (c *conn) giveUp(k *call, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.calls.remove(k) {
		return
	}
	k.settle(err)
	config := c.target.config
	if config.Mode == Exchange && config.Match == ByOrder {
		c.failLocked(&errkind.Error{Kind: errkind.Closed, Err: errors.New("closed, because the wait for an earlier answer was given up")})
	}
}

// Close closes the connection at once.
func (c *conn) Close() error {
	c.close(0)
	return nil
}

// close ends the connection in an orderly manner, and waits until nobody reads
// or writes. The server gets as long as patience for its close.
func (c *conn) close(patience time.Duration) {
	c.goodbye(ws.StatusNormalClosure)
	if patience > 0 {
		select {
		case <-c.ended:
		case <-time.After(patience):
		}
	}
	c.fail(errClosedHere)
	<-c.ended
	c.writers.Wait()
}

// deliver hands a message to the call that waits for it.
func (c *conn) deliver(m *websocket.Message) {
	k := c.match(m.Data)
	if k == nil {
		return
	}
	k.out.BytesIn, k.out.BodyIn = m.Wire, m.Body
	k.out.Phases.FirstByte = max(0, m.FirstByte-k.start)
	check := c.target.config.Check
	if check != nil {
		k.out.Check = check(m.Data)
	}
	if k.out.Check != "" {
		k.detail = append(k.detail[:0], m.Data[:min(len(m.Data), maxDetail)]...)
		k.out.Failed, k.out.Detail = true, k.detail
	} else {
		k.said.Checked, k.said.Type = check != nil, append(k.said.Type[:0], typeOf(m.Op)...)
		k.out.Content = &k.said
	}
	k.settle(nil)
}

func typeOf(op ws.OpCode) string {
	if op == ws.OpText {
		return "text"
	}
	return "binary"
}

// match takes the call that a message belongs to out of the calls, or returns nil.
func (c *conn) match(data []byte) *call {
	var id uint64
	if c.target.message.byID {
		value, found := c.target.answerID.Find(data)
		if !found {
			return nil
		}
		if id, found = parseID(value); !found {
			return nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.target.config.Mode {
	case Send:
		return nil
	case Receive:
		for c.calls.empty() && c.err == nil {
			c.pushed.Wait()
		}
	}
	return c.calls.take(id)
}
