package pipeline

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLookup(t *testing.T) {
	for _, name := range []string{"chan", "Chan-Batch", "SPSC", "mpsc", "MpMc"} {
		d, err := Lookup(name)
		if err != nil || !strings.EqualFold(d.Name, name) {
			t.Errorf("Lookup(%q) = %q, %v", name, d.Name, err)
		}
		if p := mustNew[int](t, name, Config{Buffer: 1}); p.Design != d {
			t.Errorf("New(%q) built %q", name, p.Design.Name)
		}
	}
	const want = `design is "ring"; expected chan, chan-batch, spsc, mpsc or mpmc`
	if _, err := Lookup("ring"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := New[int]("ring", Config{}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNewNamesEveryMistake(t *testing.T) {
	tests := []struct {
		design string
		config Config
		want   string
	}{
		{"chan", Config{}, ""},
		{"chan", Config{Buffer: -1}, "buffer is -1; expected 0 to 1073741824 with chan"},
		{"mpmc", Config{}, "buffer is 0; expected 1 to 1073741824 with mpmc"},
		{"mpsc", Config{Buffer: 1, Consumers: 2}, "consumers is 2; expected 1 with mpsc"},
		{"spsc", Config{Batch: -2, Producers: 2, Consumers: 300}, `buffer is 0; expected 1 to 1073741824 with spsc
batch is -2; expected 1 to 1073741824 with spsc
producers is 2; expected 1 with spsc
consumers is 300; expected 1 with spsc`},
		{"chan", Config{Producers: 257}, "producers is 257; expected 1 to 256 with chan"},
	}
	for _, tt := range tests {
		_, err := New[int](tt.design, tt.config)
		if got := text(err); got != tt.want {
			t.Errorf("New(%q, %+v):\n%s\nwant\n%s", tt.design, tt.config, got, tt.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestConfigAsBuilt(t *testing.T) {
	tests := []struct {
		design    string
		config    Config
		wantBuilt Config
	}{
		{"chan", Config{}, Config{0, 1, 1, 1}},
		{"chan-batch", Config{Buffer: 10_000}, Config{10_240, 1024, 1, 1}}, // 10 batches
		{"chan-batch", Config{Buffer: 5, Batch: 8}, Config{8, 8, 1, 1}},    // 1 batch
		{"spsc", Config{Buffer: 10_000}, Config{10_000, 1024, 1, 1}},
		{"spsc", Config{Buffer: 3}, Config{3, 3, 1, 1}},
		{"mpsc", Config{Buffer: 10, Batch: 4, Producers: 4}, Config{12, 3, 4, 1}}, // 3 for each
		{"mpmc", Config{Buffer: 10_000}, Config{16_384, 1, 1, 1}},
		{"mpmc", Config{Buffer: 1, Consumers: 2}, Config{2, 1, 1, 2}},
	}
	for _, tt := range tests {
		p := mustNew[int](t, tt.design, tt.config)
		if p.Config != tt.wantBuilt {
			t.Errorf("%s %+v was built as %+v, want %+v", tt.design, tt.config, p.Config, tt.wantBuilt)
		}
		if len(p.Producers) != tt.wantBuilt.Producers || len(p.Consumers) != tt.wantBuilt.Consumers {
			t.Errorf("%s: %d producers, %d consumers", tt.design, len(p.Producers), len(p.Consumers))
		}
	}
}

func TestAParkedConsumerIsServedAtOnce(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		p := mustNew[int](t, d.Name, Config{Buffer: 100})
		producer := p.Producers[0]
		got := make(chan int)
		go func() {
			defer close(got)
			for {
				v, err := p.Consumers[0].Receive(forever)
				if err != nil {
					return
				}
				got <- v
			}
		}()
		for want := range 20 {
			for d.Name != "chan" && !parked(p) {
				time.Sleep(10 * time.Microsecond)
			}
			if err := producer.Send(forever, want); err != nil {
				t.Fatal(err)
			}
			if v := <-got; v != want {
				t.Errorf("got %d, want %d", v, want)
			}
		}
		_ = producer.Close(forever)
		<-got
	})
}

// parked reports whether a consumer has given up polling.
func parked(p *Pipeline[int]) bool {
	if q, ok := p.Consumers[0].in.(*slots[int]); ok {
		return q.items.waiting.Load() > 0
	}
	return p.Producers[0].hungry.Load() > 0
}

func TestUnpublished(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		p := mustNew[int](t, d.Name, Config{Buffer: 100, Batch: 10})
		visible := func() (n int) {
			for _, err := p.Consumers[0].Receive(cancelled()); err == nil; n++ {
				_, err = p.Consumers[0].Receive(cancelled())
			}
			return n
		}
		send := func(n int) {
			for range n {
				_ = p.Producers[0].Send(forever, 1)
			}
		}
		afterNine, afterEleven, afterFlush := 0, 10, 1 // batches of 10: 9 wait, 11 publish 10, 1 waits
		if !d.Batched {
			afterNine, afterEleven, afterFlush = 9, 2, 0
		}
		send(9)
		if n := visible(); n != afterNine {
			t.Errorf("%d of 9 visible, want %d", n, afterNine)
		}
		send(2)
		if n := visible(); n != afterEleven {
			t.Errorf("%d visible after 11, want %d", n, afterEleven)
		}
		_ = p.Producers[0].Flush(forever)
		if n := visible(); n != afterFlush {
			t.Errorf("%d visible after the flush, want %d", n, afterFlush)
		}
	})
}

// Consumed items must not be kept alive by slots that wait for their next use.
func TestConsumedItemsAreReleased(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		p := mustNew[*[64]byte](t, d.Name, Config{Buffer: 8, Batch: 4})
		var mu sync.Mutex
		var released int
		const n = 8
		for range n {
			v := new([64]byte)
			runtime.AddCleanup(v, func(int) { mu.Lock(); released++; mu.Unlock() }, 0)
			_ = p.Producers[0].Send(forever, v)
		}
		_ = p.Producers[0].Close(forever)
		for _, err := p.Consumers[0].Receive(forever); err == nil; {
			_, err = p.Consumers[0].Receive(forever)
		}
		for range 100 {
			runtime.GC()
			time.Sleep(time.Millisecond)
			mu.Lock()
			all := released == n
			mu.Unlock()
			if all {
				runtime.KeepAlive(p)
				return
			}
		}
		t.Errorf("%d of %d items released", released, n)
	})
}

func TestNoAllocationPerItem(t *testing.T) {
	for _, d := range Designs() {
		p := mustNew[int](t, d.Name, Config{Buffer: 64, Batch: 8})
		allocs := testing.AllocsPerRun(1000, func() {
			_ = p.Producers[0].Send(forever, 1)
			_ = p.Producers[0].Flush(forever)
			_, _ = p.Consumers[0].Receive(forever)
		})
		if allocs > 0 {
			t.Errorf("%s: %g allocations per item", d.Name, allocs)
		}
	}
}

func TestAudit(t *testing.T) {
	tally := func(items ...uint64) *Tally {
		t := new(Tally)
		t.Add(items...)
		return t
	}
	tests := []struct {
		name    string
		sent    []uint64
		tallies []*Tally
		want    string
	}{
		{"nothing", []uint64{0}, []*Tally{tally()}, ""},
		{"one after the other", []uint64{3}, []*Tally{tally(1, 2, 3)}, ""},
		{"two consumers", []uint64{3}, []*Tally{tally(1, 3), tally(2)}, ""},
		{"two producers", []uint64{2, 2}, []*Tally{tally(Item(1, 1), 1, Item(1, 2), 2)}, ""},
		{"a loss", []uint64{3}, []*Tally{tally(1, 3)},
			"pipeline: 2 items arrived of 3 sent\npipeline: sum of items is 4, not 6"},
		{"a swap", []uint64{3}, []*Tally{tally(2, 1, 3)}, "pipeline: 1 items out of their producer's order"},
		{"a swap among others", []uint64{2, 1}, []*Tally{tally(2, Item(1, 1), 1)},
			"pipeline: 1 items out of their producer's order"},
		{"a duplicate", []uint64{2}, []*Tally{tally(1, 1, 2)},
			"pipeline: 3 items arrived of 2 sent\npipeline: sum of items is 4, not 3\n" +
				"pipeline: 1 items out of their producer's order"},
		{"of another producer", []uint64{1, 1}, []*Tally{tally(1, Item(2, 1))},
			"pipeline: sum of items is 144115188075855874, not 72057594037927938"}, // 2·2^56 + 2, 2^56 + 2
	}
	for _, tt := range tests {
		if got := text(Audit(tt.sent, tt.tallies...)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever way items come, in slices or alone, a tally says the same.
func TestTallyDoesNotDependOnSlicing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		items := rapid.SliceOf(rapid.Custom(func(r *rapid.T) uint64 {
			return Item(rapid.IntRange(0, 3).Draw(r, "producer"), rapid.Uint64Range(1, 5).Draw(r, "number"))
		})).Draw(r, "items")
		cut := rapid.IntRange(0, len(items)).Draw(r, "cut")
		whole, parts, single := new(Tally), new(Tally), new(Tally)
		whole.Add(items...)
		parts.Add(items[:cut]...)
		parts.Add(items[cut:]...)
		last, misordered := map[uint64]uint64{}, uint64(0)
		for _, item := range items {
			single.Add(item)
			if item <= last[item>>producerBits] {
				misordered++
			}
			last[item>>producerBits] = item
		}
		for _, tally := range []*Tally{whole, parts, single} {
			if tally.count != uint64(len(items)) || tally.sum != single.sum || tally.misordered != misordered {
				r.Fatalf("%d %d %d, want misordered %d", tally.count, tally.sum, tally.misordered, misordered)
			}
		}
	})
}
