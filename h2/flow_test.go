package h2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"pgregory.net/rapid"

	"contend/errkind"
	"contend/internal/testenv"
)

// A server reads what a connection sends and keeps count of it by the rules of
// flow control.
type server struct {
	t       rapid.TB
	in      bytes.Buffer
	framer  *http2.Framer
	window  int64
	windows map[uint32]int64
	first   int64
	open    map[uint32]bool
	bodies  map[uint32][]byte
	streams []uint32 // whose requests are complete
}

func newServer(t rapid.TB) *server {
	s := &server{t: t, window: defaultWindow, first: defaultWindow, windows: map[uint32]int64{}, open: map[uint32]bool{}, bodies: map[uint32][]byte{}}
	s.framer = http2.NewFramer(nil, &s.in)
	s.framer.ReadMetaHeaders = hpack.NewDecoder(tableSize, nil)
	return s
}

// take reads frames and checks each against the windows.
func (s *server) take(p []byte) {
	s.in.Write(p)
	for s.in.Len() > 0 {
		frame, err := s.framer.ReadFrame()
		if err != nil {
			s.t.Fatalf("the server reads: %v", err)
		}
		id := frame.Header().StreamID
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			s.windows[id], s.open[id] = s.first, true
			if f.StreamEnded() {
				s.streams = append(s.streams, id)
			}
		case *http2.DataFrame:
			n := int64(len(f.Data()))
			s.window -= n
			s.windows[id] -= n
			if s.window < 0 || n > 0 && s.windows[id] < 0 {
				s.t.Fatalf("%d bytes on stream %d overrun a window: %d, %d", n, id, s.window, s.windows[id])
			}
			s.bodies[id] = append(s.bodies[id], f.Data()...)
			if f.StreamEnded() {
				s.streams = append(s.streams, id)
			}
		case *http2.RSTStreamFrame:
			delete(s.open, id)
		}
	}
}

func frame(kind byte, stream uint32, payload ...byte) []byte {
	return append(appendFrameHeader(nil, frameHeader{length: len(payload), kind: kind, stream: stream}), payload...)
}

func setting(id uint16, value uint32) []byte {
	return frame(frameSettings, 0, appendSetting(nil, id, value)...)
}

func respond(stream uint32) []byte {
	return append(appendHeaders(nil, stream, []byte{0x88}, false), appendData(nil, stream, []byte("ok"), true)...)
}

