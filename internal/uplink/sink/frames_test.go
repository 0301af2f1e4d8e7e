package sink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gobwas/ws"
	"pgregory.net/rapid"
)

// A feed is a connection that brings what a reader has.
type feed struct {
	net.Conn
	io.Reader
	written bytes.Buffer
}

func (f *feed) Read(p []byte) (int, error)       { return f.Reader.Read(p) }
func (f *feed) Write(p []byte) (int, error)      { return f.written.Write(p) }
func (f *feed) SetReadDeadline(time.Time) error  { return nil }
func (f *feed) SetWriteDeadline(time.Time) error { return nil }

func newFeed(r io.Reader) (*link, *feed) {
	f := &feed{Reader: r}
	return newLink(f, nil, rand.NewChaCha8([32]byte{})), f
}

// all returns every message that the link brings, and why it ended.
func all(l *link) (messages []string, err error) {
	for {
		for {
			op, data, err := l.next()
			if err != nil {
				return messages, err
			}
			if op == 0 {
				break
			}
			messages = append(messages, fmt.Sprintf("%x %s", byte(op), data))
		}
		if err := l.fill(); err != nil {
			return messages, err
		}
	}
}

// A wire is the bytes of frames.
func wire(t testing.TB, frames ...ws.Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, f := range frames {
		if err := ws.WriteFrame(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// Messages of any length, in any fragments, with control frames between them,
// arrive whole however the bytes come.
func TestMessagesArriveWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var frames []ws.Frame
		var want []string
		for range rapid.IntRange(1, 5).Draw(rt, "messages") {
			size := rapid.SampledFrom([]int{0, 1, 125, 126, 127, 65535, 65536, 200_000}).Draw(rt, "size")
			data := bytes.Repeat([]byte("x"), size)
			want = append(want, "1 "+string(data))
			op, parts := ws.OpText, rapid.IntRange(1, 4).Draw(rt, "parts")
			for i := range parts {
				part := data
				if i < parts-1 {
					part = data[:rapid.IntRange(0, len(data)).Draw(rt, "part")]
				}
				data = data[len(part):]
				frames = append(frames, ws.NewFrame(op, i == parts-1, part))
				op = ws.OpContinuation
				if i < parts-1 && rapid.Bool().Draw(rt, "ping") {
					frames = append(frames, ws.NewPingFrame([]byte("p")))
					want = append(want[:len(want)-1], "9 p", want[len(want)-1])
				}
			}
		}
		var from io.Reader = bytes.NewReader(wire(t, frames...))
		switch rapid.IntRange(0, 2).Draw(rt, "reader") {
		case 1:
			from = iotest.HalfReader(from)
		case 2:
			from = iotest.DataErrReader(from)
		}
		l, _ := newFeed(from)
		got, err := all(l)
		if strings.Join(got, "\n") != strings.Join(want, "\n") || err == nil {
			rt.Fatalf("%d messages of %d arrived, error %v", len(got), len(want), err)
		}
	})
}

func TestHostileFrames(t *testing.T) {
	long := make([]byte, 10)
	long[0], long[1] = 0x82, 127
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"masked", []byte{0x81, 0x80, 1, 2, 3, 4}, "mask"},
		{"reserved bit", []byte{0xc1, 0}, "rsv"},
		{"reserved code", []byte{0x83, 0}, "reserved"},
		{"continuation of nothing", []byte{0x80, 0}, "continuation"},
		{"message within a message", []byte{0x01, 0, 0x81, 0}, "continuation"},
		{"long ping", append([]byte{0x89, 126, 0, 200}, make([]byte, 200)...), "control"},
		{"ping in parts", []byte{0x09, 0}, "control"},
		{"length beyond the limit", binary.BigEndian.AppendUint64(long[:2:2], maxMessage+1), "more than"},
		{"length beyond everything", binary.BigEndian.AppendUint64(long[:2:2], 1<<63-1), "more than"},
		{"parts beyond the limit", append(binary.BigEndian.AppendUint64([]byte{0x02, 127}, maxMessage),
			append(make([]byte, maxMessage), 0x80, 1, 0)...), "more than"},
		{"cut off", []byte{0x82, 5, 1}, "without a close frame"},
	}
	for _, tt := range tests {
		l, _ := newFeed(bytes.NewReader(tt.data))
		_, err := all(l)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// A header that promises much takes no memory before the bytes come.
func TestPromisesCostNothing(t *testing.T) {
	l, _ := newFeed(bytes.NewReader(binary.BigEndian.AppendUint64([]byte{0x82, 127}, maxMessage)))
	if _, err := all(l); err == nil || cap(l.in) > 2*readSize {
		t.Errorf("buffer of %d bytes, error %v", cap(l.in), err)
	}
}

// Answers are frames that a server can read, and all of them go out at once.
func TestAnswersGoOutTogether(t *testing.T) {
	l, f := newFeed(bytes.NewReader(nil))
	texts := []string{"", "ack", strings.Repeat("y", 125), strings.Repeat("z", 126), strings.Repeat("w", 60_000)}
	for _, text := range texts {
		l.send(ws.OpText, []byte(text))
	}
	if f.written.Len() > 0 {
		t.Errorf("%d bytes were written before the flush", f.written.Len())
	}
	if err := l.flush(); err != nil || int(l.bytesOut) != f.written.Len() {
		t.Errorf("%d bytes out, counted %d, error %v", f.written.Len(), l.bytesOut, err)
	}
	masks := map[[4]byte]bool{}
	for _, want := range texts {
		h, err := ws.ReadHeader(&f.written)
		if err != nil {
			t.Fatal(err)
		}
		data := f.written.Next(int(h.Length))
		ws.Cipher(data, h.Mask, 0)
		if err := ws.CheckHeader(h, ws.StateServerSide); err != nil || string(data) != want {
			t.Errorf("a frame of %d bytes, want %d, error %v", len(data), len(want), err)
		}
		masks[h.Mask] = true
	}
	if len(masks) < len(texts) {
		t.Errorf("%d masks for %d frames", len(masks), len(texts))
	}
}

// Whatever the server writes, reading it ends, in bounded memory.
func FuzzLink(f *testing.F) {
	f.Add(wire(f, ws.NewTextFrame([]byte(`{"ProtocolVersion":1}`)), ws.NewPingFrame(nil)))
	f.Add(wire(f, ws.NewFrame(ws.OpBinary, false, []byte("a")), ws.NewFrame(ws.OpContinuation, true, []byte("b"))))
	f.Add([]byte{0x82, 127, 0, 0, 0, 0, 0, 0x3f, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		l, _ := newFeed(bytes.NewReader(data))
		messages, err := all(l)
		total := 0
		for _, m := range messages {
			total += len(m)
		}
		if err == nil || errors.Is(err, io.ErrNoProgress) || total > 3*len(data) {
			t.Errorf("%d bytes of messages of %d, error %v", total, len(data), err)
		}
	})
}
