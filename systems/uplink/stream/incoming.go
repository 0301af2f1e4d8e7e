package stream

import (
	"errors"

	"contend/systems/uplink/message"
	"contend/websocket"

	"github.com/gobwas/ws"
)

const (
	// maxReplies is how many bytes of replies may wait for a customer that is slow
	// to read them. Above it nothing more is read from the customer.
	maxReplies = buffer
	// farTooMany is when the connection is closed: results of what was read
	// before go on to come.
	farTooMany = 16 * maxReplies
)

// ErrClosed says that the connection to reply on is gone.
var ErrClosed = errors.New("stream: the customer's connection is closed")

// message handles a message of a customer.
func (c *conn) message(data []byte) error {
	c.server.stats.received.Add(1)
	if c.kind == Downstream {
		return c.downlink(data)
	}
	n := len(c.answers)
	c.answers = append(c.answers, message.Answer{})
	if err := message.ParseAnswer(data, &c.answers[n]); err != nil {
		c.answers = c.answers[:n]
		return c.malformed(err)
	}
	return nil
}

func (c *conn) malformed(err error) error {
	c.server.stats.malformed.Add(1)
	return &websocket.CloseError{Code: ws.StatusPolicyViolation, Reason: err.Error()}
}

// answer hands over the answers that were collected.
func (c *conn) answer() {
	if len(c.answers) == 0 {
		return
	}
	c.source.Answer(c.answers)
	c.server.stats.answers.Add(int64(len(c.answers)))
	c.answers = c.answers[:0]
}

// downlink hands over a downlink, and then waits while the customer has too many
// replies to read.
func (c *conn) downlink(data []byte) error {
	d, err := message.ParseDownstream(data)
	if err != nil {
		return c.malformed(err)
	}
	c.server.stats.downlinks.Add(1)
	c.server.config.Downlink(c.ctx, c.customer, d, Replier{c})
	for c.ctx.Err() == nil && c.crowded() {
		select {
		case <-c.room:
		case <-c.ctx.Done():
		}
	}
	return c.ctx.Err()
}

func (c *conn) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.replies) > maxReplies
}

// A Replier replies to one downlink on the connection that it came on: its number
// means nothing on another. It may be kept, and used by any goroutine.
type Replier struct{ conn *conn }

// Ack says that the downlink was accepted for processing. It comes before Result.
// The error is ErrClosed.
func (r Replier) Ack(ack message.DownstreamAck) error {
	return r.conn.reply(func(dst []byte) []byte { return message.AppendDownstreamAck(dst, &ack) })
}

// Result says what became of the downlink. The error is ErrClosed.
func (r Replier) Result(result message.DownstreamResult) error {
	return r.conn.reply(func(dst []byte) []byte { return message.AppendDownstreamResult(dst, &result) })
}

// reply leaves a reply for the writer.
func (c *conn) reply(appendTo func([]byte) []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.replies) > farTooMany {
		c.endLocked(statusTryAgainLater, "replies are not read")
	}
	if c.ending != nil {
		c.server.stats.lostReplies.Add(1)
		return ErrClosed
	}
	begin := len(c.replies)
	c.replies = websocket.EndFrame(appendTo(websocket.BeginFrame(c.replies)), begin, ws.OpText)
	c.server.stats.replies.Add(1)
	if begin == 0 {
		c.wake()
	}
	return nil
}