// Whatever windows and limits a server sets, and however it changes them,
// they are kept, and every body arrives whole.
func TestFlowControl(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 5).Draw(t, "slots")
		body := strings.Repeat("0123456789abcdef", rapid.IntRange(0, 8000).Draw(t, "size/16"))
		request := NewRequest([]Field{{":method", "POST"}, {":path", "/"}, {":scheme", "http"}, {"x", "y"}}, []byte(body))
		r := &recorder{}
		c, s := NewConn(slots, r), newServer(t)
		maxOpen := slots
		send := func(p []byte) {
			out, err := c.Receive(nil, p)
			testenv.Must(t, err)
			s.take(out)
			if len(s.open) > max(1, maxOpen) {
				t.Fatalf("%d streams, more than %d", len(s.open), maxOpen)
			}
		}
		resize := func(value int64) {
			for id := range s.windows {
				s.windows[id] += value - s.first
			}
			s.first = value
			send(setting(settingWindow, uint32(value)))
		}
		if hello := c.Open(nil); !bytes.HasPrefix(hello, []byte(preface)) {
			t.Fatal("no preface")
		} else {
			s.take(hello[len(preface):])
		}
		busy, total, answers := map[int]bool{}, 0, 0
		start := func() {
			for slot := range slots {
				if !busy[slot] && rapid.Bool().Draw(t, "start") {
					busy[slot] = true
					total++
					s.take(c.Start(nil, slot, request))
				}
			}
		}
		answer := func() {
			complete := s.streams
			s.streams = nil
			for _, id := range complete {
				if string(s.bodies[id]) != body {
					t.Fatalf("stream %d: %d bytes, want %d", id, len(s.bodies[id]), len(body))
				}
				delete(s.open, id)
				delete(s.windows, id)
				answers++
				send(respond(id))
			}
			for _, event := range r.events {
				var slot int
				if n, _ := fmt.Sscanf(event, "%d end <nil>", &slot); n == 1 && strings.HasSuffix(event, "end <nil>") {
					delete(busy, slot)
				}
			}
			r.events = nil
		}
		send(frame(frameSettings, 0))
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				start()
			case 2:
				answer()
			case 3:
				resize(int64(rapid.IntRange(0, 100_000).Draw(t, "window")))
			case 4:
				credit := rapid.IntRange(1, 100_000).Draw(t, "credit")
				s.window += int64(credit)
				send(appendWindowUpdate(nil, 0, credit))
			case 5:
				maxOpen = rapid.IntRange(len(s.open), 6).Draw(t, "streams") // never fewer than there are
				send(setting(settingStreams, uint32(maxOpen)))
			}
		}
		maxOpen = slots
		send(setting(settingStreams, 100))
		s.window += 1 << 28
		send(appendWindowUpdate(nil, 0, 1<<28))
		resize(1 << 20)
		for answers < total {
			before := answers
			answer()
			if answers == before {
				t.Fatalf("%d of %d requests arrived", answers, total)
			}
		}
		if len(busy) > 0 {
			// the last answers were sent, so every slot must have been told
			answer()
			if len(busy) > 0 {
				t.Fatalf("slots %v have no end", busy)
			}
		}
	})
}

// The server's window is opened again each time half of it is used up, on the
// stream and on the connection.
func TestCredit(t *testing.T) {
	c := one(t, &recorder{})
	if _, err := receive(c, unhex(t, settings+answered), 100); err != nil {
		t.Fatal(err)
	}
	data := frame(frameData, 1, make([]byte, maxFrameBytes)...)
	var out []byte
	var err error
	// 2²⁹ / 2¹⁴ = 2¹⁵ frames make half the window.
	for range 1 << 15 {
		if len(out) > 0 {
			t.Fatal("too early")
		}
		if out, err = c.Receive(out, data); err != nil {
			t.Fatal(err)
		}
	}
	want := append(appendWindowUpdate(nil, 0, windowStep), appendWindowUpdate(nil, 1, windowStep)...)
	if !bytes.Equal(out, want) {
		t.Errorf("sent %x, want %x", out, want)
	}
}

// A table of the server that is smaller than ours is not used: the next block
// says so, and the fields are written in full from there.
func TestSmallTable(t *testing.T) {
	c := one(t, &recorder{})
	if _, err := c.Receive(nil, setting(settingTableSize, 100)); err != nil {
		t.Fatal(err)
	}
	plain := "86 84 01 01 68" // without :method
	for i, want := range []string{"000007 01 05 00000003 20 83" + plain, "000006 01 05 00000005 83" + plain} {
		out := c.Start(nil, 1, simpleRequest(""))
		if string(out) != string(unhex(t, want)) {
			t.Errorf("request %d: %x, want %s", i+1, out, want)
		}
		c.Cancel(nil, 1)
	}
}

// A second kind of request leaves the table as the first made it.
func TestOtherRequest(t *testing.T) {
	c := one(t, &recorder{})
	receive(c, unhex(t, settings), 100)
	other := NewRequest([]Field{{":method", "GET"}, {":path", "/b"}}, nil)
	if out := c.Start(nil, 1, other); string(out) != string(unhex(t, "000005 01 05 00000003 82 04 02 2f62")) {
		t.Errorf("sent %x", out)
	}
}

