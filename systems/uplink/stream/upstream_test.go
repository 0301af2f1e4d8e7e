package stream

import (
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"

	"github.com/gobwas/ws"
)

// Uplinks arrive as they are, and answers settle them; several answers in one
// write, and an answer in several.
func TestUpstream(t *testing.T) {
	s := newService(t, Config{})
	c := s.open("/stream/upstream/", "a")
	const n = 1000
	s.put("a", 0, n)
	var all []*message.Upstream
	for i := range n {
		u := c.uplink()
		if number(u) != i || u.Transaction == 0 || !slices.Equal(u.DevEUIs, []lorawan.EUI{device}) ||
			len(u.Challenge) != 2 || !slices.Contains(u.Challenge, mic) || u.Radio.Frequency != 867_500_000 {
			t.Fatalf("%d: %+v", i, u)
		}
		all = append(all, u)
	}
	c.ack(all[:n-2]...)
	reject := frame(ws.OpText, true, message.AppendAnswer(nil,
		&message.Answer{Transaction: all[n-2].Transaction, Reject: message.MICFailed, Text: "no such key"}))
	for i := range reject {
		c.raw(reject[i : i+1])
	}
	eventually(t, "answered", func() bool { return s.outcomes(outbox.Answered) == n-2 && s.outcomes(outbox.Rejected) == 1 })
	c.send(ws.OpClose, []byte{3, 232, 'b', 'y', 'e'}) // 1000
	if code, reason := c.closed(); code != 1000 {
		t.Error(code, reason)
	}
	got := s.Stats()
	if got.Sent != n || got.Answers != n-1 || got.Received != n-1 || got.Malformed != 0 || got.BytesSent < 80*n || got.BytesReceived < 25*n {
		t.Errorf("%+v", got)
	}
}

// Connections share the load, and no message is on two of them.
func TestConnectionsShare(t *testing.T) {
	s := newService(t, Config{})
	const connections = 3
	var seen, twice atomic.Int64
	var got [connections]atomic.Int64
	var numbers [1 << 20]atomic.Bool
	for i := range connections {
		c := s.open("/stream/upstream/", "a")
		go func() {
			var u message.Upstream
			for {
				op, data, err := c.frame()
				if err != nil || op == ws.OpClose {
					return
				}
				if op == ws.OpText && message.ParseUpstream(data, &u) == nil {
					if numbers[number(&u)].Swap(true) {
						twice.Add(1)
					}
					got[i].Add(1)
					seen.Add(1)
					_, _ = c.Write(frame(ws.OpText, true, message.AppendAnswer(nil,
						&message.Answer{Transaction: u.Transaction, DevEUI: device, MIC: mic}))) // the test may be over
				}
			}
		}()
	}
	put := 0
	eventually(t, "all get some", func() bool {
		if put < len(numbers)-100 {
			s.put("a", put, 100)
			put += 100
		}
		return min(got[0].Load(), got[1].Load(), got[2].Load()) >= 100
	})
	eventually(t, "all answered", func() bool { return s.outcomes(outbox.Answered) == put })
	if seen.Load() != int64(put) || twice.Load() > 0 {
		t.Errorf("%d of %d seen, %d twice", seen.Load(), put, twice.Load())
	}
}

// A message that was delivered and not answered when a socket is lost comes
// again, with the same transaction and challenge; an answer on another
// connection counts.
func TestLostSocket(t *testing.T) {
	s := newService(t, Config{})
	first := s.open("/stream/upstream/", "a")
	s.put("a", 0, 3)
	var before []*message.Upstream
	for range 3 {
		before = append(before, first.uplink())
	}
	if tcp, ok := first.Conn.(*net.TCPConn); ok {
		first.must(tcp.SetLinger(0)) // a reset, no farewell
	}
	first.must(first.Close())
	second := s.open("/stream/upstream/", "a")
	for i := range 3 {
		u := second.uplink()
		if number(u) != i || u.Transaction != before[i].Transaction || !slices.Equal(u.Challenge, before[i].Challenge) {
			t.Errorf("%+v came again as %+v", before[i], u)
		}
	}
	third := s.open("/stream/upstream/", "a")
	third.ack(before[1], before[0])
	second.ack(before[2], before[1]) // one of them a second time
	eventually(t, "answered", func() bool { return s.outcomes(outbox.Answered) == 3 && s.box("a").Stats().Unknown == 1 })
	if got := s.Stats().Closed[1006]; got != 1 {
		t.Errorf("%d lost sockets", got)
	}
}

// Frames that come with the handshake, before its answer, are not lost.
func TestEarlyFrames(t *testing.T) {
	s := newService(t, Config{})
	c := s.bare("GET /api/v1/stream/upstream/?access_token=token-a HTTP/1.1", []string{"Host: localhost", "Connection: Upgrade",
		"Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="},
		frame(ws.OpPing, true, []byte("early"))...)
	if op, data, err := c.frame(); err != nil || op != ws.OpPong || string(data) != "early" {
		t.Fatalf("%x %q %v", op, data, err)
	}
}

// A customer that does not read waits alone: another customer, and another
// connection of the same one, get all they are due.
func TestSlowCustomer(t *testing.T) {
	s := newService(t, Config{})
	s.open("/stream/upstream/", "slow") // never reads
	const n = 20_000                    // 6 MB
	s.put("slow", 0, n)
	eventually(t, "the socket is full", func() bool {
		before := s.Stats().Sent
		time.Sleep(20 * time.Millisecond)
		return before > 0 && s.Stats().Sent == before
	})
	stuck := int(s.Stats().Sent)
	for _, customer := range []string{"slow", "quick"} {
		c := s.open("/stream/upstream/", customer)
		if customer == "quick" {
			s.put(customer, 0, 1000)
		}
		for range 500 {
			c.ack(c.uplink())
		}
	}
	if waiting := s.box("slow").Stats().Waiting; waiting == 0 || stuck > n/2 {
		t.Errorf("the slow one took %d of %d", stuck, n)
	}
}

// When the service stops, customers read why, and what they answer before they
// have closed still counts.
func TestShutdown(t *testing.T) {
	s := newService(t, Config{})
	up, down := s.open("/stream/upstream/", "a"), s.open("/stream/downstream/", "a")
	s.put("a", 0, 1)
	u := up.uplink()
	done := make(chan error)
	go func() { done <- s.Shutdown(t.Context()) }()
	for _, c := range []*client{up, down} {
		op, data, err := c.frame()
		if code, reason := ws.ParseCloseFrameData(data); err != nil || op != ws.OpClose || code != 1001 || reason != "the service is stopping" {
			t.Error(op, code, reason, err)
		}
	}
	up.ack(u)
	for _, c := range []*client{up, down} {
		c.send(ws.OpClose, []byte{3, 233})
	}
	if err := <-done; err != nil || s.outcomes(outbox.Answered) != 1 || s.Stats().Closed[1001] != 2 {
		t.Error(err, fmt.Sprintf("%+v", s.Stats()))
	}
}

// An outbox that ends closes its customer's connections.
func TestOutboxCloses(t *testing.T) {
	s := newService(t, Config{})
	c := s.open("/stream/upstream/", "a")
	s.box("a").Close()
	if code, reason := c.closed(); code != 1001 {
		t.Error(code, reason)
	}
}
