package router

import (
	"hash/maphash"
	"sync"
	"time"

	"contend/systems/uplink/message"
)

// A Dedup says how one frame that several gateways heard is passed on only
// once. The zero value passes on every copy.
type Dedup struct {
	// Window is how long after the first copy others are taken for copies; what
	// comes later may be a device's retransmission, which its owner wants to see.
	// 0: no copy is suppressed.
	Window time.Duration `flag:"dedup" default:"2s" min:"0s" max:"1h" words:"*time* within which copies of a frame are not passed on; 0s or off: all are"`
	// Collect is how long to wait for copies. The one with the best
	// signal-to-noise ratio is passed on; 0: the first one, at once.
	Collect time.Duration `flag:"collect" min:"0s" max:"1h" words:"*time* to wait for the copy with the best signal; 0: the first one is passed on"`
}

// seenMost is how many frames a window can hold: 24 MB or so. Beyond it the
// window is shorter than asked for.
const seenMost = 1 << 18

// A frameKey represents a whole PHYPayload. Two frames of a full window have the
// same key with a chance of 2^-93 (n²/2^129 for n = 2^18).
type frameKey [2]uint64

// A deduper finds the copies of a frame. It is safe for concurrent use.
type deduper struct {
	Dedup
	seeds [2]maphash.Seed

	mu sync.Mutex
	// recent holds frames since the last turn, and older those before: a turn is
	// made when recent is a window old, or full.
	recent, older map[frameKey]time.Time
	turned        time.Time
	held          map[frameKey]*message.Uplink // best copy so far, where they are collected
	order         []heldFrame                  // by the time of the first copy
}

type heldFrame struct {
	key   frameKey
	until time.Time
}

func newDeduper(d Dedup) *deduper {
	return &deduper{Dedup: d, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		recent: map[frameKey]time.Time{}, held: map[frameKey]*message.Uplink{}}
}

// sort splits uplinks into those that are passed on now and the copies that are
// not. What is held back is in neither; due returns it.
func (d *deduper) sort(batch []*message.Uplink, now time.Time) (first, copies []*message.Uplink) {
	if d.Window == 0 {
		return batch, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn(now)
	first = batch[:0:len(batch)]
	for _, u := range batch {
		key := frameKey{maphash.Bytes(d.seeds[0], u.PHY), maphash.Bytes(d.seeds[1], u.PHY)}
		at, known := d.recent[key]
		if !known {
			at, known = d.older[key]
		}
		switch {
		case known && now.Sub(at) <= d.Window || d.held[key] != nil: // whose first copy may be held for longer
			copies = append(copies, d.worse(key, u))
			continue
		case d.Collect > 0:
			d.held[key] = u
			d.order = append(d.order, heldFrame{key, now.Add(d.Collect)})
		default:
			first = append(first, u)
		}
		d.recent[key] = now
	}
	return first, copies
}

// worse returns the copy that is not passed on, and keeps the other.
func (d *deduper) worse(key frameKey, u *message.Uplink) *message.Uplink {
	if best, ok := d.held[key]; ok && u.Radio.SNR > best.Radio.SNR {
		d.held[key] = u
		return best
	}
	return u
}

// turn forgets what is older than the window.
func (d *deduper) turn(now time.Time) {
	if now.Sub(d.turned) > d.Window || len(d.recent) >= seenMost {
		d.older, d.recent, d.turned = d.recent, map[frameKey]time.Time{}, now
	}
}

// longest returns how long copies are yet awaited of the frames that are here.
func (d *deduper) longest(now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.order) == 0 {
		return 0
	}
	return d.order[len(d.order)-1].until.Sub(now)
}

// due returns the frames whose copies have been waited for, and when to ask again.
func (d *deduper) due(now time.Time) (ready []*message.Uplink, next time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for n < len(d.order) && !d.order[n].until.After(now) {
		key := d.order[n].key
		ready = append(ready, d.held[key])
		delete(d.held, key)
		n++
	}
	d.order = append(d.order[:0], d.order[n:]...)
	if len(d.order) == 0 {
		return ready, d.Collect
	}
	return ready, d.order[0].until.Sub(now)
}
