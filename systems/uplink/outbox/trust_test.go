package outbox

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// size is the length of the device's next challenge.
func (d *desk) size(eui lorawan.EUI) int {
	if known := d.of(eui); known != nil {
		return int(known.size)
	}
	return d.config.Trust.Start
}

func (d *desk) failures(eui lorawan.EUI) int {
	if known := d.of(eui); known != nil {
		return int(known.failures)
	}
	return 0
}

func TestTrust(t *testing.T) {
	const device, other = 1, 2
	rightMIC := func(a *message.Answer) {}
	wrongMIC := func(a *message.Answer) { a.MIC ^= 1 }
	notOffered := func(a *message.Answer) { a.DevEUI = 77 }
	notOfferedWrong := func(a *message.Answer) { a.DevEUI = 77; a.MIC ^= 1 }
	micFailed := func(a *message.Answer) { a.Reject = message.MICFailed }
	otherReject := func(a *message.Answer) { a.Reject = message.RejectOther }
	second := func(a *message.Answer) { a.DevEUI = other }
	secondWrong := func(a *message.Answer) { a.DevEUI = other; a.MIC ^= 1 }
	alone, both := []lorawan.EUI{device}, []lorawan.EUI{device, other}
	tests := []struct {
		name     string
		start    int
		devices  []lorawan.EUI
		answer   func(*message.Answer)
		want     [2]int // lengths for device and other
		failures [2]int
		outcome  Outcome
	}{
		{"half", 4096, alone, rightMIC, [2]int{2048, 4096}, [2]int{0, 0}, Answered},
		{"half of an odd length, rounded down", 5, alone, rightMIC, [2]int{2, 5}, [2]int{0, 0}, Answered},
		{"not below 2", 2, alone, rightMIC, [2]int{2, 2}, [2]int{0, 0}, Answered},
		{"wrong MIC: four times", 8, alone, wrongMIC, [2]int{32, 8}, [2]int{1, 0}, Rejected},
		{"not above 4096", 2048, alone, wrongMIC, [2]int{4096, 2048}, [2]int{1, 0}, Rejected},
		{"right MIC of a device that was not offered: same length", 8, alone, notOffered, [2]int{8, 8}, [2]int{0, 0}, Rejected},
		{"wrong MIC of a device that was not offered: four times", 8, alone, notOfferedWrong, [2]int{32, 8}, [2]int{1, 0}, Rejected},
		{"MICFailed: no failure, same length", 8, alone, micFailed, [2]int{8, 8}, [2]int{0, 0}, Rejected},
		{"Other: no failure, same length", 8, alone, otherReject, [2]int{8, 8}, [2]int{0, 0}, Rejected},
		{"of two, the one named is credited", 8, both, second, [2]int{8, 4}, [2]int{0, 0}, Answered},
		{"of two, the one named is charged", 8, both, secondWrong, [2]int{8, 32}, [2]int{0, 1}, Rejected},
		{"of two, a reject charges none", 8, both, micFailed, [2]int{8, 8}, [2]int{0, 0}, Rejected},
		{"of two, a device not offered charges none", 8, both, notOfferedWrong, [2]int{8, 8}, [2]int{0, 0}, Rejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(Config{Trust: TrustConfig{Start: tt.start}})
			defer d.Close()
			u := d.put(tt.devices...)
			c := d.Connect()
			m := take(t, c, 1)[0]
			a := right(m, u)
			tt.answer(&a)
			c.Answer([]message.Answer{a})
			d.want(t, u, tt.outcome)
			if got := [2]int{d.size(device), d.size(other)}; got != tt.want {
				t.Errorf("lengths %v, want %v", got, tt.want)
			}
			if got := [2]int{d.failures(device), d.failures(other)}; got != tt.failures {
				t.Errorf("failures %v, want %v", got, tt.failures)
			}
		})
	}
}

