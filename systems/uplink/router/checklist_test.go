package router

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"contend/internal/testenv"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
)

const (
	acme  = "acme-token-0001"
	other = "other-token-0001"
	late  = "late-token-00001"
)

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

func answered(s outbox.Stats) uint64 {
	return s.RightMIC + s.WrongMIC + s.NotOffered + s.MICFailed + s.OtherRejects + s.Unknown
}

// An address that devices of two customers share: each gets the uplink, with its
// own devices only, and an answer of one takes nothing from the other.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	mine, theirs := s.insert(acme, 0), lorawan.DemoDevice(1, 1)
	third := lorawan.DemoDevice(1, 2)
	s.give(other, theirs.DevEUI, theirs.JoinEUI, mine.DevAddr)
	s.give(acme, third.DevEUI, third.JoinEUI, mine.DevAddr)
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
	s.give(other, theirs.DevEUI, theirs.JoinEUI, theirs.DevAddr)
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
	said := new(testenv.Log)
	s := start(t, "", func(c *Config) { c.Trust.FailureLimit = 3; c.Log = slog.New(slog.NewTextHandler(said, nil)) })
	d := s.insert(acme, 0)
	c := s.connect(acme, "upstream/")
	for i := range uint32(4) {
		s.send(frame(d, i))
		u := c.upstream()
		c.answer(message.Answer{Transaction: u.Transaction, DevEUI: d.DevEUI, MIC: micOf(&u, d) ^ 1})
	}
	s.until("the row is marked", func() bool { r, _ := s.table.ByDevEUI(d.DevEUI); return r.Suspended })
	if want := "customer=acme DevEUI=" + d.DevEUI.String() + " failures=4"; !strings.Contains(said.String(), want) {
		t.Errorf("the log says %q; want who, and how many failures", said)
	}
	s.send(frame(d, 9))
	s.until("the next is counted", func() bool { return s.fates[suspended].Load() == 1 })
	c.silent()
	if n := s.devices(acme); n != 1 {
		t.Errorf("the customer sees %d devices", n)
	}
	s.remake(d)
	s.send(frame(d, 10))
	u := c.upstream()
	c.solve(&u, d)
	s.until("it is solved", func() bool { return s.boxStats().RightMIC == 1 })
}

// remake drops the demo device and inserts it again, which lifts a suspension.
func (s *service) remake(d lorawan.Device) {
	s.t.Helper()
	if status, answer := s.call(acme, "/api/v1/devices/drop", `{"DevEUIs": ["`+d.DevEUI.String()+`"]}`); status != http.StatusOK {
		s.t.Fatalf("drop: %d %s", status, answer)
	}
	s.insert(acme, 0)
}
