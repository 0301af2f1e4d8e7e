package outbox

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// A desk is an outbox with what it reported.
type desk struct {
	*Outbox
	lock      sync.Mutex
	settled   map[*message.Uplink][]Outcome
	solved    []lorawan.EUI
	suspended []Suspension
	created   int64           // of the rows of what is put
	addr      lorawan.DevAddr // of what is put; 0: it has none
	proven    bool            // a row of what is put is proven there
	next      uint32
}

func newDesk(config Config) *desk {
	d := &desk{settled: map[*message.Uplink][]Outcome{}}
	config.Settled = func(uplinks []*message.Uplink, outcome Outcome) {
		d.lock.Lock()
		defer d.lock.Unlock()
		for _, u := range uplinks {
			d.settled[u] = append(d.settled[u], outcome)
		}
	}
	config.Solved = func(eui lorawan.EUI, _ *message.Uplink) { d.solved = append(d.solved, eui) }
	config.Suspended = func(s Suspension) { d.suspended = append(d.suspended, s) }
	d.Outbox = New(config)
	return d
}

// put puts an uplink of its own for the devices, and returns it.
func (d *desk) put(euis ...lorawan.EUI) *message.Uplink {
	d.next++
	phy := binary.BigEndian.AppendUint32([]byte{0x40, 1, 2, 3, 4, 0, 0, 0}, d.next)
	u := &message.Uplink{PHY: phy, Arrived: time.Now(), Position: new(message.Position)}
	candidates := make([]Candidate, len(euis))
	for i, eui := range euis {
		candidates[i] = Candidate{eui, d.created}
	}
	d.Put([]Message{{Uplink: u, Candidates: candidates, Addr: d.addr, HasAddr: d.addr != 0, Proven: d.proven}})
	return u
}

// of is what the outbox knows about a device.
func (d *desk) of(eui lorawan.EUI) *device {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.devices[eui]
}

func (d *desk) putMany(n int, euis ...lorawan.EUI) []*message.Uplink {
	uplinks := make([]*message.Uplink, n)
	for i := range uplinks {
		uplinks[i] = d.put(euis...)
	}
	return uplinks
}

// take takes what there is without waiting.
func take(t rapid.TB, c *Conn, limit int) []message.Upstream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := c.Take(ctx, nil, limit)
	if err != nil && err != context.Canceled {
		t.Fatal(err)
	}
	return got
}

func mic(u *message.Uplink) uint32 { return binary.BigEndian.Uint32(u.PHY[len(u.PHY)-4:]) }

func right(m message.Upstream, u *message.Uplink) message.Answer {
	return message.Answer{Transaction: m.Transaction, DevEUI: m.DevEUIs[0], MIC: mic(u)}
}

func (d *desk) outcomes(u *message.Uplink) []Outcome {
	d.lock.Lock()
	defer d.lock.Unlock()
	return d.settled[u]
}

func (d *desk) want(t rapid.TB, u *message.Uplink, want ...Outcome) {
	t.Helper()
	if got := d.outcomes(u); !slices.Equal(got, want) {
		t.Errorf("settled %v, want %v", got, want)
	}
}

func TestDelivery(t *testing.T) {
	d := newDesk(Config{})
	defer d.Close()
	u := d.put(7)
	u.Radio = message.Radio{Frequency: 868_100_000, RSSI: -80}
	c := d.Connect()
	got := take(t, c, 10)
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	m := got[0]
	if m.Transaction == 0 || m.Outdated || !slices.Equal(m.DevEUIs, []lorawan.EUI{7}) || m.Radio != u.Radio {
		t.Errorf("got %+v", m)
	}
	if string(m.PHYNoMIC) != string(u.PHY[:8]) || cap(m.PHYNoMIC) != 8 {
		t.Errorf("frame %x, capacity %d", m.PHYNoMIC, cap(m.PHYNoMIC))
	}
	if len(m.Challenge) != MaxChallenge || !slices.Contains(m.Challenge, mic(u)) {
		t.Errorf("challenge of %d entries lacks the MIC", len(m.Challenge))
	}
	d.want(t, u)
	c.Answer([]message.Answer{right(m, u)})
	d.want(t, u, Answered)
	if !slices.Equal(d.solved, []lorawan.EUI{7}) {
		t.Errorf("solved %v", d.solved)
	}
	c.Answer([]message.Answer{right(m, u)})
	d.want(t, u, Answered)
	if s := d.Stats(); s.Unknown != 1 || s.RightMIC != 1 || s.Waiting+s.Unanswered+s.Bytes != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(Config{})
		defer d.Close()
		c := d.Connect()
		got := make(chan int)
		go func() {
			taken, _ := c.Take(context.Background(), nil, 10)
			got <- len(taken)
		}()
		synctest.Wait()
		d.put(1)
		if n := <-got; n != 1 {
			t.Errorf("took %d", n)
		}
	})
}
