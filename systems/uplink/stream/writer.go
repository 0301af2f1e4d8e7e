package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"time"

	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
	"contend/websocket"

	"github.com/gobwas/ws"
)

const (
	// maxMessage bounds what a customer may send as one message, whole or in parts.
	maxMessage = 1 << 20
	// buffer is what one read or one write moves at most, except for a longer message.
	buffer = 64 << 10
	// maxTake bounds how many messages a connection takes at once, so that other
	// connections of the customer get some.
	maxTake = 256
	// firstSize is the length that a message is assumed to have before one was
	// seen: that of one with the largest challenge.
	firstSize = 44 << 10
	// socketBuffer is what the kernel may hold of what was written, in bytes. That
	// much is with this connection, however slow its customer is.
	socketBuffer = 256 << 10
	// keep is how much memory a writer keeps for what it writes.
	keep = 4 * buffer
)

// A writer is what only the writing goroutine touches.
type writer struct {
	out      []byte
	uplinks  []message.Upstream
	size     int             // of the last messages, on average
	wait     context.Context // ends at a wake-up or when a ping is due
	stop     context.CancelFunc
	nextPing time.Time
}

// statusTryAgainLater is an overload (RFC 6455's registry of close codes, 1013).
const statusTryAgainLater ws.StatusCode = 1013

var errEnded = errors.New("the connection has ended")

// writeAll writes until the connection's end.
func (c *conn) writeAll() {
	w := &c.writer
	w.size, w.stop = firstSize, func() {}
	w.nextPing = time.Now().Add(c.server.config.PingEvery)
	var err error
	for err == nil {
		err = c.writeOnce()
	}
	w.stop()
	if !errors.Is(err, errEnded) {
		c.end(0, err.Error())
		c.cut()
		return
	}
	if half, ok := c.net.(interface{ CloseWrite() error }); ok { // TCP and TLS
		_ = half.CloseWrite() // some clients wait for it; the reader finds out
	}
}

// writeOnce writes what others left, and then takes and writes messages.
func (c *conn) writeOnce() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.pingIfDue()
	c.arm()
	ending := c.control()
	if err := c.flush(); err != nil {
		return err
	}
	if ending {
		return errEnded
	}
	if c.source == nil {
		<-c.writer.wait.Done()
		return nil
	}
	return c.forward()
}

// arm renews the context that ends a wait for messages.
func (c *conn) arm() {
	w := &c.writer
	if w.wait != nil && w.wait.Err() == nil {
		return
	}
	w.stop()
	w.wait, w.stop = context.WithDeadline(c.ctx, w.nextPing)
	c.mu.Lock()
	c.wake = w.stop
	c.mu.Unlock()
}

func (c *conn) pingIfDue() {
	w := &c.writer
	now := time.Now()
	if now.Before(w.nextPing) {
		return
	}
	w.nextPing = now.Add(c.server.config.PingEvery)
	begin := len(w.out)
	w.out = websocket.EndFrame(websocket.BeginFrame(w.out), begin, ws.OpPing)
}

// control appends the frames that others left, and returns whether the last of
// them ends the connection.
func (c *conn) control() (ending bool) {
	w := &c.writer
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pinged {
		begin := len(w.out)
		w.out = websocket.EndFrame(append(websocket.BeginFrame(w.out), c.ping...), begin, ws.OpPong)
		c.pinged = false
	}
	if len(c.replies) > 0 {
		w.out = append(w.out, c.replies...)
		if c.replies = c.replies[:0]; cap(c.replies) > keep {
			c.replies = nil
		}
		select {
		case c.room <- struct{}{}:
		default: // the reader will see it
		}
	}
	if c.ending != nil {
		w.out = appendClose(w.out, c.ending)
	}
	return c.ending != nil
}

// appendClose appends the close frame. The reason is cut to what a control frame
// can hold.
func appendClose(out []byte, e *websocket.CloseError) []byte {
	begin := len(out)
	switch e.Code {
	case 0:
		return out
	case ws.StatusNoStatusRcvd:
		return websocket.EndFrame(websocket.BeginFrame(out), begin, ws.OpClose)
	}
	const most = ws.MaxControlFramePayloadSize - 2
	reason := strings.ToValidUTF8(e.Reason[:min(len(e.Reason), most)], "")
	out = binary.BigEndian.AppendUint16(websocket.BeginFrame(out), uint16(e.Code))
	return websocket.EndFrame(append(out, reason...), begin, ws.OpClose)
}

// forward waits for messages and writes them.
func (c *conn) forward() error {
	w := &c.writer
	var err error
	room := min(max(buffer/w.size, 1), maxTake)
	w.uplinks, err = c.source.Take(w.wait, w.uplinks[:0], room)
	switch {
	case err == nil || w.wait.Err() != nil:
	case errors.Is(err, outbox.ErrClosed):
		c.end(ws.StatusGoingAway, "the service is stopping")
	default:
		c.end(ws.StatusInternalServerError, err.Error())
	}
	if len(w.uplinks) == 0 {
		return nil
	}
	total := 0
	for i := range w.uplinks {
		begin := len(w.out)
		w.out = websocket.EndFrame(message.AppendUpstream(websocket.BeginFrame(w.out), &w.uplinks[i]), begin, ws.OpText)
		total += len(w.out) - begin
		if len(w.out) >= buffer {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	w.size = total / len(w.uplinks)
	c.server.stats.sent.Add(int64(len(w.uplinks)))
	return c.flush()
}

// flush writes what was appended. Between two bytes that go through it waits for
// WriteTimeout at most.
func (c *conn) flush() error {
	w := &c.writer
	for rest := w.out; len(rest) > 0; {
		if err := c.net.SetWriteDeadline(time.Now().Add(c.server.config.WriteTimeout)); err != nil {
			return err
		}
		n, err := c.net.Write(rest)
		rest = rest[n:]
		c.server.stats.bytesSent.Add(int64(n))
		switch {
		case err == nil || n > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		case errors.Is(err, os.ErrDeadlineExceeded):
			return c.stalled(rest)
		default:
			return err
		}
	}
	if w.out = w.out[:0]; cap(w.out) > keep {
		w.out = nil
	}
	return nil
}

// stalled ends a connection whose customer reads nothing: it has closeTimeout
// to begin again, and then reads why. Others may have its messages at once.
func (c *conn) stalled(rest []byte) error {
	c.server.stats.stalled.Add(1)
	if c.source != nil {
		c.source.Close()
	}
	c.end(statusTryAgainLater, "nothing was read for "+c.server.config.WriteTimeout.String())
	if err := c.net.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	c.mu.Lock()
	rest = appendClose(rest, c.ending)
	c.mu.Unlock()
	if _, err := c.net.Write(rest); err != nil {
		return err
	}
	return errEnded
}
