package router

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
)

const (
	acme  = "acme-token-0001"
	other = "other-token-0001"
	late  = "late-token-00001"
)

// Both forms of a token open both streams, with and without the final slash; a
// wrong one is refused before the upgrade.
func TestTokensOpenStreams(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	for _, path := range []string{"upstream/", "upstream", "downstream/", "downstream"} {
		s.connect(acme, path).Close()
		s.connect("", path+"?access_token="+acme).Close()
		for _, wrong := range []string{"", "wrong-token-0001", late} {
			if _, err := s.dial(wrong, path); err == nil || !strings.Contains(err.Error(), "401") {
				t.Errorf("%s with token %q: %v", path, wrong, err)
			}
		}
	}
}

// A request for generation B of the stream, which nobody could speak, is refused
// in the form of the API.
func TestNoGenerationB(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	for _, path := range []string{"/api/v1/gateway", "/api/v1/gateway/"} {
		if status, body := s.call(acme, path, ""); status != http.StatusNotFound || !strings.Contains(body, "there is no such call") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// A token that is withdrawn ends its streams and opens no other one; the customer's
// other token, and what waits for it, stay.
func TestWithdrawnToken(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	if err := s.config.Tokens.Reread(strings.NewReader(tokens + "acme acme-token-0002\n")); err != nil {
		t.Fatal(err)
	}
	d := s.insert(acme, 0)
	up, down := s.connect(acme, "upstream/"), s.connect(acme, "downstream/")
	s.send(frame(d, 0))
	unanswered := up.upstream()
	if err := s.config.Tokens.Reread(strings.NewReader("acme acme-token-0002\n")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*client{up, down} {
		c.SetReadDeadline(time.Now().Add(patience))
		_, _, err := wsutil.ReadServerData(readWriter{c.from, c.Conn})
		if closed, ok := errors.AsType[wsutil.ClosedError](err); !ok || closed.Code != ws.StatusPolicyViolation || !strings.Contains(closed.Reason, "token") {
			t.Errorf("closed with %v, want 1008 and that it was the token", err)
		}
	}
	if c, err := s.dial(acme, "upstream/"); err == nil {
		c.Close()
		t.Error("the token still opens a stream")
	}
	again := s.connect("acme-token-0002", "upstream/")
	if u := again.upstream(); u.Transaction != unanswered.Transaction {
		t.Errorf("transaction %d, want %d", u.Transaction, unanswered.Transaction)
	}
}

// A long challenge is solved; answers change the length of the next one.
func TestAnswersChangeTheChallenge(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		s := start(t, url, func(c *Config) { c.Trust.Start = outbox.MaxChallenge })
		d := s.insert(acme, 0)
		c := s.connect(acme, "upstream/")
		size := outbox.MaxChallenge
		for i, step := range []struct {
			reject message.Reject
			mic    uint32
			next   func(int) int
		}{
			{0, 0, func(n int) int { return n / 2 }},
			{0, 0, func(n int) int { return n / 2 }},
			{message.MICFailed, 0, func(n int) int { return n }},
			{message.RejectOther, 0, func(n int) int { return n }},
			{0, 1, func(n int) int { return min(4*n, outbox.MaxChallenge) }}, // a wrong MIC
			{0, 0, func(n int) int { return n / 2 }},
		} {
			s.send(frame(d, uint32(i)))
			u := c.upstream()
			if len(u.Challenge) != size || !slices.Contains(u.Challenge, micOf(&u, d)) {
				t.Fatalf("step %d: challenge of %d entries, want %d with the true MIC", i, len(u.Challenge), size)
			}
			c.answer(message.Answer{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: micOf(&u, d) ^ step.mic, Reject: step.reject})
			answers := uint64(i + 1)
			s.until("the answer is counted", func() bool { return answered(s.boxStats()) == answers })
			size = step.next(size)
		}
	})
}

func answered(s outbox.Stats) uint64 {
	return s.RightMIC + s.WrongMIC + s.NotOffered + s.MICFailed + s.OtherRejects + s.Unknown
}

// Two connections share the load, none gets what the other has.
func TestConnectionsShareTheLoad(t *testing.T) {
	t.Parallel()
	s := start(t, "", func(c *Config) { c.Trust.Start = 2 })
	d := s.insert(acme, 0)
	a, b := s.connect(acme, "upstream/"), s.connect(acme, "upstream/")
	const all = 200
	type delivery struct {
		connection int
		id         uint64
	}
	seen := make(chan delivery, 2*all)
	for i, c := range []*client{a, b} {
		go func() {
			var u message.Upstream
			for {
				data, _, err := wsutil.ReadServerData(readWriter{c.from, c.Conn})
				if err != nil || message.ParseUpstream(data, &u) != nil {
					return
				}
				seen <- delivery{i, u.Transaction}
			}
		}()
	}
	for i := range all {
		s.send(frame(d, uint32(i)))
	}
	got, parts := map[uint64]bool{}, [2]int{}
	for range all {
		select {
		case one := <-seen:
			if got[one.id] {
				t.Errorf("transaction %d came twice", one.id)
			}
			got[one.id] = true
			parts[one.connection]++
		case <-time.After(patience):
			t.Fatalf("only %d came", len(got))
		}
	}
	if parts[0] == 0 || parts[1] == 0 {
		t.Errorf("the connections got %v", parts)
	}
}

// A message that was delivered on a connection that is lost before the answer
// comes again with the same transaction and challenge.
func TestLostConnectionRedelivers(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		s := start(t, url, nil)
		d := s.insert(acme, 0)
		first := s.connect(acme, "upstream/")
		s.send(frame(d, 0))
		u := first.upstream()
		first.Close()
		second := s.connect(acme, "upstream/")
		again := second.upstream()
		if again.Transaction != u.Transaction || !slices.Equal(again.Challenge, u.Challenge) || !slices.Equal(again.PHYNoMIC, u.PHYNoMIC) {
			t.Errorf("first %+v, then %+v", u, again)
		}
		second.solve(&again, d)
		s.until("it is acknowledged in Redis", func() bool { return s.intake.Stats().InFlight == 0 })
	})
}

