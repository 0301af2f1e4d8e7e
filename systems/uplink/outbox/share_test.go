package outbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

func TestConnectionsShare(t *testing.T) {
	bubble(t, Config{Trust: TrustConfig{Start: 2}}, func(t *testing.T, d *desk) {
		type batch struct {
			conn     int
			messages []message.Upstream
		}
		batches := make(chan batch)
		ctx, cancel := context.WithCancel(context.Background())
		for i := range 2 {
			c := d.Connect()
			go func() {
				for {
					got, err := c.Take(ctx, nil, 1000)
					if err != nil {
						return
					}
					batches <- batch{i, got}
				}
			}()
		}
		collect := func(n int) (per [2]int) {
			seen := map[uint64]bool{}
			for n > 0 {
				b := <-batches
				per[b.conn] += len(b.messages)
				n -= len(b.messages)
				for _, m := range b.messages {
					if seen[m.Transaction] {
						t.Error("delivered twice")
					}
					seen[m.Transaction] = true
				}
			}
			return per
		}
		synctest.Wait()
		messages := make([]Message, 100)
		for i := range messages {
			messages[i] = Message{Uplink: &message.Uplink{PHY: make([]byte, 12)}, Candidates: []Candidate{{DevEUI: 1}}}
		}
		d.Put(messages)
		// The first takes half, and half of the rest if it is back before the other
		// has looked, and so on; the last one is the other's.
		if per := collect(100); min(per[0], per[1]) < 1 {
			t.Errorf("a batch was shared as %v", per)
		}
		synctest.Wait()
		var per [2]int
		for range 10 {
			d.put(1)
			one := collect(1)
			per[0] += one[0]
			per[1] += one[1]
			synctest.Wait()
		}
		if per != [2]int{5, 5} {
			t.Errorf("single messages were shared as %v", per)
		}
		cancel()
	})
}

func TestBusyConnectionGetsNothing(t *testing.T) {
	d := newDesk(Config{Trust: TrustConfig{Start: 2}})
	defer d.Close()
	d.Connect() // does not take
	d.putMany(10, 1)
	if got := take(t, d.Connect(), 100); len(got) != 10 {
		t.Errorf("%d of 10 passed a connection that takes none", len(got))
	}
}

// TestAWakeUpIsPassedOn has a connection give up at the moment at which it was
// woken up.
func TestAWakeUpIsPassedOn(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, d *desk) {
		a, b := d.Connect(), d.Connect()
		if _, err := a.take(nil, 1); err != nil { // waits
			t.Fatal(err)
		}
		got := make(chan int)
		go func() {
			taken, _ := b.Take(context.Background(), nil, 1)
			got <- len(taken)
		}()
		synctest.Wait()
		d.put(1) // wakes up a
		synctest.Wait()
		a.giveUp()
		if n := <-got; n != 1 {
			t.Errorf("took %d", n)
		}
	})
}

func TestAFreshDeviceStandsAside(t *testing.T) {
	d := newDesk(Config{Trust: TrustConfig{Initial: func(eui lorawan.EUI) Trust { return Trust{Size: 2 * int(eui&1)} }}})
	defer d.Close()
	const fresh, known = 2, 1 // 4096 and 2 entries
	uplinks := d.putMany(100, fresh)
	passes := d.putMany(100, known)
	c := d.Connect()
	var got []message.Upstream
	for range 20 {
		got = append(got, take(t, c, 20)...)
	}
	count := map[lorawan.EUI]int{}
	for _, m := range got {
		count[m.DevEUIs[0]]++
	}
	if count[fresh] != 64 || count[known] != 100 {
		t.Fatalf("delivered %v, want 64 of the fresh device and all 100 of the other", count)
	}
	// An answer makes room for another one.
	c.Answer([]message.Answer{{Transaction: got[0].Transaction, Reject: message.RejectOther}})
	if more := take(t, c, 100); len(more) != 1 {
		t.Fatalf("%d after an answer, want 1", len(more))
	}
	// 4096 = 64 · 2^6: with the sixth right answer the challenge is short enough.
	for i := range 6 {
		c.Answer([]message.Answer{right(got[1+i], uplinks[1+i])})
	}
	if more := take(t, c, 100); len(more) != 35 || len(more[0].Challenge) != 64 {
		t.Errorf("%d after six right answers, want 35", len(more))
	}
	for _, u := range passes {
		d.want(t, u)
	}
}

// TestStandingAsideForAnother has lanes stand aside for a device that shares a
// message with theirs, and step in when that message is gone.
func TestStandingAsideForAnother(t *testing.T) {
	d := newDesk(Config{MaxMessages: 67, Trust: TrustConfig{Initial: func(eui lorawan.EUI) Trust { return Trust{Size: 2 * int(eui&1)} }}})
	defer d.Close()
	const fresh = 2
	c := d.Connect()
	d.putMany(64, fresh)
	for range 4 {
		take(t, c, 16)
	}
	shared := []*message.Uplink{d.put(1, fresh), d.put(3, fresh)}
	if got := take(t, c, 10); len(got) != 0 {
		t.Fatalf("%d passed", len(got))
	}
	own := d.put(3)
	if got := take(t, c, 10); len(got) != 0 {
		t.Fatalf("%d passed a message of the same lane", len(got))
	}
	d.mu.Lock()
	out := new(settled)
	d.settle(d.waiting.head.next.entry, DroppedOverflow, out)
	d.mu.Unlock()
	out.report(&d.config)
	d.want(t, shared[1], DroppedOverflow)
	got := take(t, c, 10)
	if len(got) != 1 || !slices.Equal(got[0].DevEUIs, []lorawan.EUI{3}) {
		t.Fatalf("got %v", got)
	}
	c.Answer([]message.Answer{right(got[0], own)})
	c.Close() // makes room: all come again, in order
	c = d.Connect()
	var again []message.Upstream
	for range 5 {
		again = append(again, take(t, c, 100)...)
	}
	if len(again) != 64 {
		t.Errorf("%d, want 64", len(again))
	}
	d.want(t, shared[0])
}
