package router

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"contend/systems/uplink/message"
)

func heard(phy string, snr float32) *message.Uplink {
	return &message.Uplink{PHY: []byte(phy), Radio: message.Radio{SNR: snr}}
}

func texts(list []*message.Uplink) []string {
	var all []string
	for _, u := range list {
		all = append(all, fmt.Sprintf("%s %g", u.PHY, u.Radio.SNR))
	}
	return all
}

func TestFirstCopyWins(t *testing.T) {
	t.Parallel()
	d := newDeduper(Dedup{Window: 2 * time.Second})
	start := time.Unix(1000, 0)
	for _, step := range []struct {
		at            time.Duration
		batch         []*message.Uplink
		first, copies []string
	}{
		{0, []*message.Uplink{heard("a", 1), heard("b", 1), heard("a", 9)}, []string{"a 1", "b 1"}, []string{"a 9"}},
		{1500 * time.Millisecond, []*message.Uplink{heard("c", 1), heard("a", 2)}, []string{"c 1"}, []string{"a 2"}},
		{2 * time.Second, []*message.Uplink{heard("b", 2)}, nil, []string{"b 2"}},
		// A window after the first copy, however many came since, it is a new frame.
		{2001 * time.Millisecond, []*message.Uplink{heard("a", 3), heard("c", 2)}, []string{"a 3"}, []string{"c 2"}},
		{4 * time.Second, []*message.Uplink{heard("a", 4), heard("b", 3)}, []string{"b 3"}, []string{"a 4"}},
		{time.Hour, []*message.Uplink{heard("a", 5)}, []string{"a 5"}, nil},
	} {
		first, copies := d.sort(step.batch, start.Add(step.at))
		if !slices.Equal(texts(first), step.first) || !slices.Equal(texts(copies), step.copies) {
			t.Errorf("%v: passed on %v, copies %v; want %v and %v", step.at, texts(first), texts(copies), step.first, step.copies)
		}
	}
}

func TestBestCopyWins(t *testing.T) {
	t.Parallel()
	d := newDeduper(Dedup{Window: 2 * time.Second, Collect: 100 * time.Millisecond})
	start := time.Unix(1000, 0)
	_, copies := d.sort([]*message.Uplink{heard("a", 1), heard("a", 3), heard("a", 2), heard("b", 1)}, start)
	if want := []string{"a 1", "a 2"}; !slices.Equal(texts(copies), want) {
		t.Errorf("copies %v, want %v", texts(copies), want)
	}
	if ready, next := d.due(start.Add(60 * time.Millisecond)); len(ready) > 0 || next != 40*time.Millisecond {
		t.Errorf("%v are ready, the next in %v", texts(ready), next)
	}
	ready, next := d.due(start.Add(100 * time.Millisecond))
	if want := []string{"a 3", "b 1"}; !slices.Equal(texts(ready), want) || next != 100*time.Millisecond {
		t.Errorf("%v are ready, the next in %v; want %v", texts(ready), next, want)
	}
	first, copies := d.sort([]*message.Uplink{heard("a", 9)}, start.Add(time.Second))
	if len(first) > 0 || len(copies) != 1 {
		t.Errorf("a late copy: passed on %v, copies %v", texts(first), texts(copies))
	}
}

// A frame is held once, also if copies are awaited for longer than the window.
func TestCopiesAreAwaitedBeyondTheWindow(t *testing.T) {
	t.Parallel()
	d := newDeduper(Dedup{Window: 2 * time.Second, Collect: 5 * time.Second})
	start := time.Unix(1000, 0)
	d.sort([]*message.Uplink{heard("a", 1)}, start)
	_, copies := d.sort([]*message.Uplink{heard("a", 2)}, start.Add(3*time.Second))
	ready, _ := d.due(start.Add(time.Hour))
	if !slices.Equal(texts(copies), []string{"a 1"}) || len(ready) != 1 || ready[0] == nil || ready[0].Radio.SNR != 2 {
		t.Errorf("copies %v, and %d are ready", texts(copies), len(ready))
	}
}

func TestEveryCopyPasses(t *testing.T) {
	t.Parallel()
	first, copies := newDeduper(Dedup{}).sort([]*message.Uplink{heard("a", 1), heard("a", 1)}, time.Unix(0, 0))
	if len(first) != 2 || len(copies) != 0 {
		t.Errorf("passed on %d, copies %d", len(first), len(copies))
	}
}

// Each uplink is passed on or a copy, not both and not lost, and one uplink of
// each frame is passed on, whether copies are collected or not.
func TestNothingIsLostToDedup(t *testing.T) {
	t.Parallel()
	for _, collect := range []time.Duration{0, 50 * time.Millisecond} {
		d := newDeduper(Dedup{Window: time.Hour, Collect: collect})
		random := rand.New(rand.NewPCG(1, 1))
		now := time.Unix(0, 0)
		frames, passed, copied := map[string]bool{}, 0, 0
		const all = 3000
		for sent := 0; sent < all; {
			var batch []*message.Uplink
			for range min(1+random.IntN(20), all-sent) {
				name := fmt.Sprint(random.IntN(500))
				frames[name] = true
				batch = append(batch, heard(name, float32(random.IntN(10))))
			}
			sent += len(batch)
			first, copies := d.sort(batch, now)
			now = now.Add(time.Duration(random.IntN(20)) * time.Millisecond)
			ready, _ := d.due(now)
			passed, copied = passed+len(first)+len(ready), copied+len(copies)
		}
		ready, _ := d.due(now.Add(time.Minute))
		if passed += len(ready); passed != len(frames) || passed+copied != all {
			t.Errorf("collecting %v: %d frames, %d passed on, %d copies of %d", collect, len(frames), passed, copied, all)
		}
	}
}
