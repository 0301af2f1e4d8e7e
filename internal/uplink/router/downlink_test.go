package router

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/uplink/lorawan"
	"contend/internal/uplink/message"
)

func TestDeadline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	gps := func(at time.Time) uint64 { return uint64(at.Sub(gpsEpoch).Milliseconds() + 18_000) }
	for name, c := range map[string]struct {
		window message.Window
		last   time.Time
		want   time.Duration // from now
		code   message.ResultCode
	}{
		"class A":               {message.Window{Delay: 5}, now.Add(-time.Second), 4 * time.Second, 0},
		"class A, late":         {message.Window{Delay: 1}, now.Add(-3 * time.Second), 0, message.TooLate},
		"class A, never heard":  {message.Window{Delay: 1}, time.Time{}, 0, message.WindowNotFound},
		"class B":               {message.Window{TMMS: []uint64{gps(now.Add(time.Second)), gps(now.Add(9 * time.Second))}}, time.Time{}, 9 * time.Second, 0},
		"class B, late":         {message.Window{TMMS: []uint64{gps(now.Add(-time.Second))}}, time.Time{}, 0, message.TooLate},
		"class B, far":          {message.Window{TMMS: []uint64{1<<64 - 1}}, time.Time{}, 200 * 365 * 24 * time.Hour, 0},
		"class C, at once":      {message.Window{Deadline: 1}, time.Time{}, classC, 0},
		"class C, the limit":    {message.Window{Deadline: 512}, time.Time{}, classC, 0},
		"class C, seconds":      {message.Window{Deadline: uint64(now.Unix()) + 60}, time.Time{}, time.Minute, 0},
		"class C, milliseconds": {message.Window{Deadline: uint64(now.UnixMilli()) + 1500}, time.Time{}, 1500 * time.Millisecond, 0},
		"class C, far":          {message.Window{Deadline: 1<<64 - 1}, time.Time{}, classC, 0},
		"class C, late":         {message.Window{Deadline: uint64(now.Unix()) - 1}, time.Time{}, 0, message.TooLate},
	} {
		until, err := deadline(&message.Downstream{Window: c.window}, c.last, now)
		var refused *refusedDownlink
		if err != nil {
			refused = err.(*refusedDownlink)
		}
		switch {
		case c.code != 0 && (refused == nil || refused.code != c.code):
			t.Errorf("%s: %v, want %v", name, err, c.code)
		case c.code == 0 && name == "class B, far":
			if err != nil || until.Sub(now) < c.want {
				t.Errorf("%s: %v, %v", name, until, err)
			}
		case c.code == 0 && (err != nil || until.Sub(now) != c.want):
			t.Errorf("%s: in %v, %v; want %v", name, until.Sub(now), err, c.want)
		}
	}
}

// What no gateway can send is refused, with a result that says why, and is not written
// to the gateways. The connection goes on.
func TestDownlinksThatNoRadioSends(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d := s.insert(acme, 0)
	c := s.connect(acme, "downstream/")
	const loRa = `"LoRa": {"Spreading": 9, "Bandwidth": 125000}`
	for i, tt := range []struct {
		bytes       int
		radio, want string
	}{
		{0, loRa, "PHYPayload has 0 bytes; allowed: 1 to 255"},
		{256, loRa, "PHYPayload has 256 bytes; allowed: 1 to 255"},
		{500_000, loRa, "PHYPayload has 500000 bytes; allowed: 1 to 255"},
		{1, `"FHSS": {"Ocw": 137000, "CodingRate": "` + strings.Repeat("x", 900_000) + `"}`, "CodingRate is \"xxx"},
		{255, loRa, ""},
		{1, `"FHSS": {"Ocw": 137000, "CodingRate": "4/6"}`, ""},
	} {
		phy := strings.TrimSuffix(strings.Repeat("1,", tt.bytes), ",")
		c.write(fmt.Appendf(nil, `{"ProtocolVersion": 1, "TransactionID": %d, "DevEUI": %d, "PHYPayload": [%s],
			"TxWindow": {"Radio": {"Frequency": 867500000, %s}, "Deadline": 1}}`, i+1, uint64(d.DevEUI), phy, tt.radio))
		if ack := c.reply(); ack.ResultCode != "" || ack.TransactionID != uint64(i+1) {
			t.Fatalf("%d: %+v", i, ack)
		}
		if tt.want == "" {
			continue // its result comes from a gateway
		}
		if r := c.reply(); r.ResultCode != "GatewayError" || !strings.Contains(r.ResultMessage, tt.want) || len(r.ResultMessage) > 200 {
			t.Errorf("%d: %.300v, want %q", i, r, tt.want)
		}
	}
	client, err := rueidis.NewClient(s.redis.Options())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s.until("the two others are written", func() bool {
		n, err := client.Do(t.Context(), client.B().Xlen().Key("ran:downlinks").Build()).AsInt64()
		return err == nil && n == 2
	})
}

