package stream

import (
	"encoding/binary"
	"io"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

const (
	// maxMessage bounds what a customer may send as one message, whole or in parts.
	maxMessage = 1 << 20
	// buffer is what one read or one write moves at most, but for a longer message.
	buffer = 64 << 10
	// serverHeader is the usual length of a header that we write: that of 126 to
	// 65 535 bytes.
	serverHeader = 4
)

// A reader finds messages and control frames in what a client sends: many of
// them may come with one read. Its memory follows the bytes that came, not those
// that a header promises.
type reader struct {
	from       io.Reader
	buf        []byte
	begin, end int // what is in buf, not yet returned

	op      ws.OpCode // of the message that comes in parts; 0: none does
	message []byte    // those that came
}

// newReader returns a reader that begins with what was read already.
func newReader(from io.Reader, already []byte) *reader {
	r := &reader{from: from, buf: make([]byte, max(buffer, len(already)))}
	r.end = copy(r.buf, already)
	return r
}

// fill reads once and returns how many bytes came, from 1 unless err is set. What
// next returned is no longer valid.
func (r *reader) fill() (n int, err error) {
	r.end = copy(r.buf, r.buf[r.begin:r.end])
	r.begin = 0
	switch {
	case r.end == 0 && len(r.buf) > buffer:
		r.buf = make([]byte, buffer)
	case r.end == len(r.buf):
		r.buf = append(r.buf, make([]byte, r.end)...)
	}
	n, err = r.from.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		err = nil // it comes again
	}
	return n, err
}

// next returns the next message or control frame that is complete, and with op 0
// that more has to be read first. A continuation (also 0) is never returned: the
// parts of a message are put together. The error is a *closeError.
func (r *reader) next() (op ws.OpCode, data []byte, err error) {
	for {
		h, size, err := r.header()
		if err != nil || size == 0 || int64(r.end-r.begin-size) < h.Length {
			return 0, nil, err
		}
		data := r.buf[r.begin+size:][:h.Length]
		r.begin += size + len(data)
		ws.Cipher(data, h.Mask, 0)
		if h.OpCode.IsControl() {
			return h.OpCode, data, nil
		}
		if op, data = r.join(h, data); op == 0 {
			continue
		}
		if op == ws.OpText && !utf8.Valid(data) {
			return 0, nil, &closeError{ws.StatusInvalidFramePayloadData, "a text that is not UTF-8"}
		}
		return op, data, nil
	}
}

// header reads the header of the next frame, without taking it from the buffer,
// and refuses what is not allowed before it has come. Size 0 means that not all of
// the header is there.
func (r *reader) header() (h ws.Header, size int, err error) {
	b := r.buf[r.begin:r.end]
	if len(b) < ws.MinHeaderSize {
		return h, 0, nil
	}
	h = ws.Header{Fin: b[0]&0x80 != 0, Rsv: b[0] >> 4 & 7, OpCode: ws.OpCode(b[0] & 15),
		Masked: b[1]&0x80 != 0, Length: int64(b[1] & 0x7f)}
	extended := 0
	switch h.Length {
	case 126:
		extended = 2
	case 127:
		extended = 8
	}
	state := ws.StateServerSide
	if r.op != 0 {
		state = state.Set(ws.StateFragmented)
	}
	if err := ws.CheckHeader(h, state); err != nil {
		return h, 0, &closeError{ws.StatusProtocolError, err.Error()}
	}
	size = ws.MinHeaderSize + extended + len(h.Mask)
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
		return h, 0, &closeError{ws.StatusProtocolError, ws.ErrHeaderLengthMSB.Error()}
	}
	if !h.OpCode.IsControl() && h.Length > int64(maxMessage-len(r.parts())) {
		return h, 0, &closeError{ws.StatusMessageTooBig, "a message longer than 1 MiB"}
	}
	copy(h.Mask[:], b[size-len(h.Mask):])
	return h, size, nil
}

// parts returns what came of a message that comes in parts.
func (r *reader) parts() []byte {
	if r.op == 0 {
		return nil
	}
	return r.message
}

// join returns the message that a frame completes, op 0 if it does not.
func (r *reader) join(h ws.Header, data []byte) (ws.OpCode, []byte) {
	if h.Fin && r.op == 0 {
		return h.OpCode, data
	}
	if r.op == 0 {
		r.op = h.OpCode
		if r.message = r.message[:0]; cap(r.message) > buffer {
			r.message = nil
		}
	}
	r.message = append(r.message, data...)
	if !h.Fin {
		return 0, nil
	}
	op := r.op
	r.op = 0
	return op, r.message
}

// beginFrame leaves room for the header of a frame whose payload is appended next.
func beginFrame(out []byte) []byte {
	return append(out, make([]byte, serverHeader)...)
}

// endFrame writes the header of the frame that began at begin and ends with out.
func endFrame(out []byte, begin int, op ws.OpCode) []byte {
	const fin = 0x80
	payload := out[begin+serverHeader:]
	n := len(payload)
	switch {
	case n < 126:
		out = out[:begin+2+copy(out[begin+2:], payload)]
		out[begin+1] = byte(n)
	case n <= 0xffff:
		out[begin+1] = 126
		binary.BigEndian.PutUint16(out[begin+2:], uint16(n))
	default:
		out = append(out, make([]byte, 6)...)
		copy(out[begin+10:], out[begin+serverHeader:begin+serverHeader+n])
		out[begin+1] = 127
		binary.BigEndian.PutUint64(out[begin+2:], uint64(n))
	}
	out[begin] = fin | byte(op)
	return out
}
