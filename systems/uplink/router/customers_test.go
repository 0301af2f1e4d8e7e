package router

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/api"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/stream"
)

// lot is uplinks of a device for its owner.
func lot(n int, d lorawan.Device) []outbox.Message {
	list := make([]outbox.Message, n)
	for i := range list {
		list[i] = outbox.Message{Uplink: &message.Uplink{PHY: frame(d, uint32(i))}, Candidates: []outbox.Candidate{{DevEUI: d.DevEUI}}}
	}
	return list
}

// take has a connection take n messages.
func take(t *testing.T, c *outbox.Conn, n int) (taken []message.Upstream) {
	t.Helper()
	for len(taken) < n {
		var err error
		if taken, err = c.Take(t.Context(), taken, n-len(taken)); err != nil {
			t.Fatal(err)
		}
	}
	return taken
}

// Eight customers answer nothing: each may leave 100 messages unanswered, and all of
// them 400 together, so that each comes to have 50. A ninth one answers, and none of
// its messages are given up, as are none of a tenth, which left less than its share.
func TestUnansweredIsShared(t *testing.T) {
	t.Parallel()
	s := start(t, "", func(c *Config) { c.Held, c.Trust.Start = 100, 2 })
	const silent, each = 8, 10
	device := lorawan.DemoDevice(1, 0)
	conns := make([]*outbox.Conn, silent+2)
	of := func(i int) *customer { return s.customer(fmt.Sprint("customer ", i)) }
	for i := range conns {
		conns[i] = of(i).box.Connect()
	}
	s.put(of(silent+1), lot(20, device))
	take(t, conns[silent+1], 20)
	for range 20 {
		for i := range silent {
			s.put(of(i), lot(each, device))
			take(t, conns[i], each)
		}
		s.put(of(silent), lot(each, device))
		for _, u := range take(t, conns[silent], each) {
			conns[silent].Answer([]message.Answer{{Transaction: u.Transaction, DevEUI: device.DevEUI, MIC: micOf(&u, device)}})
		}
		if held := s.outboxes.Held(); held > 400 {
			t.Fatalf("%d are held, want 400 at most", held)
		}
	}
	var left []int
	for i := range silent {
		left = append(left, of(i).box.Sent())
	}
	// 400 less the 20 of the tenth, and as many as a put brings are given up at once.
	if slices.Min(left) < 380/silent-each || slices.Max(left) > 380/silent+each {
		t.Errorf("left unanswered are %v, want about %d of each", left, 380/silent)
	}
	if stats := of(silent).box.Stats(); stats.Outcomes[outbox.Answered] != 20*each {
		t.Errorf("who answers has %d of %d answered: %v", stats.Outcomes[outbox.Answered], 20*each, stats.Outcomes)
	}
	if n := of(silent + 1).box.Sent(); n != 20 {
		t.Errorf("who left 20 unanswered has %d of them", n)
	}
}

// For customers who take nothing 200 messages may wait in memory, and for each of
// them 40 and as many as places are left. One message of each always may.
func TestWaitingIsShared(t *testing.T) {
	t.Parallel()
	s := start(t, "", func(c *Config) { c.Held = 100 })
	device := lorawan.DemoDevice(1, 0)
	// 4·40 leave 40, and 20 are as many as 40 - 20; then 10 of 20, 5 of 10, 3 of 5, 1 of 2.
	for i, want := range []int{40, 40, 40, 40, 20, 10, 5, 3, 1, 1, 1} {
		c := s.customer(fmt.Sprint("customer ", i))
		for !s.crowded(c) {
			s.put(c, lot(1, device))
		}
		if n := c.box.Waiting(); n != want {
			t.Errorf("%d wait of customer %d, want %d", n, i, want)
		}
	}
}

