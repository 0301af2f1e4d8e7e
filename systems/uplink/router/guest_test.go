package router

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws/wsutil"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// each has a customer answer what comes until its connection ends.
func (c *client) each(answer func(*message.Upstream)) {
	go func() {
		for {
			data, _, err := wsutil.ReadServerData(readWriter{c.from, c.Conn})
			var u message.Upstream
			if err != nil || message.ParseUpstream(data, &u) != nil {
				return
			}
			answer(&u)
		}
	}()
}

func (s *service) stats(customer string) (put, sent, settled uint64) {
	st := s.customer(customer).box.Stats()
	for _, n := range st.Outcomes {
		settled += n
	}
	return st.Put, st.Sent, settled
}

// A customer inserts made-up devices at another's address, rejects everything, and drops
// and inserts them again. It gets its share of 300 uplinks, and the device's customer all.
func TestEavesdropping(t *testing.T) {
	t.Parallel()
	bothRedis(t, func(t *testing.T, url string) {
		s := start(t, url, nil)
		began := time.Now()
		d := s.insert(acme, 0)
		honest, curious := s.connect(acme, "upstream/"), s.connect(other, "upstream/")
		honest.each(func(u *message.Upstream) { honest.solve(u, d) })
		curious.each(func(u *message.Upstream) {
			curious.answer(message.Answer{Transaction: u.Transaction, Reject: message.MICFailed})
		})
		const rounds, each = 6, 50
		for round := range rounds {
			for i := range lorawan.EUI(10) {
				s.give(other, 1000+i, 1000+i, d.DevAddr)
			}
			for i := range each {
				s.send(frame(d, uint32(each*round+i)))
			}
			s.until("both customers are done with them", func() bool {
				_, _, mine := s.stats("acme")
				_, _, theirs := s.stats("other")
				return mine == uint64(each*(round+1)) && theirs == mine
			})
			if status, answer := s.call(other, "/api/v1/devices/drop-all", ""); status != http.StatusOK || !strings.Contains(answer, "10") {
				t.Fatal(status, answer)
			}
		}
		if st := s.boxStats(); st.RightMIC != rounds*each || st.WrongMIC+st.Suspensions != 0 {
			t.Errorf("the honest customer solved %d of %d", st.RightMIC, rounds*each)
		}
		// The first 20, one of ten of the other 280, and one a minute.
		_, got, _ := s.stats("other")
		if most := 20 + 28 + uint64(time.Since(began)/time.Minute); got > most || got < 20 {
			t.Errorf("the curious customer got %d of %d, want 20 to %d", got, rounds*each, most)
		}
	})
}

// A customer whose own device also has the address hears its neighbour, as the frames
// do not say whose they are. Giving it a proven device of another address is not
// enough.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d, theirs, moved := s.insert(acme, 0), lorawan.DemoDevice(1, 1), s.insert(other, 2)
	a, b := s.connect(acme, "upstream/"), s.connect(other, "upstream/")
	a.each(func(u *message.Upstream) { a.solve(u, d) })
	b.each(func(u *message.Upstream) {
		for _, own := range []lorawan.Device{theirs, moved} {
			for _, mic := range u.Challenge {
				if mic == micOf(u, own) {
					b.answer(message.Answer{Transaction: u.Transaction, DevEUI: own.DevEUI, MIC: mic})
					return
				}
			}
		}
		b.answer(message.Answer{Transaction: u.Transaction, Reject: message.MICFailed})
	})
	counter := uint32(0)
	hear := func(n int, by lorawan.Device) (got uint64) {
		t.Helper()
		put, before, _ := s.stats("other")
		for range n {
			counter++
			s.send(frame(by, counter))
		}
		s.until("all are settled", func() bool { now, _, settled := s.stats("other"); return now == put+uint64(n) && settled == now })
		_, after, _ := s.stats("other")
		return after - before
	}
	if got := hear(5, moved); got != 5 {
		t.Fatalf("%d of 5 of its own", got)
	}
	body := fmt.Sprintf(`{"DevEUI": "%v", "JoinEUI": "%v", "ActiveDevAddr": "%v"}`, moved.DevEUI, moved.JoinEUI, d.DevAddr)
	if status, answer := s.call(other, "/api/v1/devices/update", body); status != http.StatusOK {
		t.Fatal(status, answer)
	}
	began := time.Now()
	if got, most := hear(100, d), 28+uint64(time.Since(began)/time.Minute); got > most { // 20 + 80/10
		t.Errorf("%d of 100 with a device of another address, want at most %d", got, most)
	}
	theirs.DevAddr = d.DevAddr
	s.give(other, theirs.DevEUI, theirs.DevEUI, theirs.DevAddr)
	for tries := 0; s.customer("other").box.Stats().RightMIC == 5; tries++ {
		if hear(1, theirs); tries > 10 {
			t.Fatal("its own device is not heard")
		}
	}
	if got := hear(100, d); got != 100 {
		t.Errorf("%d of 100 of its neighbour", got)
	}
	s.until("the device's customer solved all 200", func() bool { return s.customer("acme").box.Stats().RightMIC == 200 })
}