// Uplinks that came while nobody was connected wait, and arrive when somebody is.
func TestUplinksWaitForTheCustomer(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		s := start(t, url, nil)
		d := s.insert(acme, 0)
		const all = 30
		for i := range all {
			s.send(frame(d, uint32(i)))
		}
		s.until("all are read", func() bool { return s.fates[routed].Load() >= all })
		c := s.connect(acme, "upstream/")
		seen := map[uint16]bool{}
		for range all {
			u := c.upstream()
			f, err := lorawan.Parse(append(u.PHYNoMIC, 0, 0, 0, 0))
			if err != nil || seen[f.FCnt] {
				t.Fatalf("%v, counter %d", err, f.FCnt)
			}
			seen[f.FCnt] = true
			c.solve(&u, d)
		}
		s.until("all are acknowledged", func() bool { return s.intake.Stats().InFlight == 0 })
	})
}

// Join requests find their device by its DevEUI, though the row's JoinEUI is the
// DevEUI; a join accept offers an address, and the first uplink from there
// makes it the active one.
func TestJoinAndPromotion(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d := lorawan.DemoDevice(1, 0)
	if status, answer := s.call(acme, "/api/v1/devices/insert", `{"DevEUI": "`+d.DevEUI.String()+`", "JoinEUI": "`+d.DevEUI.String()+`"}`); status != 201 {
		t.Fatal(status, answer)
	}
	up, down := s.connect(acme, "upstream/"), s.connect(acme, "downstream/")
	s.send(lorawan.AppendJoinRequest(nil, d.JoinEUI, d.DevEUI, 7, lorawan.NewCMAC(d.NwkSKey)))
	u := up.upstream()
	up.answer(message.Answer{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: lorawan.NewCMAC(d.NwkSKey).JoinMIC(u.PHYNoMIC)})
	s.until("the answer is counted", func() bool { return s.boxStats().RightMIC == 1 })
	down.downlink(5, fmt.Sprintf(`"DevEUI": %d, "TargetDevAddr": %d`, uint64(d.DevEUI), uint32(d.DevAddr)), `"Delay": 15`)
	if ack := down.reply(); ack.TransactionID != 5 || ack.MailboxID == 0 {
		t.Errorf("%+v", ack)
	}
	s.until("the target is stored", func() bool { r, _ := s.table.ByDevEUI(d.DevEUI); return r.HasTarget && r.Target == d.DevAddr })
	s.send(frame(d, 1))
	u = up.upstream()
	up.solve(&u, d)
	s.until("the target is the active address", func() bool {
		r, _ := s.table.ByDevEUI(d.DevEUI)
		return r.HasActive && r.Active == d.DevAddr && !r.HasTarget
	})
}

