// Package websocket turns bytes into the messages of a WebSocket (RFC 6455) and
// messages into bytes, for clients and servers. It knows nothing about what messages
// mean, and only parses lists of handshakes.
//
// A Reader returns all messages that one read brought and allocates nothing per
// message. Whatever the other side announces, memory follows the bytes that have
// arrived, up to about twice the longest message allowed.
package websocket

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

const (
	// keep is how much memory a reader keeps for long messages.
	keep = 64 << 10
	// maxEmpty is how many frames of one message may be empty in a row: the other
	// side could go on with them for ever.
	maxEmpty = 1000
)

// A Config says what a Reader takes.
type Config struct {
	// Server says that the other side is a client, whose frames are masked.
	Server bool
	// Deflated allows compressed messages (RFC 7692), which the caller inflates.
	Deflated bool
	// MaxMessage is the length of the longest message in bytes, compressed or not.
	MaxMessage int
	// Buffer is how many bytes one read takes, unless a longer message comes.
	Buffer int
	// Now tells the time for Message.FirstByte; nil: it is 0.
	Now func() time.Duration
}

// A CloseError is why, and how, a connection is to be closed: a status code of
// RFC 6455, section 7.4, and the cause in words.
type CloseError struct {
	Code   ws.StatusCode
	Reason string
}

func (e *CloseError) Error() string { return strconv.Itoa(int(e.Code)) + " " + e.Reason }

// A Message is a text or binary message, or a ping, pong or close frame.
type Message struct {
	// Op is never a continuation: the frames of a message are put together.
	Op   ws.OpCode
	Data []byte
	// Compressed says that Data is to be inflated, and that a text was not checked
	// for UTF-8.
	Compressed bool
	// Wire and Body are the bytes of its frames, with and without their headers.
	Wire, Body int64
	// FirstByte is when its first header came.
	FirstByte time.Duration
}

// A Reader finds messages and control frames in what the other side sends. One
// goroutine at a time may use it.
type Reader struct {
	from       io.Reader
	config     Config
	state      ws.State
	buf        []byte
	begin, end int // what is in buf and not yet returned
	filled     time.Duration

	begun   bool    // the first header of message was seen
	message Message // that is coming, or was returned last
	parts   []byte  // its data, if it has several frames
	empty   int     // its latest frames, if they have no data
	control Message // the latest control frame
}

// NewReader returns a reader that begins with what was read already.
func NewReader(from io.Reader, already []byte, c Config) *Reader {
	r := &Reader{from: from, config: c, buf: make([]byte, max(c.Buffer, len(already)))}
	r.end = copy(r.buf, already)
	r.state = ws.StateClientSide
	if c.Server {
		r.state = ws.StateServerSide
	}
	if c.Deflated {
		r.state = r.state.Set(ws.StateExtended)
	}
	if c.Now != nil {
		r.filled = c.Now()
	}
	return r
}

// Fill reads once and returns how many bytes came, at least 1 unless err is
// set. What Next returned is no longer valid.
func (r *Reader) Fill() (n int, err error) {
	r.end = copy(r.buf, r.buf[r.begin:r.end])
	r.begin = 0
	switch {
	case r.end == 0 && len(r.buf) > max(keep, r.config.Buffer):
		r.buf = make([]byte, r.config.Buffer)
	case r.end == len(r.buf):
		r.buf = append(r.buf, make([]byte, r.end)...)
	}
	n, err = r.from.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		err = nil // it comes again
	}
	if r.config.Now != nil {
		r.filled = r.config.Now()
	}
	return n, err
}

