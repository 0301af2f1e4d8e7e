package queue

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// receive reads a customer's stream; the func it returns ends that.
func receive(t *testing.T, c *collector, customer string) (got *collector, stop func()) {
	t.Helper()
	got = &collector{in: c.in, ack: c.ack, seen: map[int]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.in.Receive(ctx, customer, got.handle) }()
	return got, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestForwardedUplinksAreReceivedAndAcknowledged(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		a, _ := startIntake(t, r, quick("a"), true)
		b, _ := startIntake(t, r, quick("b"), true)
		forward(t, a.in, "c1", frames(0, 300))
		one, stopOne := receive(t, b, "c1")
		two, stopTwo := receive(t, b, "c2")
		until(t, "what was forwarded before arrives", func() bool { return one.count() == 300 })
		forward(t, a.in, "c1", frames(300, 400))
		forward(t, a.in, "c2", frames(0, 50))
		until(t, "both customers have theirs", func() bool { return one.count() == 400 && two.count() == 50 })
		one.once(t, 400)
		until(t, "all is acknowledged", func() bool { return b.in.Stats().Acked == 450 })
		if st := a.in.Stats(); st.Forwarded != 450 || st.Acked != 0 {
			t.Errorf("%+v", st)
		}
		if err := b.in.Receive(t.Context(), "c1", nil); !errors.Is(err, ErrReceiving) {
			t.Errorf("a second reader: %v", err)
		}
		stopOne()
		forward(t, a.in, "c1", frames(400, 401))
		again, stopAgain := receive(t, a, "c1")
		until(t, "another instance goes on", func() bool { return again.count() == 1 })
		stopAgain()
		stopTwo()
		if pending := pendingIn(t, r, keyCustomer+"c1"); pending > 1 {
			t.Errorf("%d pending", pending)
		}
	})
}

func TestWhatADeadHolderLeftIsReceived(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		dead, err := NewIntake(t.Context(), r, soon("dead"))
		if err != nil {
			t.Fatal(err)
		}
		forward(t, dead, "c", frames(0, 700))
		lost, stop := receive(t, &collector{in: dead}, "c")
		until(t, "it has all", func() bool { return lost.count() == 700 })
		stop()
		dead.stop()
		dead.routines.Wait()
		live, _ := startIntake(t, r, soon("live"), true)
		got, stopGot := receive(t, live, "c")
		until(t, "all comes again", func() bool { return got.count() == 700 })
		stopGot()
		got.once(t, 700)
	})
}

// A process that is killed, and follows itself before the others have noticed, knows nothing of what it had in hand.
func TestWhatAnEarlierProcessLeftIsReceived(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		killed, err := NewIntake(t.Context(), r, soon("a"))
		if err != nil {
			t.Fatal(err)
		}
		forward(t, killed, "c", frames(0, 700))
		lost, stop := receive(t, &collector{in: killed}, "c")
		until(t, "it has all", func() bool { return lost.count() == 700 })
		killed.stop()
		killed.routines.Wait()
		stop()
		startIntake(t, r, soon("a"), true)
		live, _ := startIntake(t, r, soon("b"), true)
		got, stopGot := receive(t, live, "c")
		until(t, "all comes again", func() bool { return got.count() == 700 })
		stopGot()
		got.once(t, 700)
	})
}

func TestHolders(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		a, stopA := startIntake(t, r, quick("a"), true)
		b, _ := startIntake(t, r, quick("b"), true)
		if _, _, ok := b.in.Holder("c"); ok {
			t.Error("nobody holds it")
		}
		a.in.Hold("c")
		a.in.Hold("c")
		if name, self, ok := a.in.Holder("c"); name != "a" || !self || !ok {
			t.Error(name, self, ok)
		}
		until(t, "b knows", func() bool { name, self, ok := b.in.Holder("c"); return name == "a" && !self && ok })
		b.in.Hold("c")
		if _, self, _ := b.in.Holder("c"); !self {
			t.Error("this instance comes first")
		}
		b.in.Release("c")
		a.in.Release("c")
		if _, self, _ := a.in.Holder("c"); !self {
			t.Error("it has one of two")
		}
		a.in.Release("c")
		a.in.Release("c") // of nothing
		until(t, "b knows that, too", func() bool { _, _, ok := b.in.Holder("c"); return !ok })
		a.in.Hold("c")
		until(t, "b knows again", func() bool { _, _, ok := b.in.Holder("c"); return ok })
		stopA()
		until(t, "a is gone, with all it held", func() bool { _, _, ok := b.in.Holder("c"); return !ok })
	})
}