// An address that devices of two customers share: each gets the uplink, with its
// own devices only, and an answer of one takes nothing from the other.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	mine, theirs := s.insert(acme, 0), lorawan.DemoDevice(1, 1)
	third := lorawan.DemoDevice(1, 2)
	for token, eui := range map[string]lorawan.EUI{other: theirs.DevEUI, acme: third.DevEUI} {
		if status, answer := s.call(token, "/api/v1/devices/insert", `{"DevEUI": "`+eui.String()+`", "DevAddr": "`+mine.DevAddr.String()+`"}`); status != 201 {
			t.Fatal(status, answer)
		}
	}
	a, b := s.connect(acme, "upstream/"), s.connect(other, "upstream/")
	s.send(frame(mine, 0))
	u, v := a.upstream(), b.upstream()
	if want := []lorawan.EUI{mine.DevEUI, third.DevEUI}; len(u.DevEUIs) != 2 || !slices.Contains(u.DevEUIs, want[0]) || !slices.Contains(u.DevEUIs, want[1]) {
		t.Errorf("acme was offered %v, want %v", u.DevEUIs, want)
	}
	if !slices.Equal(v.DevEUIs, []lorawan.EUI{theirs.DevEUI}) || slices.Equal(u.Challenge, v.Challenge) {
		t.Errorf("other was offered %v", v.DevEUIs)
	}
	if !slices.Equal(slices.Sorted(slices.Values(u.Challenge)), slices.Sorted(slices.Values(v.Challenge))) {
		t.Error("together both customers know the MIC, which is all that their challenges have in common")
	}
	a.solve(&u, mine)
	s.until("acme's answer is counted", func() bool { return s.boxStats().RightMIC == 1 })
	// Acknowledgements take a moment, and more of them are to come where the uplink went by way of the customers' streams.
	s.until("one is in flight, which the other has not answered", func() bool { return s.intake.Stats().InFlight == 1 })
	b.answer(message.Answer{Transaction: v.Transaction, Reject: message.MICFailed})
	s.until("both are done", func() bool { return s.intake.Stats().InFlight == 0 })
	a.silent()
}

// Anybody can send frames with any address. Whoever honestly rejects those of another
// customer's device, or noise, keeps its device and the length of its challenge.
func TestStrangersCannotSuspendADevice(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	mine, theirs := s.insert(acme, 0), lorawan.DemoDevice(1, 1)
	theirs.DevAddr = mine.DevAddr
	if status, answer := s.call(other, "/api/v1/devices/insert", fmt.Sprintf(`{"DevEUI": "%v", "DevAddr": "%v"}`, theirs.DevEUI, theirs.DevAddr)); status != 201 {
		t.Fatal(status, answer)
	}
	a, b := s.connect(acme, "upstream/"), s.connect(other, "upstream/")
	noise := lorawan.DemoDevice(1, 2)
	noise.DevAddr = mine.DevAddr
	reject := func(c *client, why message.Reject) {
		u := c.upstream()
		c.answer(message.Answer{Transaction: u.Transaction, Reject: why})
	}
	s.send(frame(mine, 1000))
	u := a.upstream()
	a.solve(&u, mine) // later ones are heard at once
	reject(b, message.MICFailed)
	for i := range uint32(60) {
		s.send(frame(theirs, i))
		reject(a, message.MICFailed)
		u := b.upstream()
		b.solve(&u, theirs)
		s.send(frame(noise, i))
		reject(a, message.RejectOther)
		reject(b, message.MICFailed)
	}
	s.until("all answers are counted", func() bool { return answered(s.boxStats()) == 2+4*60 })
	for i := range uint32(10) {
		s.send(frame(mine, 100+i))
		u := a.upstream()
		if want := max(8>>i, 2); len(u.Challenge) != want {
			t.Fatalf("uplink %d: a challenge of %d entries, want %d", i, len(u.Challenge), want)
		}
		a.solve(&u, mine)
		reject(b, message.MICFailed)
		s.until("it is solved", func() bool { return s.boxStats().RightMIC == 1+60+uint64(i)+1 })
	}
	if n := s.boxStats().Suspensions; n != 0 {
		t.Errorf("%d suspensions", n)
	}
}

// Copies of a frame are passed on once, frames that are none or nobody's not at all,
// and everything is counted.
func TestFates(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		s := start(t, url, func(c *Config) { c.Dedup.Window = time.Hour })
		d := s.insert(acme, 0)
		stranger := lorawan.DemoDevice(1, 9)
		c := s.connect(acme, "upstream/")
		one := frame(d, 1)
		proprietary := append([]byte{0xe0}, make([]byte, 16)...)
		s.send(one, one, one, frame(stranger, 1), proprietary, []byte{0x40, 1, 2, 3, 4, 0xff, 0, 0, 1, 2, 3, 4, 5})
		want := map[fate]int64{routed: 1, duplicate: 2, unroutable: 1, notAnUplink: 1, malformed: 1}
		s.until("all are counted", func() bool {
			for f, n := range want {
				if s.fates[f].Load() != n {
					return false
				}
			}
			return true
		})
		u := c.upstream()
		c.solve(&u, d)
		s.until("all are acknowledged", func() bool { return s.intake.Stats().InFlight == 0 })
		c.silent()
	})
}