func TestLongestChallengeOfSeveralDevices(t *testing.T) {
	initial := map[lorawan.EUI]int{1: 2, 2: 64, 3: 8}
	d := newDesk(Config{Trust: TrustConfig{Initial: func(eui lorawan.EUI) Trust { return Trust{Size: initial[eui]} }}})
	defer d.Close()
	d.put(1, 2, 3)
	d.put(1, 3)
	d.put(1)
	d.put(4) // not saved: 4096
	c := d.Connect()
	for i, want := range []int{64, 8, 2, 4096} {
		if got := len(take(t, c, 1)[0].Challenge); got != want {
			t.Errorf("message %d: %d entries, want %d", i, got, want)
		}
	}
}

func TestSuspension(t *testing.T) {
	d := newDesk(Config{Trust: TrustConfig{FailureLimit: 50}})
	defer d.Close()
	c := d.Connect()
	fail := func() {
		u := d.put(1)
		m := take(t, c, 1)[0]
		a := right(m, u)
		a.MIC ^= 1
		c.Answer([]message.Answer{a})
		d.want(t, u, Rejected)
	}
	for range 50 {
		fail()
	}
	if len(d.suspended) != 0 {
		t.Fatal("suspended at the limit")
	}
	shared, own := d.put(1, 2), d.put(1)
	c.Answer([]message.Answer{right(take(t, c, 1)[0], shared)}) // a success: the count starts anew
	c.Answer([]message.Answer{right(take(t, c, 1)[0], own)})
	for range 50 {
		fail()
	}
	waits, sharedWaits := d.put(1), d.put(1, 2)
	last := d.put(3)
	d.mu.Lock()
	out := new(settled)
	d.failed(d.devices[1], out) // the 51st
	d.mu.Unlock()
	out.report(&d.config)
	if !slices.Equal(d.suspended, []Suspension{{Candidate{DevEUI: 1}, 51}}) {
		t.Fatalf("suspended %v", d.suspended)
	}
	refused, narrowed := d.put(1), d.put(1, 2)
	d.want(t, refused, DroppedSuspended)
	got := take(t, c, 10)
	d.want(t, waits, DroppedSuspended)
	if len(got) != 3 {
		t.Fatalf("%d delivered", len(got))
	}
	for i, want := range [][]lorawan.EUI{{2}, {3}, {2}} {
		if !slices.Equal(got[i].DevEUIs, want) {
			t.Errorf("message %d for %v, want %v", i, got[i].DevEUIs, want)
		}
	}
	c.Answer([]message.Answer{right(got[0], sharedWaits), right(got[1], last), right(got[2], narrowed)})
	if s := d.Stats(); s.Suspensions != 1 || s.Waiting+s.Unanswered+s.Bytes != 0 {
		t.Errorf("stats %+v", s)
	}
	d.created = 1
	d.put(1)
	if got := take(t, c, 1); len(got) != 1 || len(got[0].Challenge) != MaxChallenge {
		t.Errorf("with another row: %d messages", len(got))
	}
}

func TestTrustIsReportedOnce(t *testing.T) {
	d := newDesk(Config{Trust: TrustConfig{Start: 16}})
	defer d.Close()
	c := d.Connect()
	answer := func(eui lorawan.EUI) {
		u := d.put(eui)
		c.Answer([]message.Answer{right(take(t, c, 1)[0], u)})
	}
	answer(1)
	answer(1)
	answer(2)
	d.put(3)
	take(t, c, 1)
	if got, want := d.Trust(), (map[Candidate]Trust{{DevEUI: 1}: {Size: 4}, {DevEUI: 2}: {Size: 8}}); !maps.Equal(got, want) {
		t.Errorf("trust %v, want %v", got, want)
	}
	answer(1)
	answer(1)
	if got, want := d.Trust(), (map[Candidate]Trust{{DevEUI: 1}: {Size: 2}}); !maps.Equal(got, want) {
		t.Errorf("trust %v, want %v", got, want)
	}
	if got := d.Trust(); len(got) != 0 {
		t.Errorf("trust %v, want none", got)
	}
}

