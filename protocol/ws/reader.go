package ws

import (
	"bufio"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

// A reader makes messages of frames. Whatever it reads, it keeps at most its
// limit, twice if messages are compressed.
type reader struct {
	from     *bufio.Reader
	limit    int
	deflates bool
	now      func() time.Duration
	// control gets each ping, pong and close; the data is valid until it returns.
	control func(op ws.OpCode, data []byte) error

	scratch [ws.MaxHeaderSize]byte
	message []byte // as far as it has been received
	plain   []byte // decompressed
}

// An incoming is a message that was received. Its data is valid until the next.
type incoming struct {
	data []byte
	// wire is the length with what frames it, body without.
	wire, body int64
	firstByte  time.Duration // when its first frame began to arrive
}

// keep is how much memory a connection keeps for messages that do not fit into
// its read buffer.
const keep = 64 << 10

// maxEmpty is how many parts of one message may be empty: a server could go on
// with them for ever.
const maxEmpty = 1000

// next returns the next message.
func (r *reader) next() (incoming, error) {
	var (
		in    incoming
		first ws.Header
		empty int
		state = ws.StateClientSide.Set(ws.StateExtended) // rsv is checked below
	)
	if cap(r.message)+cap(r.plain) > keep {
		r.message, r.plain = nil, nil
	}
	r.message = r.message[:0]
	for {
		h, err := ws.ReadHeaderBuffer(r.from, r.scratch[:])
		if err != nil {
			return in, readError(err)
		}
		if err := ws.CheckHeader(h, state); err != nil {
			return in, protocolError("%v", err)
		}
		if err := r.checkReserved(h); err != nil {
			return in, err
		}
		if h.OpCode.IsControl() {
			if err := r.readControl(h); err != nil {
				return in, err
			}
			continue
		}
		if !state.Fragmented() {
			first, state = h, state.Set(ws.StateFragmented)
			in.firstByte = r.now()
		}
		in.wire += int64(ws.HeaderSize(h)) + h.Length
		in.body += h.Length
		if in.body > int64(r.limit) {
			return in, tooLong(r.limit)
		}
		if h.Length == 0 {
			empty++
		}
		if empty > maxEmpty {
			return in, protocolError("more than %d parts of a message are empty", maxEmpty)
		}
		if in.data, err = r.payload(h); err != nil {
			return in, readError(err)
		}
		if h.Fin {
			in.data, err = r.finish(first, in.data)
			return in, err
		}
	}
}

// checkReserved finds bits that no extension has given a meaning. The first
// one marks the beginning of a compressed message.
func (r *reader) checkReserved(h ws.Header) error {
	allowed := r.deflates && (h.OpCode == ws.OpText || h.OpCode == ws.OpBinary)
	if h.Rsv2() || h.Rsv3() || h.Rsv1() && !allowed {
		return protocolError("%v", ws.ErrProtocolNonZeroRsv)
	}
	return nil
}

func (r *reader) readControl(h ws.Header) error {
	data, err := r.from.Peek(int(h.Length)) // at most 125 bytes
	if err != nil {
		return readError(err)
	}
	err = r.control(h.OpCode, data)
	_, _ = r.from.Discard(len(data)) // they are in the buffer
	return err
}

// payload reads a frame's payload and returns the message so far. A message of
// one frame that fits the read buffer stays there.
func (r *reader) payload(h ws.Header) ([]byte, error) {
	if n := int(h.Length); h.Fin && len(r.message) == 0 && n <= r.from.Size() {
		data, err := r.from.Peek(n)
		_, _ = r.from.Discard(len(data))
		return data, err
	}
	for left := int(h.Length); left > 0; {
		// What a header promises is not what comes: memory follows the bytes.
		chunk := min(left, max(len(r.message), readBuffer))
		begin := len(r.message)
		r.message = append(r.message, make([]byte, chunk)...)
		n, err := io.ReadFull(r.from, r.message[begin:])
		r.message = r.message[:begin+n]
		if left -= n; err != nil {
			return nil, err
		}
	}
	return r.message, nil
}

// finish decompresses and checks a complete message.
func (r *reader) finish(first ws.Header, data []byte) ([]byte, error) {
	if first.Rsv1() {
		var err error
		if r.plain, err = inflate(r.plain[:0], data, r.limit); err != nil {
			return nil, err
		}
		data = r.plain
	}
	if first.OpCode == ws.OpText && !utf8.Valid(data) {
		return nil, protocolError("a text that is not UTF-8")
	}
	return data, nil
}

// readError says that the connection failed, or that the header was none.
func readError(err error) error {
	switch err {
	case ws.ErrHeaderLengthMSB, ws.ErrHeaderLengthUnexpected:
		return protocolError("%v", err)
	case io.EOF:
		return fmt.Errorf("ws: closed without a close frame: %w", err)
	}
	return fmt.Errorf("ws: read: %w", err)
}
