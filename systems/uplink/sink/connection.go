package sink

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/gobwas/ws"

	"contend/websocket"
)

// A connection is one WebSocket, seen by its client: many messages come from one read,
// and many answers go out in one write. It is used by one goroutine.
type connection struct {
	net.Conn
	reads    time.Time // the deadline of reads
	writes   time.Time // the deadline of writes
	in       *websocket.Reader
	mask     *rand.ChaCha8
	out      []byte
	answers  int // in out
	bytesOut int64
}

const (
	// readSize is how much is read at once: what waits in it has its time of
	// reception already, so it should be worked off within a millisecond or so.
	readSize = 64 << 10
	// maxMessage is the longest message that the public client receives.
	maxMessage   = 4 << 20
	writeTimeout = time.Minute
)

func newConnection(conn net.Conn, early []byte, mask *rand.ChaCha8) *connection {
	return &connection{Conn: conn, mask: mask,
		in: websocket.NewReader(conn, early, websocket.Config{MaxMessage: maxMessage, Buffer: readSize})}
}

// fill reads once, after what has been read already.
func (l *connection) fill() error {
	_, err := l.in.Fill()
	if errors.Is(err, io.EOF) {
		return errors.New("sink: the connection was closed without a close frame")
	}
	return err
}

// arm makes sure that reads end at the given time at the latest, and writes
// after half the write timeout at the earliest: to move deadlines with each read
// would cost more.
func (l *connection) arm(now, at time.Time) error {
	if l.writes.Before(now.Add(writeTimeout / 2)) {
		l.writes = now.Add(writeTimeout)
		if err := l.Conn.SetWriteDeadline(l.writes); err != nil {
			return err
		}
	}
	if l.reads.After(now) && !at.Before(l.reads) {
		return nil
	}
	l.reads = at
	return l.Conn.SetReadDeadline(at)
}

// next takes a message, or a control frame, out of what was read. It is nil if
// none is complete. The data is valid until the next call, or fill.
func (l *connection) next() (*websocket.Message, error) {
	m, err := l.in.Next()
	if err != nil {
		err = fmt.Errorf("sink: %w", err)
	}
	return m, err
}

// send puts a frame into what the next flush writes; data is not kept.
func (l *connection) send(op ws.OpCode, data []byte) {
	l.out = websocket.AppendMasked(l.out, op, false, data, uint32(l.mask.Uint64()))
}

// flush writes all frames.
func (l *connection) flush() error {
	if len(l.out) == 0 {
		return nil
	}
	n, err := l.Conn.Write(l.out)
	l.bytesOut += int64(n)
	l.out, l.answers = l.out[:0], 0
	return err
}

// closeGracefully closes the connection so that what was written arrives: it waits, for
// patience at most, until the server has closed its side.
func (l *connection) closeGracefully(patience time.Duration) {
	defer l.Conn.Close()
	deadline := time.Now().Add(patience)
	if l.Conn.SetDeadline(deadline) != nil {
		return
	}
	l.send(ws.OpClose, ws.NewCloseFrameBody(ws.StatusNormalClosure, ""))
	if _, err := l.Conn.Write(l.out); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, l.Conn) // until the end, or the deadline
}
