package outbox

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// asGuest runs a test in fake time with an outbox and a connection. Messages that are
// put have the address 1, at which nothing is known to be proven.
func asGuest(t *testing.T, config Config, test func(*testing.T, *desk, *Conn)) {
	bubble(t, config, func(t *testing.T, d *desk) {
		d.addr = 1
		test(t, d, d.Connect())
	})
}

func rejecting(m message.Upstream, _ *message.Uplink) message.Answer {
	return message.Answer{Transaction: m.Transaction, Reject: message.MICFailed}
}

func guessing(m message.Upstream, u *message.Uplink) message.Answer {
	a := right(m, u)
	a.MIC ^= 1
	return a
}

// hear has gateways hear n frames, and the customer answer what it gets of them. It
// returns how many those are.
func (d *desk) hear(t *testing.T, c *Conn, n int, every time.Duration, answer func(message.Upstream, *message.Uplink) message.Answer, euis ...lorawan.EUI) (got int) {
	t.Helper()
	for i := range n {
		if i > 0 {
			time.Sleep(every)
		}
		u := d.put(euis...)
		taken := take(t, c, 1)
		if len(taken) == 0 {
			d.want(t, u, Withheld)
			continue
		}
		got++
		c.Answer([]message.Answer{answer(taken[0], u)})
	}
	return got
}

// Whoever solves nothing gets the first 20 frames, then one of ten, and one a minute.
func TestGuest(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     int
		every time.Duration
		want  int
	}{
		{"the first", 20, 0, 20},
		{"nine more", 29, 0, 20},
		{"and the tenth", 30, 0, 21},
		{"300 at once: 20 + 280/10", 300, 0, 48},
		{"one in 5 s: the tenth comes 50 s after the last: 20 + 1180/10", 1200, 5 * time.Second, 138},
		{"one in 7 s: the ninth comes 63 s after the last: 20 + 900/9", 920, 7 * time.Second, 120},
		{"one in 30 s: every second: 20 + 100/2", 120, 30 * time.Second, 70},
		{"one a minute: all", 100, time.Minute, 100},
		{"one an hour: all", 100, time.Hour, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asGuest(t, Config{}, func(t *testing.T, d *desk, c *Conn) {
				if got := d.hear(t, c, tt.n, tt.every, rejecting, 1); got != tt.want {
					t.Errorf("got %d of %d, want %d", got, tt.n, tt.want)
				}
				if d.size(1) != MaxChallenge || d.failures(1) != 0 || len(d.suspended) > 0 {
					t.Errorf("rejects left %d entries, %d failures", d.size(1), d.failures(1))
				}
			})
		})
	}
}

// A guest whose connection is lost before it has answered its first frames, and that stays away, gets them again: once, as whoever
// goes away again and again would hear that many frames each time.
func TestGuestThatWasAway(t *testing.T) {
	asGuest(t, Config{}, func(t *testing.T, d *desk, _ *Conn) {
		for _, tt := range []struct{ put, want int }{
			{5, 5}, {20, 20}, // of 25 that are lost 20 count as not sent
			{20, 15}, // so 15 places are left, and the others wait for answers
			{20, 2},  // the first, and the tenth after it
			{20, 2},
		} {
			c := d.Connect()
			d.putMany(tt.put, 1)
			got := 0
			for len(take(t, c, 1)) > 0 {
				got++
			}
			c.Close()
			sleep(oneEvery)
			d.Withdraw(0)
			if lost := len(d.WithdrawLost()); got != tt.want || lost != got {
				t.Errorf("got %d of %d, want %d; %d are withdrawn", got, tt.put, tt.want, lost)
			}
		}
	})
}