// said collects replies.
type said struct {
	mu      sync.Mutex
	results []message.DownstreamResult
}

func (s *said) Ack(message.DownstreamAck) error { return nil }

func (s *said) Result(r message.DownstreamResult) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, r)
	return nil
}

func (s *said) all() []message.DownstreamResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.results
}

// A downlink that no gateway tells of ends with NoAck, once.
func TestNoGatewayAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, reply := newDownlinks(), new(said)
		mailbox, ok := d.accept(t.Context(), "a", &message.Downstream{Transaction: 7}, reply)
		d.expect(mailbox, time.Now().Add(time.Minute))
		time.Sleep(time.Minute + gatewayTime - time.Second)
		if !ok || len(reply.all()) > 0 {
			t.Errorf("accepted %v, results %v", ok, reply.all())
		}
		time.Sleep(2 * time.Second)
		d.result(mailbox, message.Success, "late")
		if all := reply.all(); len(all) != 1 || all[0].Code != message.NoAck || all[0].Mailbox != mailbox || all[0].Transaction != 7 {
			t.Errorf("results %+v", all)
		}
	})
}

// One customer may have as many downlinks pending as places are free: alone half of
// 20 000, then a second one half of what is left. What a closed connection waited
// for makes room, and nobody is told of it.
func TestDownlinksAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDownlinks()
		reply := new(said)
		fill := func(ctx context.Context, customer string) (n int) {
			for {
				mailbox, ok := d.accept(ctx, customer, &message.Downstream{}, reply)
				if !ok {
					return n
				}
				d.expect(mailbox, time.Now().Add(classC))
				n++
			}
		}
		connection, closes := context.WithCancel(t.Context())
		for _, step := range []struct {
			ctx      context.Context
			customer string
			want     int
		}{
			{connection, "greedy", 10_000}, // 20 000 - n > n up to there
			{t.Context(), "second", 5_000}, // 10 000 - n > n
			{t.Context(), "third", 2_500},  // 5 000 - n > n
			{t.Context(), "greedy", 0},
		} {
			if n := fill(step.ctx, step.customer); n != step.want {
				t.Errorf("%s has %d more, want %d", step.customer, n, step.want)
			}
		}
		closes()
		synctest.Wait()
		if d.abandoned != 10_000 || len(d.pending) != 7_500 || len(reply.all()) > 0 {
			t.Errorf("%d abandoned, %d pending, %d results", d.abandoned, len(d.pending), len(reply.all()))
		}
		if n := fill(t.Context(), "second"); n != 3_750 { // 12 500 - n > 5 000 + n
			t.Errorf("%d more", n)
		}
		time.Sleep(classC + gatewayTime)
		synctest.Wait()
		if len(d.pending)+len(d.waiting) > 0 || len(reply.all()) != 7_500+3_750 {
			t.Errorf("%d pending of %v, %d results", len(d.pending), d.waiting, len(reply.all()))
		}
	})
}