// A rewritten request is written in full, and never into the table.
func TestRewrite(t *testing.T) {
	c := NewConn(1, &recorder{})
	c.Open(nil)
	var request Request
	for i, want := range []string{
		"000006 01 05 00000001 83 84 01 01 68 86",
		"000006 01 04 00000003 82 84 01 01 69 86" + "000001 00 01 00000003 78",
	} {
		fields := []Field{{":method", "POST"}, {":path", "/"}, {":authority", "h"}, {":scheme", "http"}}
		body := ""
		if i > 0 {
			fields[0].Value, fields[2].Value, body = "GET", "i", "x"
		}
		request.Rewrite(fields, []byte(body))
		if out := c.Start(nil, 0, &request); string(out) != string(unhex(t, want)) {
			t.Errorf("%x, want %s", out, want)
		}
		c.Cancel(nil, 0)
	}
}

// A header longer than a frame is continued, and its fields beyond the table's
// size are written in full each time.
func TestLongRequest(t *testing.T) {
	fields := []Field{{":method", "POST"}, {":path", "/"}, {":scheme", "http"}}
	for i := range 10 {
		fields = append(fields, Field{fmt.Sprintf("x-%d", i), strings.Repeat("v", 2000)})
	}
	request := NewRequest(fields, []byte("body"))
	c, s := NewConn(1, &recorder{}), newServer(t)
	s.take(c.Open(nil)[len(preface):])
	for stream := uint32(1); stream < 6; stream += 2 {
		s.take(c.Start(nil, 0, request))
		if string(s.bodies[stream]) != "body" {
			t.Errorf("stream %d has the body %q", stream, s.bodies[stream])
		}
		if _, err := c.Receive(nil, append(unhex(t, settings), respond(stream)...)); err != nil {
			t.Fatal(err)
		}
	}
}

// Once the server has said that it goes away, or streams run out, requests
// should go to another connection.
func TestDraining(t *testing.T) {
	c := one(t, &recorder{})
	if c.Draining() {
		t.Error("from the start")
	}
	c.next = maxStreamID - 4*2 + 2
	if !c.Draining() {
		t.Error("not with the last streams")
	}
	r := &recorder{}
	c = one(t, r)
	c.Start(nil, 1, simpleRequest("")) // held back
	if _, err := c.Receive(nil, unhex(t, settings+"000008 07 00 00000000 00000001 00000000")); err != nil || !c.Draining() {
		t.Errorf("after GOAWAY: %v", err)
	}
	if got := strings.Join(r.events, "|"); got != "1 end "+ErrUnprocessed.Error()+": GOAWAY, NO_ERROR" {
		t.Error(got)
	}
	c.Start(c.Open(nil), 0, simpleRequest(""))
	if c.Draining() {
		t.Error("after a new connection")
	}
}