// A new device loses nothing, also if its customer was away after the first frames: they come after others that have waited.
func TestNewDeviceOfOneWhoWasAway(t *testing.T) {
	asGuest(t, Config{Trust: TrustConfig{Start: 16}}, func(t *testing.T, d *desk, c *Conn) {
		d.putMany(100, 1)
		take(t, c, 1000)
		c.Close()
		if n := len(d.Withdraw(0)); n != 80 {
			t.Fatalf("%d wait, want 80", n)
		}
		sleep(oneEvery)
		d.WithdrawLost()
		uplinks, c := d.putMany(100, 1), d.Connect()
		first := take(t, c, 1000)
		c.Answer([]message.Answer{right(first[0], uplinks[0])})
		if n := len(first) + len(take(t, c, 1000)); n != 100 {
			t.Errorf("got %d, want 100", n)
		}
	})
}

// The share of a guest depends on its customer and the address: more devices get no
// more, and a device that is dropped and inserted again gets no more either.
func TestGuestWithManyDevices(t *testing.T) {
	asGuest(t, Config{}, func(t *testing.T, d *desk, c *Conn) {
		got := 0
		for i := range 300 {
			d.created = int64(i / 10)
			got += d.hear(t, c, 1, 0, rejecting, 1, 2, lorawan.EUI(3+i%20))
		}
		if got != 48 { // as in TestGuest
			t.Errorf("got %d of 300, want 48", got)
		}
		d.addr = 2
		if got := d.hear(t, c, 30, 0, rejecting, 1); got != 21 { // 20 + 10/10
			t.Errorf("got %d of 30 at another address, want 21", got)
		}
		if n := len(d.guests.at); n != 2 {
			t.Errorf("%d addresses are known, want 2", n)
		}
	})
}

// Noise does not silence a new device, however much there was: one of its frames gets
// through, and with it all others do. From then on noise does not matter.
func TestNewDeviceAmongNoise(t *testing.T) {
	asGuest(t, Config{}, func(t *testing.T, d *desk, c *Conn) {
		d.hear(t, c, 2_500, time.Second, rejecting, 1)
		if got := d.hear(t, c, 10, time.Second, right, 1); got == 0 {
			t.Error("got none of 10")
		}
		d.hear(t, c, 2_500, time.Second, rejecting, 1)
		if got := d.hear(t, c, 100, time.Second, right, 1); got != 100 {
			t.Errorf("got %d of 100 of a device that is proven", got)
		}
		if n := len(d.guests.at); n != 0 {
			t.Errorf("%d addresses are known, want none", n)
		}
	})
	asGuest(t, Config{}, func(t *testing.T, d *desk, c *Conn) {
		d.hear(t, c, 100, 0, rejecting, 1)
		for range 9 { // a frame a minute is also enough
			time.Sleep(time.Minute)
			if got := d.hear(t, c, 1, 0, rejecting, 1); got != 1 {
				t.Error("none in a minute")
			}
		}
	})
}

