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

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/queue"
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

// A downlink that no gateway can send is refused, with a result that says why, and is
// not written to the gateways. The connection goes on.
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
		{0, loRa, "PHYPayload has 0 bytes; expected 1 to 255"},
		{256, loRa, "PHYPayload has 256 bytes; expected 1 to 255"},
		{500_000, loRa, "PHYPayload has 500000 bytes; expected 1 to 255"},
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
	g := s.gateways()
	s.until("the two others are written", func() bool { return len(g.written()) == 2 })
}

// gateways read downlinks and say what became of them.
type gateways struct {
	rueidis.Client
	t testing.TB
}

func (s *service) gateways() gateways {
	s.t.Helper()
	client, err := rueidis.NewClient(s.redis.Options())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	return gateways{client, s.t}
}

// written are the fields of all downlinks that Redis has.
func (g gateways) written() (list []map[string]string) {
	g.t.Helper()
	entries, err := g.Do(g.t.Context(), g.B().Xrange().Key("ran:downlinks").Start("-").End("+").Build()).AsXRange()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.FieldValues)
	}
	return list
}

func (g gateways) tell(mailbox, tx any, code message.ResultCode, text string) {
	g.t.Helper()
	told := g.B().Xadd().Key("ran:downlinks:results").Id("*").FieldValue().FieldValue("v", "1").FieldValue("customer", "acme").
		FieldValue("mailbox", fmt.Sprint(mailbox)).FieldValue("tx", fmt.Sprint(tx)).
		FieldValue("code", fmt.Sprint(uint8(code))).FieldValue("text", text).Build()
	if err := g.Do(g.t.Context(), told).Error(); err != nil {
		g.t.Fatal(err)
	}
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
		mailbox := d.accept(t.Context(), "a", &message.Downstream{Transaction: 7}, reply)
		d.expect(mailbox, time.Minute)
		time.Sleep(time.Minute - time.Second)
		if len(reply.all()) > 0 {
			t.Errorf("results %v", reply.all())
		}
		time.Sleep(2 * time.Second)
		d.result(mailbox, message.Success, "late")
		if all := reply.all(); len(all) != 1 || all[0].Code != message.NoAck || all[0].Mailbox != mailbox || all[0].Transaction != 7 {
			t.Errorf("results %+v", all)
		}
	})
}

// Downlinks of a customer count on, whatever becomes of its connections and of the router:
// one that connects again and again has no more downlinks open than one that stays, and
// nothing of another's is removed. Results of gateways make room, even if nobody waits for
// them any more.
func TestDownlinksOfOneWhoReconnects(t *testing.T) {
	t.Parallel()
	few := func(c *Config) { c.Redis.MostDownlinks = 40 }
	s := start(t, redistest.Start(t).URL(), few)
	g := s.gateways()
	theirs, mine := s.insert(other, 0), s.insert(acme, 1)
	to := func(d lorawan.Device) string { return fmt.Sprintf(`"DevEUI": %d`, uint64(d.DevEUI)) }
	quiet := s.connect(other, "downstream/")
	quiet.downlink(1, to(theirs), `"Deadline": 1`)
	s.until("the other's is written", func() bool { return len(g.written()) == 1 })
	send := func(n, open int) (refused int) {
		c := s.connect(acme, "downstream/")
		defer c.Close()
		for i := range n {
			c.downlink(i+1, to(mine), `"Deadline": 1`)
		}
		for acks := 0; acks < n; { // of all but the last it is known what became of them
			if r := c.reply(); r.ResultCode == "" {
				acks++
			} else if refused++; r.ResultCode != "GatewayError" || !strings.Contains(r.ResultMessage, "share") {
				t.Errorf("%+v", r)
			}
		}
		s.until("all that may be open is", func() bool { return len(g.written()) >= open })
		return refused
	}
	if refused := send(12, 13); refused > 0 {
		t.Errorf("%d of 12 refused", refused)
	}
	s.stopRouter()
	s = startWith(t, s.redis, s.table, few)
	defer s.stopRouter()
	for range 3 {
		send(10, 21)
	}
	// 40 - 1 - n > n up to n = 20: of 42 that many, and the other's one.
	open := g.written()
	if len(open) != 21 || open[0]["customer"] != "other" {
		t.Fatalf("%d open, the first: %v", len(open), open[0])
	}
	for _, d := range open[13:] {
		g.tell(d["mailbox"], d["tx"], message.Success, "sent")
	}
	s.until("what was sent has gone", func() bool { return len(g.written()) == 13 })
	if left := g.written(); left[0]["customer"] != "other" {
		t.Errorf("the other's was removed: %v", left)
	}
	if refused := send(8, 21); refused > 0 {
		t.Errorf("%d of 8 refused", refused)
	}
}

