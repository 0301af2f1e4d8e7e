// Package websockettest provides WebSocket frames that every reader must reject,
// for the tests of readers.
package websockettest

import (
	"bytes"
	"slices"

	"github.com/gobwas/ws"
)

// A Side is the sender.
type Side bool

// The sides. Only a client masks what it sends.
const (
	Client Side = true
	Server Side = false
)

var mask = [4]byte{0xa5, 0x01, 0xfe, 0x70}

// Frame returns a frame. fin says that it is the last of its message.
func (s Side) Frame(op ws.OpCode, fin bool, payload []byte) []byte {
	f := ws.NewFrame(op, fin, slices.Clone(payload))
	if s == Client {
		f = ws.MaskFrameInPlaceWith(f, mask)
	}
	return ws.MustCompileFrame(f)
}

// header returns a header without what it promises.
func (s Side) header(h ws.Header) []byte {
	if h.Masked = s == Client; h.Masked {
		h.Mask = mask
	}
	var b bytes.Buffer
	_ = ws.WriteHeader(&b, h) // a bytes.Buffer takes everything
	return b.Bytes()
}

// A Mistake is what closes a connection, and with which code. The bytes end with
// the mistake: what a header promises need not come.
type Mistake struct {
	Name  string
	Bytes []byte
	Code  ws.StatusCode
}

// Mistakes returns those of a side to one that takes messages of at most limit bytes
// and no compressed ones.
func (s Side) Mistakes(limit int) []Mistake {
	first := func(op ws.OpCode, payload string) []byte { return s.Frame(op, false, []byte(payload)) }
	length := func(op ws.OpCode, fin bool, n int64) []byte {
		return s.header(ws.Header{OpCode: op, Fin: fin, Length: n})
	}
	reserved := func(bit byte) []byte {
		return s.header(ws.Header{OpCode: ws.OpText, Fin: true, Rsv: bit})[:2]
	}
	negative := length(ws.OpText, true, 1<<62)
	negative[2] |= 0x80
	return []Mistake{
		{"mask of the wrong side", (!s).Frame(ws.OpText, true, []byte("a")), 1002},
		{"mask of the wrong side, header only", (!s).Frame(ws.OpText, true, []byte("a"))[:2], 1002},
		{"first reserved bit", reserved(4), 1002},
		{"second reserved bit", reserved(2), 1002},
		{"third reserved bit", reserved(1), 1002},
		{"reserved code", length(3, true, 0)[:2], 1002},
		{"reserved control code", length(11, true, 0)[:2], 1002},
		{"ping of 126 bytes", length(ws.OpPing, true, 126)[:2], 1002},
		{"ping in parts", length(ws.OpPing, false, 0)[:2], 1002},
		{"continues nothing", length(ws.OpContinuation, true, 0)[:2], 1002},
		{"new message inside one", append(first(ws.OpText, ""), length(ws.OpText, true, 0)[:2]...), 1002},
		{"negative length", negative, 1002},
		{"largest length", length(ws.OpText, true, 1<<63-1), 1009},
		{"one byte too long", length(ws.OpBinary, true, int64(limit)+1), 1009},
		{"one byte too long in parts", append(first(ws.OpBinary, "a"), length(ws.OpContinuation, true, int64(limit))...), 1009},
		{"endless empty parts", append(first(ws.OpBinary, ""), bytes.Repeat(length(ws.OpContinuation, false, 0), 2000)...), 1008},
		{"not UTF-8", s.Frame(ws.OpText, true, []byte("\xff")), 1007},
		{"not UTF-8, in parts", append(first(ws.OpText, "\xe2"), s.Frame(ws.OpContinuation, true, []byte("a"))...), 1007},
	}
}
