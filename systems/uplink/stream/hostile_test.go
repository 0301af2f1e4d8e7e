package stream

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"

	"contend/systems/uplink/outbox"
	"contend/websocket/websockettest"

	"github.com/gobwas/ws"
)

// Whatever is against the protocol closes the connection, with the reason, and
// nothing else: another connection of the customer does not notice.
func TestHostile(t *testing.T) {
	s := newService(t, Config{})
	witness := s.open("/stream/upstream/", "a")
	type test struct {
		name, path string
		give       []byte
		want       ws.StatusCode
	}
	text := func(s string) []byte { return frame(ws.OpText, true, []byte(s)) }
	closeFrame := func(s string) []byte { return frame(ws.OpClose, true, []byte(s)) }
	tests := []test{
		{"garbage", "stream/upstream", text("hello"), 1008},
		{"JSON that is no answer", "stream/upstream", text(`{"TransactionID": []}`), 1008},
		{"nesting", "stream/upstream", text(strings.Repeat("[", 500_000)), 1008},
		{"empty", "stream/upstream", text(""), 1008},
		{"an answer downstream", "stream/downstream", text(`{"ProtocolVersion":1,"TransactionID":1,"ResultCode":"Other"}`), 1008},
		{"a close frame of 1 byte", "stream/upstream", closeFrame("\x03"), 1002},
		{"a code that must not be sent", "stream/upstream", closeFrame("\x03\xed"), 1002}, // 1005
		{"a code that means nothing", "stream/upstream", closeFrame("\x03\xe7"), 1002},    // 999
		{"a reason that is not UTF-8", "stream/upstream", closeFrame("\x03\xe8\xff"), 1002},
		{"our own code", "stream/upstream", closeFrame("\x03\xf5later"), 1013},
		{"a code of an application", "stream/upstream", closeFrame("\x10\xe1why"), 4321},
	}
	for _, m := range websockettest.Client.Mistakes(maxMessage) {
		for _, path := range []string{"stream/upstream", "stream/downstream"} {
			tests = append(tests, test{m.Name, path, m.Bytes, m.Code})
		}
	}
	want := map[int]int64{}
	for _, tt := range tests {
		want[int(tt.want)]++
		c := s.open("/"+tt.path+"/", "a")
		c.raw(tt.give)
		if code, reason := c.closed(); code != tt.want || reason == "" && code < 1010 {
			t.Errorf("%s, %s: %d %q, want %d", tt.path, tt.name, code, reason, tt.want)
		}
		c.must(c.Close())
	}
	s.put("a", 0, 1)
	witness.ack(witness.uplink())
	eventually(t, "answered", func() bool { return s.outcomes(outbox.Answered) == 1 })
	eventually(t, "counted", func() bool {
		return s.Stats().Malformed == 5 && maps.Equal(s.Stats().Closed, want)
	})
}

// Answers that came before a mistake, with the same read, count.
func TestAnswersBeforeMistake(t *testing.T) {
	s := newService(t, Config{})
	c := s.open("/stream/upstream/", "a")
	s.put("a", 0, 1)
	u := c.uplink()
	answer := fmt.Sprintf(`{"DevEUI": %d, "MIC": %d, "TransactionID": %d, "ProtocolVersion": 1}`, device, mic, u.Transaction)
	c.raw(append(frame(ws.OpBinary, true, []byte(answer)), 0x81, 1, 'a'))
	if code, reason := c.closed(); code != 1002 {
		t.Error(code, reason)
	}
	eventually(t, "answered", func() bool { return s.outcomes(outbox.Answered) == 1 })
}

// A flood of pings by a client that reads nothing neither blocks the reader nor
// takes memory; the last is answered.
func TestPingFlood(t *testing.T) {
	s := newService(t, Config{})
	c := s.open("/stream/upstream/", "a")
	flood := bytes.Repeat(frame(ws.OpPing, true, bytes.Repeat([]byte("p"), 125)), 1000)
	for range 100 { // 13 MB
		c.raw(flood)
	}
	c.send(ws.OpPing, []byte("last"))
	for pongs := 1; ; pongs++ {
		op, data, err := c.frame()
		if err != nil || op != ws.OpPong {
			t.Fatal(op, err)
		}
		if string(data) == "last" {
			break
		}
	}
	if got := s.Stats().Pings; got != 100_001 {
		t.Errorf("%d pings", got)
	}
}

// A message in as many parts as its sender likes is one message; empty ones for
// ever are no memory.
func TestManyParts(t *testing.T) {
	s := newService(t, Config{})
	c := s.open("/stream/upstream/", "a")
	s.put("a", 0, 1)
	u := c.uplink()
	answer := fmt.Sprintf(`{"ProtocolVersion": 1, "TransactionID": %d, "DevEUI": %d, "MIC": %d}`, u.Transaction, device, mic)
	parts := frame(ws.OpText, false, nil)
	for i := range answer {
		parts = append(parts, frame(ws.OpContinuation, false, []byte(answer[i:i+1]))...)
		for range 1000 {
			parts = append(parts, frame(ws.OpContinuation, false, nil)...)
		}
	}
	c.raw(append(parts, frame(ws.OpContinuation, true, nil)...))
	eventually(t, "answered", func() bool { return s.outcomes(outbox.Answered) == 1 })
}

// Connections that vanish, at whatever moment, leave nothing behind, and what
// they held is delivered to others.
func TestVanish(t *testing.T) {
	s := newService(t, Config{})
	const n = 200
	s.put("a", 0, n)
	for i := range 40 {
		c := s.open("/stream/upstream", "a")
		switch i % 4 {
		case 0: // at once
		case 1:
			c.raw([]byte{0x82, 0xfe, 1}) // half a header
		case 2:
			c.raw([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4, 5}) // 65 536 bytes promised
		case 3:
			c.uplink()
		}
		if i%8 < 4 {
			c.must(c.Conn.(*net.TCPConn).SetLinger(0))
		}
		c.must(c.Close())
	}
	eventually(t, "all gone", func() bool { return s.Stats().Open == [kinds]int64{} })
	c := s.open("/stream/upstream", "a")
	for range n {
		c.ack(c.uplink())
	}
	eventually(t, "answered", func() bool { return s.outcomes(outbox.Answered) == n })
}