// Whoever gets the sockets of an instance that ends waits for what that one had in hand, however long the sockets take to close.
func TestOrderWhereTheHolderEnds(t *testing.T) {
	t.Parallel()
	const old, all = 100, 200
	r := openURL(t, redistest.Start(t).URL())
	a, stopA := startIntake(t, r, quick("a"), true)
	b, _ := startIntake(t, r, quick("b"), true)
	a.in.Hold("c")
	forward(t, a.in, "c", frames(0, old))
	had, stopHad := receive(t, &collector{in: a.in}, "c")
	until(t, "the first has what is old", func() bool { return had.count() == old })
	a.in.ReleaseAll(t.Context())
	stopHad()
	b.in.Hold("c")
	forward(t, b.in, "c", frames(old, all))
	got, _ := receive(t, b, "c")
	beats := func() uint64 { return b.in.holder.view.Load().said["a"].Beat }
	before := beats()
	until(t, "the first has said several times that it lives", func() bool { return beats() > before+3 })
	stopA()
	until(t, "the second has all", func() bool { return got.count() == all })
	if got.late > 0 {
		t.Errorf("%d come after later ones", got.late)
	}
}

func TestDownlinks(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		target := uint32(0x01020304)
		for _, d := range downlinks(target) {
			d.Open = time.Hour
			if _, err := r.SendDownlink(t.Context(), &d); err != nil {
				t.Fatal(err)
			}
		}
		entries := entriesOf(t, r, keyDownlinks)
		if len(entries) != 3 {
			t.Fatal(entries)
		}
		for i, want := range []map[string]string{
			{"v": "1", "mailbox": "7", "customer": "c", "tx": "1", "device": "00000000000000ab", "target": "01020304",
				"phy": "p\x00", "freq": "868100000", "mod": "lora", "sf": "9", "bw": "125000", "delay": "5", "gw": "00000000000000cd", "ts": "3"},
			{"v": "1", "mailbox": "8", "customer": "c", "tx": "2", "group": "0000000c", "phy": "q",
				"freq": "0", "mod": "lora", "sf": "0", "bw": "0", "tmms": "1,18446744073709551615"},
			{"v": "1", "mailbox": "9", "customer": "d", "tx": "3", "device": "0000000000000001", "phy": "r",
				"freq": "0", "mod": "fsk", "dev": "1", "br": "2", "deadline": "1"},
		} {
			if got := entries[i].FieldValues; !maps.Equal(got, want) {
				t.Errorf("downlink %d: %q, want %q", i, got, want)
			}
		}
	})
}

func TestResultsReachEveryInstance(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		result := func(i uint64) DownlinkResult {
			return DownlinkResult{Customer: "c", DownstreamResult: message.DownstreamResult{
				Transaction: i, Mailbox: ^uint64(0), Code: message.TooLate, Text: "too late"}}
		}
		tell := func(i uint64) { // as a gateway does
			addRaw(t, r, keyResults, [][]string{{"v", "1", "mailbox", "18446744073709551615", "customer", "c",
				"tx", strconv.FormatUint(i, 10), "code", "3", "text", "too late"}})
		}
		tell(1)
		last, err := r.LastResult(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tell(2) // before anybody reads
		addRaw(t, r, keyResults, [][]string{{"v", "1"}, {"v", "1", "mailbox", "1", "tx", "1", "code", "6"}})
		tell(3)
		var (
			mu      sync.Mutex
			seen    = map[DownlinkResult]int{}
			readers sync.WaitGroup
		)
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			readers.Go(func() {
				r.Results(ctx, last, func(list []DownlinkResult) {
					mu.Lock()
					defer mu.Unlock()
					for _, d := range list {
						seen[d]++
					}
				})
			})
		}
		until(t, "both see both results", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return seen[result(2)] == 2 && seen[result(3)] == 2
		})
		cancel()
		readers.Wait()
		if len(seen) != 2 {
			t.Errorf("seen: %+v", seen)
		}
	})
}

func downlinks(target uint32) []Downlink {
	addr := lorawan.DevAddr(target)
	return []Downlink{
		{Mailbox: 7, Customer: "c", After: &Heard{Gateway: 0xcd, Received: 3}, Downstream: message.Downstream{
			Transaction: 1, DevEUI: 0xab, Target: &addr, PHY: []byte("p\x00"),
			Window: message.Window{Delay: 5, Radio: message.Radio{Frequency: 868100000, Spreading: 9, Bandwidth: 125000}}}},
		{Mailbox: 8, Customer: "c", Downstream: message.Downstream{
			Transaction: 2, Multicast: true, Group: 12, PHY: []byte("q"),
			Window: message.Window{TMMS: []uint64{1, 1<<64 - 1}}}},
		{Mailbox: 9, Customer: "d", Downstream: message.Downstream{
			Transaction: 3, DevEUI: 1, PHY: []byte("r"),
			Window: message.Window{Deadline: 1, Radio: message.Radio{Modulation: message.FSK, FrequencyDeviation: 1, BitRate: 2}}}},
	}
}