// Next returns the next message or control frame that is complete, valid until
// the next call of a method; nil says that more has to be read first. The error
// is a *CloseError.
func (r *Reader) Next() (*Message, error) {
	for {
		h, size, err := r.header()
		if err != nil || size == 0 || int64(r.end-r.begin-size) < h.Length {
			return nil, err
		}
		data := r.buf[r.begin+size:][:h.Length]
		r.begin += size + len(data)
		if h.Masked {
			ws.Cipher(data, h.Mask, 0)
		}
		if h.OpCode.IsControl() {
			r.control.Op, r.control.Data = h.OpCode, data
			return &r.control, nil
		}
		if err := r.join(h, size, data); err != nil {
			return nil, err
		}
		if !h.Fin {
			continue
		}
		r.begun, r.state = false, r.state.Clear(ws.StateFragmented)
		m := &r.message
		if m.Op == ws.OpText && !m.Compressed && !utf8.Valid(m.Data) {
			return nil, &CloseError{ws.StatusInvalidFramePayloadData, "a text that is not UTF-8"}
		}
		return m, nil
	}
}

// header reads the header of the next frame, without taking it from the buffer,
// and refuses what is not allowed before it has come. Size 0 means that the header
// is not complete.
func (r *Reader) header() (h ws.Header, size int, err error) {
	b := r.buf[r.begin:r.end]
	if len(b) < ws.MinHeaderSize {
		return h, 0, nil
	}
	h = ws.Header{Fin: b[0]&0x80 != 0, Rsv: b[0] >> 4 & 7, OpCode: ws.OpCode(b[0] & 15),
		Masked: b[1]&0x80 != 0, Length: int64(b[1] & 0x7f)}
	if err := r.check(h); err != nil {
		return h, 0, &CloseError{ws.StatusProtocolError, err.Error()}
	}
	extended := 0
	switch h.Length {
	case 126:
		extended = 2
	case 127:
		extended = 8
	}
	size = ws.MinHeaderSize + extended
	if h.Masked {
		size += len(h.Mask)
	}
	if len(b) < size {
		return h, 0, nil
	}
	switch extended {
	case 2:
		h.Length = int64(binary.BigEndian.Uint16(b[2:]))
	case 8:
		h.Length = int64(binary.BigEndian.Uint64(b[2:]))
	}
	if h.Length < 0 {
		return h, 0, &CloseError{ws.StatusProtocolError, ws.ErrHeaderLengthMSB.Error()}
	}
	if h.Masked {
		copy(h.Mask[:], b[size-len(h.Mask):])
	}
	if h.OpCode.IsControl() {
		return h, size, nil
	}
	if !r.begun {
		r.begun, r.empty = true, 0
		m := &r.message
		m.Op, m.Compressed, m.FirstByte = h.OpCode, h.Rsv1(), r.filled
		m.Wire, m.Body = 0, 0
	}
	if h.Length > int64(r.config.MaxMessage)-r.message.Body {
		return h, 0, &CloseError{ws.StatusMessageTooBig, fmt.Sprintf("a message of more than %d bytes", r.config.MaxMessage)}
	}
	return h, size, nil
}

// check refuses a header that RFC 6455 does not allow here.
func (r *Reader) check(h ws.Header) error {
	if err := ws.CheckHeader(h, r.state); err != nil {
		return err
	}
	// An extension gives a meaning to the first of the reserved bits only, and that
	// in the first frame of a message.
	first := h.OpCode == ws.OpText || h.OpCode == ws.OpBinary
	if h.Rsv != 0 && (h.Rsv2() || h.Rsv3() || !first) {
		return ws.ErrProtocolNonZeroRsv
	}
	return nil
}

// join adds a frame to its message. A message of one frame stays where it is.
func (r *Reader) join(h ws.Header, size int, data []byte) error {
	m := &r.message
	m.Wire += int64(size) + h.Length
	m.Body += h.Length
	switch {
	case h.Length > 0:
		r.empty = 0
	case !h.Fin:
		r.empty++
	}
	if r.empty > maxEmpty {
		return &CloseError{ws.StatusPolicyViolation, fmt.Sprintf("more than %d empty frames in a row", maxEmpty)}
	}
	if h.OpCode != ws.OpContinuation {
		if m.Data = data; h.Fin {
			return nil
		}
		r.state = r.state.Set(ws.StateFragmented)
		if r.parts = r.parts[:0]; cap(r.parts) > keep {
			r.parts = nil
		}
	}
	r.parts = append(r.parts, data...)
	m.Data = r.parts
	return nil
}
