package websocket

import (
	"encoding/binary"

	"github.com/gobwas/ws"
)

const (
	final      = 0x80 // the last frame of a message
	compressed = 0x40
	masked     = 0x80
)

// serverHeader is the usual length of the header of an unmasked frame: that of
// 126 to 65 535 bytes.
const serverHeader = 4

// BeginFrame leaves room for the header of a server's frame, whose payload is
// appended next.
func BeginFrame(out []byte) []byte {
	return append(out, make([]byte, serverHeader)...)
}

// EndFrame writes the header of the frame that began at begin and ends with out.
func EndFrame(out []byte, begin int, op ws.OpCode) []byte {
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
	out[begin] = final | byte(op)
	return out
}

// AppendMasked appends a client's frame. The key should be fresh and hard to
// foresee (RFC 6455, section 5.3).
func AppendMasked(out []byte, op ws.OpCode, deflated bool, payload []byte, key uint32) []byte {
	first := final | byte(op)
	if deflated {
		first |= compressed
	}
	switch n := len(payload); {
	case n < 126:
		out = append(out, first, masked|byte(n))
	case n <= 0xffff:
		out = binary.BigEndian.AppendUint16(append(out, first, masked|126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, first, masked|127), uint64(n))
	}
	out = binary.LittleEndian.AppendUint32(out, key)
	begin := len(out)
	out = append(out, payload...)
	ws.Cipher(out[begin:], [4]byte(out[begin-4:begin]), 0)
	return out
}

// ParseClose reads the payload of a close frame. Without a code it is
// ws.StatusNoStatusRcvd. The error is a *CloseError.
func ParseClose(data []byte) (code ws.StatusCode, reason string, err error) {
	switch len(data) {
	case 0:
		return ws.StatusNoStatusRcvd, "", nil
	case 1:
		return 0, "", &CloseError{ws.StatusProtocolError, "half a status code"}
	}
	code, reason = ws.ParseCloseFrameData(data)
	// 1012 to 1014 were registered after RFC 6455.
	if err := ws.CheckCloseFrameData(code, reason); err != nil && (code < 1012 || code > 1014) {
		return 0, "", &CloseError{ws.StatusProtocolError, err.Error()}
	}
	return code, reason, nil
}