// A device whose challenges are answered with wrong MICs is suspended: its frames are counted and not sent.
func TestSuspension(t *testing.T) {
	t.Parallel()
	said := new(lines)
	s := start(t, "", func(c *Config) { c.Trust.FailureLimit = 3; c.Log = slog.New(slog.NewTextHandler(said, nil)) })
	d := s.insert(acme, 0)
	c := s.connect(acme, "upstream/")
	for i := range uint32(4) {
		s.send(frame(d, i))
		u := c.upstream()
		c.answer(message.Answer{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: micOf(&u, d) ^ 1})
	}
	s.until("the row is marked", func() bool { r, _ := s.table.ByDevEUI(d.DevEUI); return r.Suspended })
	if line := said.with("suspended"); !strings.Contains(line, "customer=acme DevEUI="+d.DevEUI.String()+" failures=4") {
		t.Errorf("the log says %q; want who, and how many failures", line)
	}
	s.send(frame(d, 9))
	s.until("the next is counted", func() bool { return s.fates[suspended].Load() == 1 })
	c.silent()
	if rows := s.rows(acme); len(rows) != 1 {
		t.Errorf("the customer sees %v", rows)
	}
	s.remake(d)
	s.send(frame(d, 10))
	u := c.upstream()
	c.solve(&u, d)
	s.until("it is solved", func() bool { return s.boxStats().RightMIC == 1 })
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// with returns the first line with a text.
func (l *lines) with(text string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// remake drops the demo device and inserts it again, which lifts a suspension.
func (s *service) remake(d lorawan.Device) {
	s.t.Helper()
	if status, answer := s.call(acme, "/api/v1/devices/drop", `{"DevEUIs": ["`+d.DevEUI.String()+`"]}`); status != http.StatusOK {
		s.t.Fatalf("drop: %d %s", status, answer)
	}
	s.insert(acme, 0)
}

// A row that is made anew starts anew: with the longest challenge and without
// failures, whatever is answered late for the one before.
func TestNewRowStartsAnew(t *testing.T) {
	t.Parallel()
	s := start(t, "", func(c *Config) { c.Trust.Start, c.Trust.FailureLimit = 16, 3 })
	d := s.insert(acme, 0)
	c := s.connect(acme, "upstream/")
	sent, answers := uint32(0), uint64(0)
	next := func(size int) message.Upstream {
		t.Helper()
		sent++
		s.send(frame(d, sent))
		u := c.upstream()
		if len(u.Challenge) != size {
			t.Fatalf("uplink %d: a challenge of %d entries, want %d", sent, len(u.Challenge), size)
		}
		return u
	}
	settle := func(u message.Upstream, wrong uint32) {
		t.Helper()
		c.answer(message.Answer{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: micOf(&u, d) ^ wrong})
		answers++
		s.until("the answer is counted", func() bool { return answered(s.boxStats()) == answers })
	}
	settle(next(16), 0)
	settle(next(8), 0)
	late := next(4)
	s.remake(d)
	first := next(16)
	settle(late, 0)
	settle(first, 1)
	settle(next(64), 1)
	settle(next(256), 1) // the third: a fourth would suspend it
	s.remake(d)
	for i := range 3 {
		settle(next(16<<(2*i)), 1)
	}
	settle(next(1024), 0)
	next(512)
}

// The length of a challenge outlives the router.
func TestTrustIsKept(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d := s.insert(acme, 0)
	c := s.connect(acme, "upstream/")
	s.send(frame(d, 0))
	u := c.upstream()
	c.solve(&u, d)
	s.until("the answer is counted", func() bool { return s.boxStats().RightMIC == 1 })
	c.Close() // a router that stops waits for it
	s.stopRouter()
	again := startWith(t, s.redis, s.table, nil)
	defer again.stopRouter()
	c = again.connect(acme, "upstream/")
	again.send(frame(d, 1))
	if u := c.upstream(); len(u.Challenge) != 8 {
		t.Errorf("a challenge of %d entries, want 8: half of 16", len(u.Challenge))
	}
	c.Close()
}