// A server ends a connection that is in use, or one that is idle, as between two requests of a caller that thinks.
func TestParted(t *testing.T) {
	away := func(last byte) []byte { return frame(frameGoAway, 0, 0, 0, 0, last, 0, 0, 0, 0) }
	first, second := append(unhex(t, settings), respond(1)...), respond(3)
	for _, tt := range []struct {
		name     string
		received [][]byte // a request is sent before the first and the second
		want     int
	}{
		{"not at all", [][]byte{first, second}, 0},
		{"with the end of a response", [][]byte{first, slices.Concat(second, away(3))}, 2},
		{"before a response", [][]byte{first, slices.Concat(away(3), second)}, 2},
		{"before a response, and again after it", [][]byte{first, away(127), second, away(3)}, 2},
		{"and takes a request back", [][]byte{first, away(1)}, 1},
		{"when it is idle", [][]byte{first, second, away(3)}, 0},
		{"without any response", [][]byte{unhex(t, settings+"000008 07 00 00000000 00000000 00000000")}, 0},
	} {
		c := NewConn(2, &recorder{})
		c.Open(nil)
		for i, in := range tt.received {
			if i < 2 {
				c.Start(nil, 0, simpleRequest(""))
			}
			if _, err := c.Receive(nil, in); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		c.Open(nil)
		if got, again := c.Parted(), c.Parted(); got != tt.want || again != 0 {
			t.Errorf("%s: after %d requests, then %d; want %d, then 0", tt.name, got, again, tt.want)
		}
	}
}

// A server that only wants replies, or sends a header without end, loses the
// connection.
func TestFloods(t *testing.T) {
	for name, next := range map[string][]byte{
		"PING":         frame(framePing, 0, make([]byte, 8)...),
		"SETTINGS":     unhex(t, empty),
		"CONTINUATION": frame(frameContinuation, 1, make([]byte, 1000)...),
	} {
		c := one(t, &recorder{})
		in := unhex(t, settings)
		if name == "CONTINUATION" {
			in = append(in, frame(frameHeaders, 1)...)
		}
		sent := 0
		out, err := c.Receive(nil, in)
		for range 2 * maxReplies {
			if sent += len(out); err != nil {
				break
			}
			out, err = c.Receive(nil, next)
		}
		if errkind.Of(err) != errkind.Protocol || sent > 20*maxReplies || cap(c.receiver.block) > 2*maxHeaderBytes {
			t.Errorf("%s: %v, %d bytes sent, %d held", name, err, sent, cap(c.receiver.block))
		}
	}
}

// However bytes are cut, they mean the same; and what they make us hold is
// bounded.
func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		settings + answered + "000003 00 00 00000001 616263" + trailers,
		settings + "000009 01 2d 00000001 02 00000000 ff 88 0000" + "000008 06 00 00000000 0102030405060708",
		settings + "000001 01 01 00000001 88" + "000002 09 00 00000001 0001" + "000002 09 04 00000001 6100",
		settings + answered + "000006 00 09 00000001 02 616263 0000" + "000008 07 00 00000000 00000001 00000000",
		"000006 04 00 00000000 0003 00000001" + "000004 03 00 00000001 00000002" + "000004 08 00 00000000 00000001",
		"000006 04 00 00000000 0004 00000001" + "000006 04 00 00000000 0001 00000000" + "000005 02 00 00000001 0000000000",
	} {
		f.Add(unhex(f, seed), byte(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, pieces byte) {
		var events [2]string
		var sent [2][]byte
		for i, n := range []int{max(1, len(in)), 1 + int(pieces)} {
			r := &recorder{}
			c := one(t, r)
			c.Start(nil, 1, simpleRequest("ab"))
			out, err := receive(c, in, n)
			if held := cap(c.receiver.partial) + cap(c.receiver.block); held > 4*maxFrameBytes+2*len(in) {
				t.Errorf("%d bytes held", held)
			}
			open := 0
			for slot := range c.streams {
				r.flush(slot)
				if c.streams[slot].id > 0 {
					open++
				}
			}
			if open != c.open {
				t.Errorf("%d streams counted, %d open", c.open, open)
			}
			events[i], sent[i] = fmt.Sprint(r.events, err), out
		}
		if events[0] != events[1] || !bytes.Equal(sent[0], sent[1]) {
			t.Errorf("whole: %s\nin pieces: %s\nsent %x\n     %x", events[0], events[1], sent[0], sent[1])
		}
	})
}

func TestStreamNumbers(t *testing.T) {
	// The 51st stream and the first share their bits of recent, 2 · 2 slots.
	c := NewConn(2, &recorder{})
	c.Start(c.Open(nil), 0, simpleRequest(""))
	c.Receive(nil, unhex(t, settings))
	for range 10 {
		out := c.Start(nil, 1, simpleRequest(""))
		id := binary.BigEndian.Uint32(out[streamOffset:])
		if slot := c.slotOf(id); slot != 1 {
			t.Errorf("stream %d has slot %d", id, slot)
		}
		if slot := c.slotOf(1); slot != 0 {
			t.Errorf("stream 1 has slot %d beside stream %d", slot, id)
		}
		c.Cancel(nil, 1)
	}
	if slot := c.slotOf(3); slot >= 0 {
		t.Errorf("a stream that was given up has slot %d", slot)
	}
}
