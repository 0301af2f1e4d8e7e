package outbox

import (
	"runtime"
	"slices"
	"testing"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

func TestOverflowOfBytes(t *testing.T) {
	one := overhead + 12 + 16 // a frame of 12 bytes and one DevEUI
	d := newDesk(Config{MaxBytes: 3*one + one/2})
	defer d.Close()
	uplinks := d.putMany(4, 1)
	d.want(t, uplinks[0], DroppedOverflow)
	d.want(t, uplinks[1])
	if s := d.Stats(); s.Bytes != 3*one {
		t.Errorf("%d bytes, want %d", s.Bytes, 3*one)
	}
	large := &message.Uplink{PHY: make([]byte, 4*one)}
	d.Put([]Message{{Uplink: large, Candidates: []Candidate{{DevEUI: 1}}}}) // does not fit even alone
	d.want(t, large, DroppedOverflow)
	if s := d.Stats(); s.Bytes != 0 || s.Waiting != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestInvalid(t *testing.T) {
	d := newDesk(Config{})
	defer d.Close()
	short, nobody := &message.Uplink{PHY: make([]byte, 4)}, &message.Uplink{PHY: make([]byte, 12)}
	d.Put([]Message{{Uplink: short, Candidates: []Candidate{{DevEUI: 1}}}, {Uplink: nobody}})
	d.want(t, short, DroppedInvalid)
	d.want(t, nobody, DroppedInvalid)
}

func TestOutcomeNames(t *testing.T) {
	var names []string
	for o := range Outcomes {
		names = append(names, o.String())
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != int(Outcomes) || slices.Contains(names, "") {
		t.Errorf("names %q", names)
	}
}

// TestMemoryOfUnansweredChallenges has 1920 challenges of 4096 entries unanswered,
// which would be 31 MB if they were kept. 4 MB are the caller's.
func TestMemoryOfUnansweredChallenges(t *testing.T) {
	const devices, each = 30, 64
	d := newDesk(Config{})
	defer d.Close()
	before := heapOf()
	for eui := range lorawan.EUI(devices) {
		d.putMany(each, eui)
	}
	c := d.Connect()
	n := 0
	var buf []message.Upstream
	for n < devices*each {
		got, err := c.Take(t.Context(), buf[:0], 256)
		if err != nil {
			t.Fatal(err)
		}
		n += len(got)
		buf = got
	}
	if grown := heapOf() - before; grown > 8<<20 {
		t.Errorf("%d unanswered messages take %d bytes", n, grown)
	}
	runtime.KeepAlive(buf)
}

func heapOf() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestTakeReusesChallenges has Take fill what it was handed.
func TestTakeReusesChallenges(t *testing.T) {
	d := newDesk(Config{Trust: TrustConfig{Start: 2}})
	defer d.Close()
	c := d.Connect()
	d.put(1)
	buf, err := c.Take(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := &buf[0].Challenge[0]
	d.put(1)
	if buf, err = c.Take(t.Context(), buf[:0], 1); err != nil {
		t.Fatal(err)
	}
	if &buf[0].Challenge[0] != first {
		t.Error("another array")
	}
	d.put(1)
	if buf, err = c.Take(t.Context(), buf, 1); err != nil || len(buf) != 2 || &buf[0].Challenge[0] != first {
		t.Errorf("did not append: %d messages, %v", len(buf), err)
	}
}

// TestMemoryIsGivenBack has a backlog, and then long challenges, leave little.
func TestMemoryIsGivenBack(t *testing.T) {
	size := MaxChallenge
	d := newDesk(Config{Trust: TrustConfig{Initial: func(lorawan.EUI) Trust { return Trust{Size: size} }}})
	defer d.Close()
	c := d.Connect()
	d.put(1)
	buf, err := c.Take(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	size = 2
	uplinks := d.putMany(2*maxFree, 2)
	if buf, err = c.Take(t.Context(), buf[:0], 2*maxFree); err != nil || len(buf) != 2*maxFree {
		t.Fatalf("took %d, %v", len(buf), err)
	}
	if n := cap(buf[0].Challenge); n > longChallenge {
		t.Errorf("a challenge of 2 has room for %d", n)
	}
	for i, m := range buf {
		c.Answer([]message.Answer{right(m, uplinks[i])})
	}
	if n := len(d.free); n != maxFree {
		t.Errorf("%d entries are kept for reuse", n)
	}
}
