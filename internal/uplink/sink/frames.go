package sink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/gobwas/ws"
)

// A link is one WebSocket, seen by its client: many messages come from one read,
// and many answers go out in one write. It is used by one goroutine.
type link struct {
	conn     net.Conn
	reads    time.Time // the deadline of reads
	writes   time.Time // the deadline of writes
	in       []byte    // bytes from to to are not used yet
	from, to int
	state    ws.State
	opCode   ws.OpCode // of the message whose frames are read
	message  []byte    // its frames so far
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

func newLink(conn net.Conn, early []byte, mask *rand.ChaCha8) *link {
	l := &link{conn: conn, in: make([]byte, max(readSize, len(early))), mask: mask}
	l.to = copy(l.in, early)
	l.state = ws.StateClientSide
	return l
}

// fill reads once, after what is there already.
func (l *link) fill() error {
	l.to = copy(l.in, l.in[l.from:l.to])
	l.from = 0
	if l.to == len(l.in) {
		l.in = append(l.in, make([]byte, len(l.in))...) // next bounds it
	}
	n, err := l.conn.Read(l.in[l.to:])
	l.to += n
	if n > 0 {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return errors.New("sink: the connection was closed without a close frame")
	}
	return err
}

// arm makes sure that reads end at the given time at the latest, and writes
// after half the write timeout at the earliest: to move deadlines with each read
// would cost more.
func (l *link) arm(now, at time.Time) error {
	if l.writes.Before(now.Add(writeTimeout / 2)) {
		l.writes = now.Add(writeTimeout)
		if err := l.conn.SetWriteDeadline(l.writes); err != nil {
			return err
		}
	}
	if l.reads.After(now) && !at.Before(l.reads) {
		return nil
	}
	l.reads = at
	return l.conn.SetReadDeadline(at)
}

// next takes a message, or a control frame, out of what was read. op is 0 when
// there is no complete one. The data is valid until the next call, or fill.
func (l *link) next() (op ws.OpCode, data []byte, err error) {
	for {
		h, size, err := l.header()
		if err != nil || size == 0 {
			return 0, nil, err
		}
		data := l.in[l.from+size : l.from+size+int(h.Length)]
		l.from += size + int(h.Length)
		switch {
		case h.OpCode.IsControl() || h.Fin && h.OpCode != ws.OpContinuation:
			return h.OpCode, data, nil
		case h.OpCode != ws.OpContinuation:
			l.opCode, l.message = h.OpCode, append(l.message[:0], data...)
			l.state = l.state.Set(ws.StateFragmented)
			continue
		}
		if len(l.message)+len(data) > maxMessage {
			return 0, nil, errTooLong
		}
		l.message = append(l.message, data...)
		if h.Fin {
			l.state = l.state.Clear(ws.StateFragmented)
			return l.opCode, l.message, nil
		}
	}
}

var errTooLong = fmt.Errorf("sink: a message of more than %d bytes", maxMessage)

// header reads a frame's header. The size is 0 when the frame is not complete.
func (l *link) header() (h ws.Header, size int, err error) {
	data := l.in[l.from:l.to]
	if len(data) < 2 {
		return h, 0, nil
	}
	h = ws.Header{Fin: data[0]&0x80 != 0, Rsv: data[0] >> 4 & 7, OpCode: ws.OpCode(data[0] & 0x0f), Masked: data[1]&0x80 != 0}
	size = 2
	switch n := data[1] & 0x7f; {
	case n < 126:
		h.Length = int64(n)
	case n == 126:
		if size = 4; len(data) < size {
			return h, 0, nil
		}
		h.Length = int64(binary.BigEndian.Uint16(data[2:]))
	default:
		if size = 10; len(data) < size {
			return h, 0, nil
		}
		h.Length = int64(binary.BigEndian.Uint64(data[2:]) & (1<<63 - 1))
	}
	if err := ws.CheckHeader(h, l.state); err != nil {
		return h, 0, fmt.Errorf("sink: frame: %w", err)
	}
	if h.Length > maxMessage {
		return h, 0, errTooLong
	}
	if len(data) < size+int(h.Length) {
		return h, 0, nil
	}
	return h, size, nil
}

// send puts a frame into what the next flush writes; data is not kept.
func (l *link) send(op ws.OpCode, data []byte) {
	l.out = append(l.out, 0x80|byte(op))
	switch n := len(data); {
	case n < 126:
		l.out = append(l.out, 0x80|byte(n))
	default:
		l.out = append(l.out, 0x80|126)
		l.out = binary.BigEndian.AppendUint16(l.out, uint16(n))
	}
	var mask [4]byte
	binary.LittleEndian.PutUint32(mask[:], uint32(l.mask.Uint64()))
	l.out = append(l.out, mask[:]...)
	begin := len(l.out)
	l.out = append(l.out, data...)
	ws.Cipher(l.out[begin:], mask, 0)
}

// flush writes all frames.
func (l *link) flush() error {
	if len(l.out) == 0 {
		return nil
	}
	n, err := l.conn.Write(l.out)
	l.bytesOut += int64(n)
	l.out, l.answers = l.out[:0], 0
	return err
}

// goodbye closes the connection so that what was written arrives: it waits, for
// patience at most, until the server has closed its side.
func (l *link) goodbye(patience time.Duration) {
	defer l.conn.Close()
	deadline := time.Now().Add(patience)
	if l.conn.SetDeadline(deadline) != nil {
		return
	}
	l.send(ws.OpClose, ws.NewCloseFrameBody(ws.StatusNormalClosure, ""))
	if _, err := l.conn.Write(l.out); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, l.conn) // until the end, or the deadline
}
