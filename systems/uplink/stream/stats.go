package stream

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/gobwas/ws"
)

// Stats are what a Server has counted since New.
type Stats struct {
	Open   [kinds]int64 // connections now, by Kind
	Opened int64
	// Closed counts connections by the code of the close frame, ours or the
	// customer's: 1005 without a code, 1006 without a close frame.
	Closed map[int]int64
	// Refused before the upgrade: a wrong token; no WebSocket handshake; too many
	// connections, no outbox, or stopping.
	Unauthorized, BadHandshake, Refused int64

	Sent, BytesSent         int64 // uplinks; bytes of all that was written
	Received, BytesReceived int64 // messages; bytes of all that was read
	Answers, Downlinks      int64
	Malformed               int64 // messages; each ended its connection
	Replies, LostReplies    int64 // left to be written; too late for their connection
	Stalled                 int64 // connections on which a write made no progress
	Silent                  int64 // connections on which nothing came, not even a pong
	Pings, Pongs            int64 // received
}

type counters struct {
	open                                [kinds]atomic.Int64
	opened                              atomic.Int64
	unauthorized, badHandshake, refused atomic.Int64
	sent, bytesSent                     atomic.Int64
	received, bytesReceived             atomic.Int64
	answers, downlinks, malformed       atomic.Int64
	replies, lostReplies                atomic.Int64
	stalled, silent, pings, pongs       atomic.Int64

	mu    sync.Mutex
	codes map[int]int64
}

func (c *counters) closed(code ws.StatusCode) {
	if code == 0 {
		code = ws.StatusAbnormalClosure
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.codes == nil {
		c.codes = make(map[int]int64)
	}
	if _, known := c.codes[int(code)]; !known && len(c.codes) >= maxCodes {
		code = ws.StatusNoMeaningYet
	}
	c.codes[int(code)]++
}

// maxCodes bounds Closed: customers choose their codes. More are counted as 1004,
// which nobody may send.
const maxCodes = 50

// Stats returns what was counted.
func (s *Server) Stats() Stats {
	c := &s.stats
	out := Stats{
		Opened:       c.opened.Load(),
		Unauthorized: c.unauthorized.Load(), BadHandshake: c.badHandshake.Load(), Refused: c.refused.Load(),
		Sent: c.sent.Load(), BytesSent: c.bytesSent.Load(),
		Received: c.received.Load(), BytesReceived: c.bytesReceived.Load(),
		Answers: c.answers.Load(), Downlinks: c.downlinks.Load(), Malformed: c.malformed.Load(),
		Replies: c.replies.Load(), LostReplies: c.lostReplies.Load(),
		Stalled: c.stalled.Load(), Silent: c.silent.Load(), Pings: c.pings.Load(), Pongs: c.pongs.Load(),
	}
	for i := range c.open {
		out.Open[i] = c.open[i].Load()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out.Closed = maps.Clone(c.codes)
	return out
}