// The stream of a slow customer is read in long stretches. Of 4000 uplinks that may wait half have to be taken before it
// begins to read again: at most once for each 2000, and not with each hundred that it takes.
func TestSlowCustomerIsReadInStretches(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := start(t, redis.URL(), func(c *Config) { c.Held, c.Trust.Start, c.Dedup.Window = 10_000, 2, 0 })
	d := s.insert(acme, 0)
	const n = 12_000
	frames := make([][]byte, n)
	for i := range frames {
		frames[i] = frame(d, uint32(i))
	}
	s.send(frames...)
	s.until("all wait in Redis", func() bool { return s.intake.Stats().Forwarded == n })
	begun := func() (times int) { // each time the group is made, unless it exists
		for line := range strings.Lines(redis.Do("INFO", "commandstats")) {
			if _, about, ok := strings.Cut(line, "cmdstat_xgroup|create:calls="); ok {
				fmt.Sscan(strings.ReplaceAll(about, ",", " "), &times)
			}
		}
		return times
	}
	before := begun()
	customer := s.customer("acme")
	box := customer.box
	conn := box.Connect()
	s.opened("acme", stream.Upstream)
	s.until("as many wait as may", func() bool { return s.crowded(customer) })
	for got := 0; got < n; {
		s.until("it is read again", func() bool { return box.Waiting() >= min(2000, n-got) })
		taken := take(t, conn, 100)
		for _, u := range taken {
			conn.Answer([]message.Answer{{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: micOf(&u, d)}})
		}
		got += len(taken)
		time.Sleep(5 * time.Millisecond)
	}
	conn.Close()
	s.closed("acme", stream.Upstream)
	if times := begun() - before; times < 2 || times > 1+n/2000 {
		t.Errorf("it began %d times, want 2 to 1 + %d", times, n/2000)
	}
}

// Twelve customers take everything and answer nothing, more than the router may have in
// flight. It goes on reading for one that answers.
func TestSilentCustomersHoldNobodyUp(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		t.Parallel()
		const held, silent, each, n = 500, 12, 300, 250
		var lines strings.Builder
		token := func(i int) string { return fmt.Sprintf("silent-token-%04d", i) }
		for i := range silent {
			fmt.Fprintf(&lines, "silent%d %s\n", i, token(i))
		}
		s := start(t, url, func(c *Config) {
			var err error
			if c.Tokens, err = api.ParseTokens(strings.NewReader(tokens + lines.String())); err != nil {
				t.Fatal(err)
			}
			c.Held, c.Trust.Start, c.Trust.Reduce = held, 2, false
		})
		frames := func(d lorawan.Device, from, n uint32) (list [][]byte) {
			for i := range n {
				list = append(list, frame(d, from+i))
			}
			return list
		}
		for i := range silent {
			d, conn := s.insert(token(i), i+1), s.connect(token(i), "upstream/")
			go io.Copy(io.Discard, conn.from) // until the test closes it
			s.send(frames(d, 0, each)...)
		}
		d, conn := s.insert(acme, 0), s.connect(acme, "upstream/")
		for i := uint32(0); i < n; i += 10 {
			s.send(frames(d, i, 10)...)
			for range 10 {
				u := conn.upstream()
				conn.solve(&u, d)
			}
		}
		s.until("everybody has got everything", func() bool { return s.boxStats().Sent == silent*each+n })
		s.until("all is answered", func() bool { return s.customer("acme").box.Stats().Outcomes[outbox.Answered] == n })
		out := s.boxStats().Outcomes // after a minute messages expire
		if n, most := out[outbox.DroppedOverflow]+out[outbox.Expired], silent*each-4*held; n < uint64(most) {
			t.Errorf("%d uplinks made room, want %d at least", n, most)
		}
	})
}

// Whoever asks whether a stream was read up holds up other customers, and does not ask again if nobody answers.
func TestGoingStraight(t *testing.T) {
	for replies, want := range map[string]struct { // y: all was read, n: not yet, e: nobody answers
		asked    int
		straight bool
	}{
		"e": {1, false}, "yy": {2, true}, "nny": {3, true}, "nnnnnn": {6, false}, "ne": {2, false}, "yne": {3, false},
	} {
		asked, c := 0, &customer{}
		straight := c.straight(t.Context(), func() (bool, error) {
			if asked++; asked > len(replies) || replies[asked-1] == 'e' {
				return false, io.EOF
			}
			return replies[asked-1] == 'y', nil
		})
		if asked != want.asked || straight != want.straight || c.direct != straight {
			t.Errorf("%s: asked %d times, straight %v", replies, asked, straight)
		}
	}
}
