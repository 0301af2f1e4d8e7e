package queue

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// holders knows which instances hold a socket of each customer.
type holders struct {
	mu   sync.Mutex
	mine []string // sorted; as often as held
	view atomic.Pointer[holderView]
	self atomic.Pointer[map[string]bool]
}

// A holderView is what was heard of the instances.
type holderView struct {
	asked time.Time         // when it was asked for
	live  map[string]bool   // whether it has to be alone
	holds map[string]string // customer → another instance
	has   map[int]string    // partition → another instance, which reads it or has yet to give it up
	said  map[string]presence
}

// add notes what another instance holds.
func (v *holderView) add(name string, p *presence) {
	for _, customer := range p.Holds {
		if v.holds[customer] == "" {
			v.holds[customer] = name
		}
	}
	for _, partition := range p.Has {
		v.has[partition] = name
	}
}

// keep notes which partitions an instance had before, which says nothing now and may live.
func (v *holderView) keep(name string, before *holderView) {
	for partition, other := range before.has {
		if other == name {
			v.has[partition] = name
		}
	}
}

func (h *holders) init() {
	h.view.Store(&holderView{})
	h.self.Store(&map[string]bool{})
}

func (h *holders) see(view *holderView) { h.view.Store(view) }

func (h *holders) lives(instance string) bool {
	_, lives := h.view.Load().live[instance]
	return lives
}

// own returns the customers that are held here, each once.
func (h *holders) own() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Compact(slices.Clone(h.mine))
}

// set replaces what is held and reports whether the set of customers changed.
func (h *holders) change(f func([]string) []string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := slices.Compact(slices.Clone(h.mine))
	h.mine = f(h.mine)
	after := slices.Compact(slices.Clone(h.mine))
	self := make(map[string]bool, len(after))
	for _, customer := range after {
		self[customer] = true
	}
	h.self.Store(&self)
	return !slices.Equal(before, after)
}

// Hold says that this instance has a socket of the customer, for each socket
// once; the others know it a moment later.
func (in *Intake) Hold(customer string) {
	if in.holder.change(func(mine []string) []string {
		i, _ := slices.BinarySearch(mine, customer)
		return slices.Insert(mine, i, customer)
	}) {
		in.tellHolders()
	}
}

// Release takes back one Hold.
func (in *Intake) Release(customer string) {
	if in.holder.change(func(mine []string) []string {
		i, found := slices.BinarySearch(mine, customer)
		if !found {
			return mine
		}
		return slices.Delete(mine, i, i+1)
	}) {
		in.tellHolders()
	}
}

// ReleaseAll takes back every Hold, and returns when the others can know it, or when ctx ends. Called before the sockets
// are closed, it has whoever gets them next wait for what this instance gives back: that is older than what is new.
func (in *Intake) ReleaseAll(ctx context.Context) {
	if in.holder.change(func([]string) []string { return nil }) {
		in.tellHolders()
	}
	for {
		said := in.said.wait()
		if in.saidHolds.Load() == 0 {
			return
		}
		select {
		case <-said:
		case <-ctx.Done():
			return
		case <-in.ctx.Done():
			return
		}
	}
}

// tellHolders has the others learn soon what this instance holds, or has.
func (in *Intake) tellHolders() {
	in.changed.Store(true)
	in.wakeKeeper()
}

// Holder finds an instance with a socket of the customer, this one first; ok is
// false if no instance has one. What others hold is known as of the last
// heartbeat, or of the last change that they reported.
func (in *Intake) Holder(customer string) (instance string, self, ok bool) {
	if (*in.holder.self.Load())[customer] {
		return in.cfg.Instance, true, true
	}
	instance, ok = in.holder.view.Load().holds[customer]
	return instance, false, ok
}