// Nothing of a connection that is closed waits any longer.
func TestDownlinksOfAClosedConnection(t *testing.T) {
	s := start(t, "", nil)
	d := s.insert(acme, 0)
	c := s.connect(acme, "downstream/")
	c.downlink(1, fmt.Sprintf(`"DevEUI": %d`, uint64(d.DevEUI)), `"Deadline": 1`)
	if ack := c.reply(); ack.TransactionID != 1 || ack.ResultCode != "" {
		t.Fatalf("%+v", ack)
	}
	c.Close()
	s.until("it is gone", func() bool {
		text := s.scrape()
		return strings.Contains(text, "contend_router_downlinks_pending 0\n") && strings.Contains(text, "contend_router_downlinks_abandoned_total 1\n")
	})
}

// Downlinks over real sockets: first the ack, then the result, as gateways, or
// the lack of them, have it.
func TestDownlinks(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		s := start(t, url, nil)
		d := s.insert(acme, 0)
		if status, answer := s.call(acme, "/api/v1/multicast/multicast-groups/create", `{"name": "lamps", "addr": "0f39c7aa"}`); status != 201 {
			t.Fatal(status, answer)
		}
		c := s.connect(acme, "downstream/")
		gateways, err := rueidis.NewClient(s.redis.Options())
		if err != nil {
			t.Fatal(err)
		}
		defer gateways.Close()
		device := fmt.Sprintf(`"DevEUI": %d`, uint64(d.DevEUI))
		for i, step := range []struct {
			to, timing string
			code       message.ResultCode
			text       string
			sent       bool
		}{
			{device, `"Deadline": 1`, message.Success, "sent", true},
			{device, `"Deadline": 1`, message.GatewayError, "TOO_EARLY", true},
			{`"Addr": 255444906`, `"Deadline": 1`, message.Success, "sent", true}, // 0f39c7aa
			{`"Addr": 1`, `"Deadline": 1`, message.GatewayNotFound, "no multicast group 00000001", false},
			{`"DevEUI": 99`, `"Deadline": 1`, message.GatewayNotFound, "no subscription", false},
			{device, `"Delay": 1`, message.WindowNotFound, "no uplink", false},
			{device, `"TMMS": [1, 2, 3, 4, 5, 6, 7, 8, 9]`, message.WindowNotFound, "TMMS has 9 moments; allowed: 1 to 8", false},
			{device, `"Deadline": 1`, message.Success, "the connection is still there", true},
		} {
			c.downlink(i+1, step.to, step.timing)
			ack := c.reply()
			if ack.TransactionID != uint64(i+1) || ack.MailboxID == 0 || ack.ResultCode != "" {
				t.Fatalf("step %d: %+v", i, ack)
			}
			if step.sent {
				told := gateways.B().Xadd().Key("ran:downlinks:results").Id("*").FieldValue().FieldValue("v", "1").FieldValue("customer", "acme").
					FieldValue("mailbox", fmt.Sprint(ack.MailboxID)).FieldValue("tx", fmt.Sprint(ack.TransactionID)).
					FieldValue("code", fmt.Sprint(uint8(step.code))).FieldValue("text", step.text).Build()
				if err := gateways.Do(t.Context(), told).Error(); err != nil {
					t.Fatal(err)
				}
			}
			result := c.reply()
			if result.ResultCode != step.code.String() || result.MailboxID != ack.MailboxID || !strings.Contains(result.ResultMessage, step.text) {
				t.Errorf("step %d: %+v; want %v", i, result, step.code)
			}
		}
	})
}

// Another customer's device is as unknown as one that nobody has.
func TestDownlinkToAnothersDevice(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d := s.insert(acme, 0)
	replies := map[string]string{}
	for _, eui := range []lorawan.EUI{d.DevEUI, 99} {
		reply := new(said)
		s.downlink(context.Background(), "other", &message.Downstream{Transaction: 1, DevEUI: eui, Window: message.Window{Deadline: 1}}, reply)
		if len(reply.results) != 1 {
			t.Fatalf("results %+v", reply.results)
		}
		replies[strings.ReplaceAll(reply.results[0].Text, eui.String(), "X")] = reply.results[0].Code.String()
	}
	if len(replies) != 1 {
		t.Errorf("they are told apart: %v", replies)
	}
}