// A new device loses nothing however fast its frames come: they wait for the answers to
// the first ones.
func TestNewDeviceInABurst(t *testing.T) {
	asGuest(t, Config{Trust: TrustConfig{Start: 16}}, func(t *testing.T, d *desk, c *Conn) {
		uplinks := d.putMany(100, 1)
		first := take(t, c, 1000)
		if len(first) != 20 || len(take(t, c, 1000)) != 0 {
			t.Fatalf("%d before the first answer, want 20", len(first))
		}
		c.Answer([]message.Answer{rejecting(first[0], nil)})
		if n := len(take(t, c, 1000)); n != 0 {
			t.Fatalf("%d after a reject, want none", n)
		}
		c.Answer([]message.Answer{right(first[7], uplinks[7])})
		if n := len(take(t, c, 1000)); n != 80 {
			t.Errorf("%d after the first solution, want the other 80", n)
		}
	})
	// Nobody answers for a minute. Then the first of the 80 is due, and of the other 79
	// each tenth.
	asGuest(t, Config{Trust: TrustConfig{Start: 16}}, func(t *testing.T, d *desk, c *Conn) {
		d.putMany(100, 1)
		take(t, c, 1000)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(take(t, c, 1000)); n != 8 {
			t.Errorf("%d after a minute, want 8", n)
		}
		if s := d.Stats(); s.Outcomes[Withheld] != 72 || s.Waiting != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// A device proves itself at an address. Its customer may give it any other one.
func TestProofIsOfAnAddress(t *testing.T) {
	asGuest(t, Config{Trust: TrustConfig{Start: 16}}, func(t *testing.T, d *desk, c *Conn) {
		d.hear(t, c, 5, 0, right, 1)
		d.addr = 2
		if got := d.hear(t, c, 300, 0, rejecting, 1); got != 48 {
			t.Errorf("got %d of 300 at another address, want 48", got)
		}
		d.proven = true // its row says so, as another instance found out
		if got := d.hear(t, c, 100, 0, rejecting, 1); got != 100 {
			t.Errorf("got %d of 100, want all", got)
		}
		d.addr, d.proven = 1, false
		if got := d.hear(t, c, 100, 0, rejecting, 2, 1); got != 100 {
			t.Errorf("got %d of 100 of a proven device among others, want all", got)
		}
		want := map[Candidate]Trust{{DevEUI: 1}: {Size: 2, Proven: 1, HasProven: true}}
		if got := d.Trust(); !maps.Equal(got, want) {
			t.Errorf("to be saved: %v, want %v", got, want)
		}
		d.hear(t, c, 1, 0, guessing, 1)
		want = map[Candidate]Trust{{DevEUI: 1}: {Size: 8}} // what another instance learnt of it may be newer
		if got := d.Trust(); !maps.Equal(got, want) {
			t.Errorf("to be saved: %v, want %v", got, want)
		}
		d.addr = 0 // a join: its DevEUI is in the frame
		if got := d.hear(t, c, 100, 0, rejecting, 3); got != 100 {
			t.Errorf("got %d of 100 without an address, want all", got)
		}
	})
	saved := func(lorawan.EUI) Trust { return Trust{Size: 2, Proven: 1, HasProven: true} }
	asGuest(t, Config{Trust: TrustConfig{Initial: saved}}, func(t *testing.T, d *desk, c *Conn) {
		if got := d.hear(t, c, 100, 0, rejecting, 1); got != 100 {
			t.Errorf("got %d of 100 after a restart, want all", got)
		}
		d.hear(t, c, 1, 0, right, 1)
		if got := d.Trust(); len(got) != 0 {
			t.Errorf("saved again: %v", got)
		}
	})
}

// If new devices are trusted from the start, no device has to prove itself.
func TestNoGuestsAtTheShortestChallenge(t *testing.T) {
	asGuest(t, Config{Trust: TrustConfig{Start: 2}}, func(t *testing.T, d *desk, c *Conn) {
		if got := d.hear(t, c, 100, 0, rejecting, 1); got != 100 || len(d.guests.at) > 0 {
			t.Errorf("got %d of 100", got)
		}
	})
}

// A wrong solution costs a right one, up to three: a guesser whose first guess is wrong
// would have to be right more often than wrong.
func TestGuessing(t *testing.T) {
	for _, tt := range []struct {
		answers string // r: right, w: wrong
		proven  bool
	}{
		{"r", true}, {"w", false}, {"wr", false}, {"wrr", true}, {"wwrr", false}, {"wwrrr", true},
		{"wwwwwwwwrrr", false}, {"wwwwwwwwrrrr", true}, {"wrwrwrwrwr", false},
	} {
		t.Run(tt.answers, func(t *testing.T) {
			asGuest(t, Config{}, func(t *testing.T, d *desk, c *Conn) {
				for i, kind := range tt.answers {
					time.Sleep(time.Minute)
					d.created = int64(i) // each as another row
					answer := right
					if kind == 'w' {
						answer = guessing
					}
					d.hear(t, c, 1, 0, answer, 1)
				}
				if got := d.of(1).provenAt(1); got != tt.proven {
					t.Errorf("proven: %v, want %v", got, tt.proven)
				}
			})
		})
	}
}

// A device that is trusted at another address has the challenge of a new one that solved one, where it is a
// guest. Right answers there halve it, as they do for a device without another address.
func TestChallengeOfAGuest(t *testing.T) {
	for _, tt := range []struct {
		elsewhere int    // solutions at another address
		joins     int    // and without an address
		answers   string // r: right, w: wrong
		want      []int  // lengths
	}{
		{0, 0, "rrr", []int{4096, 2048, 1024}},
		{0, 1, "rrr", []int{2048, 1024, 512}},
		{1, 0, "rrr", []int{2048, 1024, 512}},
		{20, 0, "rrr", []int{2048, 2, 2}}, // the first is a proof: then it is the device's own
		{0, 20, "rrr", []int{2048, 2, 2}},
		{20, 0, "wrrr", []int{2048, 2048, 1024, 2}},              // one is owed
		{20, 0, "wwrrrr", []int{2048, 2048, 2048, 1024, 512, 4}}, // two are, and the device had 32
		{0, 0, "wwwrrrrr", []int{4096, 4096, 4096, 4096, 2048, 1024, 512, 256}},
	} {
		t.Run(fmt.Sprint(tt.elsewhere, tt.joins, tt.answers), func(t *testing.T) {
			asGuest(t, Config{}, func(t *testing.T, d *desk, c *Conn) {
				d.addr = 2
				d.hear(t, c, tt.elsewhere, time.Minute, right, 1)
				d.addr = 0
				d.hear(t, c, tt.joins, time.Minute, right, 1)
				d.addr = 1
				for i, want := range tt.want {
					u := d.put(1)
					m := take(t, c, 1)[0]
					if len(m.Challenge) != want {
						t.Errorf("challenge %d has %d entries, want %d", i, len(m.Challenge), want)
					}
					answer := right
					if tt.answers[i] == 'w' {
						answer = guessing
					}
					c.Answer([]message.Answer{answer(m, u)})
				}
			})
		})
	}
}

// The number of known addresses is bounded. All others count as one, which gets no
// first frames, until some were not heard for an hour.
func TestManyAddresses(t *testing.T) {
	asGuest(t, Config{}, func(t *testing.T, d *desk, c *Conn) {
		time.Sleep(time.Minute)
		for addr := range lorawan.DevAddr(maxGuests) {
			d.guests.at[1000+addr] = guest{last: d.now(), first: firstFrames}
		}
		got := 0
		for addr := range lorawan.DevAddr(100) {
			d.addr = 1 + addr
			got += d.hear(t, c, 1, 0, rejecting, 1)
		}
		if got != 10 { // one a minute is due at once, and of the other 99 each tenth
			t.Errorf("got %d of 100 addresses, want 10", got)
		}
		if n := len(d.guests.at); n != maxGuests {
			t.Errorf("%d addresses are known, want %d", n, maxGuests)
		}
		time.Sleep(forget)
		d.hear(t, c, 1, 0, rejecting, 1)
		if n := len(d.guests.at); n != 1 {
			t.Errorf("%d addresses are known an hour later, want 1", n)
		}
	})
}

// Before a solution a guest is shown what a solver needs, which does not include the
// position of the gateway.
func TestGuestsSeeNoPosition(t *testing.T) {
	asGuest(t, Config{Trust: TrustConfig{Start: 16}}, func(t *testing.T, d *desk, c *Conn) {
		u := d.put(1)
		d.put(1)
		m := take(t, c, 1)[0]
		if m.Position != nil {
			t.Error("it is shown")
		}
		c.Close()
		c = d.Connect()
		if again := take(t, c, 1)[0]; again.Position != nil {
			t.Error("it is shown with the second delivery")
		}
		c.Answer([]message.Answer{right(m, u)})
		if next := take(t, c, 1)[0]; next.Position == nil {
			t.Error("it is not shown of a proven device")
		}
	})
}