// Each customer has one downlink at a time that Redis or the table is asked to take, however many it sends over however
// many connections. While that is on its way those of others are taken. Whoever waits for it does so no longer than its
// connection.
func TestDownlinksTakeTurns(t *testing.T) {
	t.Parallel()
	s := start(t, redistest.Start(t).URL(), nil)
	g := s.gateways()
	mine, theirs := s.insert(acme, 0), s.insert(other, 1)
	send := func(ctx context.Context, customer string, tx int, d lorawan.Device) {
		s.downlink(ctx, customer, &message.Downstream{Transaction: uint64(tx), DevEUI: d.DevEUI, Target: new(lorawan.DevAddr(tx)), PHY: []byte{1},
			Window: message.Window{Deadline: 1, Radio: message.Radio{Frequency: 867_500_000, Spreading: 9, Bandwidth: 125_000}}}, new(said))
	}
	const many = 50
	sent := 0
	for _, onItsWay := range []chan struct{}{s.customer("acme").storing, s.customer("acme").sending} {
		onItsWay <- struct{}{}
		var senders sync.WaitGroup
		connection, closes := context.WithCancel(t.Context())
		for i := range many {
			senders.Go(func() { send(connection, "acme", i+1, mine) })
		}
		s.until("all are accepted", func() bool {
			s.downlinks.mu.Lock()
			defer s.downlinks.mu.Unlock()
			return len(s.downlinks.pending) == sent+many
		})
		send(t.Context(), "other", 1, theirs)
		sent++
		if written := g.written(); len(written) != sent || written[sent-1]["customer"] != "other" {
			t.Errorf("%d are written before those that wait, want the other customer's", len(written))
		}
		closes()
		senders.Wait()
		<-onItsWay
	}
	send(t.Context(), "acme", many+1, mine)
	if n := len(g.written()); n != sent+1 {
		t.Errorf("%d are written, want %d: those of closed connections are not", n, sent+1)
	}
}

// When devices were heard is forgotten, but not before their windows are over.
func TestHearingsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDownlinks()
		for i := range lorawan.EUI(300) { // one a second
			d.solved(i, &message.Uplink{Arrived: time.Now(), Received: time.Now()})
			time.Sleep(time.Second)
			if i >= 15 && time.Since(d.lastHeard(i-14).at) != 15*time.Second {
				t.Fatalf("%d is forgotten", i-14)
			}
		}
		if n := len(d.heard) + len(d.before); n > 2*61 {
			t.Errorf("%d are kept, want two minutes at most", n)
		}
		if !d.lastHeard(0).at.IsZero() {
			t.Error("the first is known after five minutes")
		}
	})
}

// A result that a closed connection waited for is counted, and its downlink goes on to its end without it.
func TestDownlinksOfAClosedConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, reply := newDownlinks(), new(said)
		connection, closes := context.WithCancel(t.Context())
		for i := range uint64(2) {
			d.expect(d.accept(connection, "a", &message.Downstream{Transaction: i}, reply), time.Minute)
		}
		closes()
		synctest.Wait()
		if d.abandoned != 2 || len(d.pending) != 2 {
			t.Errorf("%d abandoned, %d pending", d.abandoned, len(d.pending))
		}
		theirs := queue.DownlinkResult{Customer: "b", DownstreamResult: message.DownstreamResult{Mailbox: d.last, Transaction: 1}}
		mine := theirs
		mine.Customer = "a"
		if !d.sent(d.last, "its name") || d.heardBack(&theirs) != "" || d.heardBack(&mine) != "its name" || d.sent(d.last, "its name") {
			t.Error("only a result of its customer ends it, once")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(d.pending) > 0 || len(reply.all()) > 0 {
			t.Errorf("%d pending, %d results", len(d.pending), len(reply.all()))
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