// The trust and the proofs of a device are known after a restart: noise at its address,
// which it cannot solve, does not make it a guest there.
func TestProofOutlivesTheRouter(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d := s.insert(acme, 0)
	c := s.connect(acme, "upstream/")
	s.send(frame(d, 1))
	u := c.upstream()
	c.solve(&u, d)
	s.until("it is solved", func() bool { return s.boxStats().RightMIC == 1 })
	s.stopRouter()

	s = startWith(t, s.redis, s.table, nil)
	defer s.stopRouter()
	c = s.connect(acme, "upstream/")
	noise := lorawan.DemoDevice(1, 2)
	noise.DevAddr = d.DevAddr
	for i := range uint32(50) {
		s.send(frame(noise, i))
		u := c.upstream()
		if len(u.Challenge) != 8 {
			t.Fatalf("a challenge of %d entries, want 8: half of 16", len(u.Challenge))
		}
		c.answer(message.Answer{Transaction: u.Transaction, Reject: message.MICFailed})
	}
}

// Transactions are a customer's own: what another one answers with them is unknown.
func TestTransactionOfAnotherCustomer(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d := s.insert(acme, 0)
	a, b := s.connect(acme, "upstream/"), s.connect(other, "upstream/")
	s.send(frame(d, 1))
	u := a.upstream()
	b.answer(message.Answer{Transaction: u.Transaction, Reject: message.MICFailed})
	b.solve(&u, d)
	s.until("both are counted", func() bool { return s.customer("other").box.Stats().Unknown == 2 })
	a.solve(&u, d)
	s.until("the customer's own answer counts", func() bool { return s.customer("acme").box.Stats().RightMIC == 1 })
}

// Both customers at an address answer a frame with its MIC, as a neighbour may guess it:
// the answer of one takes nothing from the other.
func TestSolvedByTwo(t *testing.T) {
	t.Parallel()
	s := start(t, "", func(c *Config) { c.Trust.Start = 2 })
	d, neighbour := s.insert(acme, 0), lorawan.DemoDevice(1, 1)
	s.give(other, neighbour.DevEUI, neighbour.DevEUI, d.DevAddr)
	a, b, down := s.connect(acme, "upstream/"), s.connect(other, "upstream/"), s.connect(acme, "downstream/")
	s.send(frame(d, 1))
	u, v := a.upstream(), b.upstream()
	b.answer(message.Answer{Transaction: v.Transaction, DevEUI: neighbour.DevEUI, MIC: micOf(&v, d)})
	s.until("the guess counts", func() bool { return s.customer("other").box.Stats().RightMIC == 1 })
	a.solve(&u, d)
	s.until("the solution counts, too", func() bool { return s.customer("acme").box.Stats().RightMIC == 1 })
	down.downlink(5, fmt.Sprintf(`"DevEUI": %d`, uint64(d.DevEUI)), `"Delay": 15`)
	if ack := down.reply(); ack.TransactionID != 5 || ack.MailboxID == 0 || ack.ResultCode != "" {
		t.Errorf("its downlink: %+v", ack)
	}
}

// Whoever inserts another's DevEUI gets its join requests, which it cannot solve, and
// keeps its customer from inserting it; that customer does not learn whose it is.
func TestDevEUIOfAnotherCustomer(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d := lorawan.DemoDevice(1, 0)
	s.give(other, d.DevEUI, d.DevEUI, 1)
	status, answer := s.call(acme, "/api/v1/devices/insert", fmt.Sprintf(`{"DevEUI": "%v", "JoinEUI": "%v"}`, d.DevEUI, d.JoinEUI))
	if status != http.StatusConflict || !strings.Contains(answer, "Device.AlreadyExists") || strings.Contains(answer, "other") {
		t.Error(status, answer)
	}
	b := s.connect(other, "upstream/")
	s.send(lorawan.AppendJoinRequest(nil, d.JoinEUI, d.DevEUI, 7, lorawan.NewCMAC(d.NwkSKey)))
	u := b.upstream()
	b.answer(message.Answer{Transaction: u.Transaction, Reject: message.MICFailed})
	s.until("it is rejected", func() bool { return s.boxStats().MICFailed == 1 })
	if row, _ := s.table.ByDevEUI(d.DevEUI); row.HasProven {
		t.Error("a join proves nothing of an address")
	}
}
