package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"contend/systems/uplink/message"
	"contend/websocket"

	"github.com/gobwas/ws"
)

// closeTimeout is how long a connection has for its end: the close frames of both
// sides.
const closeTimeout = 5 * time.Second

// A source is where uplinks come from, and answers go: an *outbox.Conn.
type source interface {
	Take(ctx context.Context, dst []message.Upstream, max int) ([]message.Upstream, error)
	Answer([]message.Answer)
	Close()
}

// A conn is a connection: its reader, its writer, and what others leave for the writer.
type conn struct {
	server   *Server
	customer string
	kind     Kind
	valid    context.Context // ends with the token
	connect  func() source   // nil: no uplinks here

	net    net.Conn
	ctx    context.Context // of the connection
	cancel context.CancelFunc
	source source
	reader *websocket.Reader
	writer writer

	writing sync.WaitGroup
	answers []message.Answer // of one read

	mu      sync.Mutex
	wake    context.CancelFunc    // makes the writer look at what follows
	ping    []byte                // the data of the last ping
	pinged  bool                  // it is not answered yet
	replies []byte                // frames
	room    chan struct{}         // holds one when replies were taken
	ending  *websocket.CloseError // why it is closed; code 0: the client vanished
	force   *time.Timer           // of the end
}

// newReader reads what a client sends, and begins with what was read already.
func newReader(from io.Reader, already []byte) *websocket.Reader {
	return websocket.NewReader(from, already, websocket.Config{Server: true, MaxMessage: maxMessage, Buffer: buffer})
}

func newConn(s *Server, customer string, kind Kind, valid context.Context) *conn {
	c := &conn{server: s, customer: customer, kind: kind, valid: valid, room: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wake = func() {}
	return c
}

// run serves the connection until it has ended. The calling goroutine reads.
func (c *conn) run(conn net.Conn, already []byte) {
	c.net, c.reader = conn, newReader(conn, already)
	limitSocket(conn)
	c.server.stats.open[c.kind].Add(1)
	c.server.stats.opened.Add(1)
	c.server.config.Opened(c.customer, c.kind)
	if c.connect != nil {
		c.source = c.connect()
	}
	c.server.add(c)
	defer context.AfterFunc(c.valid, func() { c.end(ws.StatusPolicyViolation, "the token expired or was withdrawn") })()
	defer c.finish(time.Now())
	c.writing.Go(c.writeAll)
	c.read()
}

// finish ends what run began, also if a function of the Config panicked.
func (c *conn) finish(begin time.Time) {
	c.end(ws.StatusInternalServerError, "a mistake in the service") // unless there is a cause already
	c.writing.Wait()
	c.cut()
	c.force.Stop()
	c.server.remove(c)
	if c.source != nil {
		c.source.Close()
	}
	c.server.config.Closed(c.customer, c.kind)
	c.server.stats.open[c.kind].Add(-1)
	c.server.stats.closed(c.ending.Code)
	c.server.config.Log.Info("stream closed", "customer", c.customer, "stream", c.kind, "code", int(c.ending.Code),
		"cause", c.ending.Reason, "after", time.Since(begin).Round(time.Millisecond))
}

// limitSocket bounds what the kernel keeps of what was written, where it can be
// bounded. Without, a slow customer only holds more.
func limitSocket(conn net.Conn) {
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok { // a tls.Conn, or one that is counted
		conn = secured.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(socketBuffer)
	}
}

// end begins the end of the connection: the first cause counts. The writer sends
// it, and whatever then happens, closeTimeout later nothing of the connection is left.
func (c *conn) end(code ws.StatusCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(code, reason)
}

func (c *conn) endLocked(code ws.StatusCode, reason string) {
	if c.ending != nil {
		return
	}
	c.ending = &websocket.CloseError{Code: code, Reason: reason}
	c.force = time.AfterFunc(closeTimeout, c.cut)
	c.wake()
}

// cut closes the socket, without a word.
func (c *conn) cut() {
	c.cancel()
	_ = c.net.Close() // what is written is lost, as meant
}

// read reads until the connection's end.
func (c *conn) read() {
	err := c.messages()
	var verdict *websocket.CloseError
	switch {
	case errors.As(err, &verdict):
		c.end(verdict.Code, verdict.Reason)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.server.stats.silent.Add(1)
		c.end(ws.StatusPolicyViolation, "no frame came for "+c.patience().String()+", not even a pong")
	case err != nil:
		c.end(0, err.Error())
		c.cut()
	default: // a close frame
		return
	}
	// Closing with something unread would make the kernel drop what is written.
	_ = c.net.SetReadDeadline(time.Time{}) // the end has its own
	_, _ = io.Copy(io.Discard, c.net)
}

// patience is how long a connection may be silent.
func (c *conn) patience() time.Duration {
	return c.server.config.PingEvery + c.server.config.PongTimeout
}

// messages reads and handles messages until a close frame came, for which it
// returns nil. An os.ErrDeadlineExceeded is a client that fell silent.
func (c *conn) messages() error {
	for first := true; ; first = false {
		frames, closed, err := c.handle()
		if err != nil || closed {
			return err
		}
		if first || frames > 0 {
			if err := c.net.SetReadDeadline(time.Now().Add(c.patience())); err != nil {
				return err
			}
		}
		n, err := c.reader.Fill()
		c.server.stats.bytesReceived.Add(int64(n))
		if err != nil {
			return err
		}
	}
}

// handle handles what was read, and counts the frames in it.
func (c *conn) handle() (frames int, closed bool, err error) {
	defer func() { c.answer() }() // also those before a mistake
	for {
		m, err := c.reader.Next()
		if err != nil || m == nil {
			return frames, false, err
		}
		frames++
		switch m.Op {
		case ws.OpPing:
			c.pong(m.Data)
		case ws.OpPong:
			c.server.stats.pongs.Add(1)
		case ws.OpClose:
			return frames, true, c.closeFrame(m.Data)
		default:
			if err := c.message(m.Data); err != nil {
				return frames, false, err
			}
		}
	}
}

// pong leaves a ping for the writer. Only the last of several is answered
// (RFC 6455, section 5.5.3), so a flood of them costs nothing.
func (c *conn) pong(data []byte) {
	c.server.stats.pings.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ping = append(c.ping[:0], data...)
	if !c.pinged {
		c.pinged = true
		c.wake()
	}
}

// closeFrame answers a close frame with its own code.
func (c *conn) closeFrame(data []byte) error {
	code, reason, err := websocket.ParseClose(data)
	switch {
	case err != nil:
		return err
	case code == ws.StatusNoStatusRcvd:
		c.end(code, "the customer closed")
	default:
		c.end(code, "the customer closed: "+strconv.Quote(reason))
	}
	return nil
}