// A device that comes with another row is another one: what is known of the first, and
// what is answered for it later, concerns its own messages only.
func TestAnotherRow(t *testing.T) {
	initial := 0
	d := newDesk(Config{Trust: TrustConfig{Initial: func(lorawan.EUI) Trust { return Trust{Size: initial} }}})
	defer d.Close()
	c := d.Connect()
	uplinks := d.putMany(100, 1)
	var got []message.Upstream
	for range 10 {
		got = append(got, take(t, c, 100)...)
	}
	if len(got) != 64 {
		t.Fatalf("%d unanswered, want 64", len(got))
	}
	initial, d.created = 4, 1
	next := d.put(1)
	rest := take(t, c, 100)
	if len(rest) != 1 || len(rest[0].Challenge) != 4 {
		t.Fatalf("%d of the new row, want 1 with 4 entries", len(rest))
	}
	for i, m := range got {
		c.Answer([]message.Answer{right(m, uplinks[i])})
	}
	if d.size(1) != 4 {
		t.Errorf("answers for the earlier row left %d entries, want 4", d.size(1))
	}
	if got, want := d.Trust(), (map[Candidate]Trust{{1, 0}: {Size: MinChallenge}}); !maps.Equal(got, want) {
		t.Errorf("trust %v, want %v", got, want)
	}
	for i, m := range take(t, c, 100) {
		c.Answer([]message.Answer{right(m, uplinks[64+i])})
	}
	c.Answer([]message.Answer{right(rest[0], next)})
	if s := d.Stats(); s.Devices != 1 || s.Outcomes[Answered] != 101 || d.size(1) != 2 {
		t.Errorf("stats %+v, %d entries", s, d.size(1))
	}
}

// A customer that drops devices and inserts others, again and again, does not fill the memory: about as many
// devices without a row are known as there are with one. Those with a row keep their trust, and all messages
// arrive.
func TestDevicesThatAreGoneAreForgotten(t *testing.T) {
	const rows, all, stays = 20, 20_000, 20_001
	last := lorawan.EUI(0)
	d := newDesk(Config{Trust: TrustConfig{Start: 2, Exists: func(c Candidate) bool { return c.DevEUI == stays || c.DevEUI > last-rows }}})
	defer d.Close()
	c := d.Connect()
	u := d.put(stays)
	a := right(take(t, c, 1)[0], u)
	a.MIC ^= 1
	c.Answer([]message.Answer{a})
	for last = rows; last <= all; last++ {
		u := d.put(last, last-1, stays)
		c.Answer([]message.Answer{{Transaction: take(t, c, 1)[0].Transaction, Reject: message.MICFailed}})
		d.want(t, u, Rejected)
	}
	if n := len(d.devices); n > 20*rows {
		t.Errorf("%d of %d devices are known, and %d have rows", n, all, rows)
	}
	if d.failures(stays) != 1 || d.size(stays) != 8 {
		t.Errorf("%d failures, %d entries; want 1 and 8, four times 2", d.failures(stays), d.size(stays))
	}
}

func TestMissingAnswers(t *testing.T) {
	for _, reduce := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(Config{Trust: TrustConfig{Start: 2, Reduce: reduce}})
			defer d.Close()
			c := d.Connect()
			d.put(1)
			d.put(1)
			d.put(2, 3)
			take(t, c, 10)
			time.Sleep(time.Minute)
			synctest.Wait()
			want := 2
			if reduce {
				want = 8 // two answers missing
			}
			if got := d.size(1); got != want {
				t.Errorf("reduction %v: %d entries, want %d", reduce, got, want)
			}
			if d.size(2) != 2 || d.size(3) != 2 || d.failures(1) != 0 {
				t.Error("charged without need")
			}
			if s := d.Stats(); s.Outcomes[Expired] != 3 {
				t.Errorf("%d expired", s.Outcomes[Expired])
			}
		})
	}
}
