package script

import (
	"sync"
	"sync/atomic"

	"contend/load"
)

// A hearing counts what a virtual user asked for and what it was answered: see load.Shares.
type hearing struct{ asked, answered atomic.Int64 }

// hear counts a request and its response; one after the end of the run does not count as asked.
func (v *vu) hear(ask func() error) {
	if v.ctx.Err() == nil {
		v.hearing.asked.Add(1)
	}
	if ask() == nil {
		v.hearing.answered.Add(1)
	}
}

// hearings are those of all virtual users.
type hearings struct {
	mu  sync.Mutex
	all []*hearing
}

func (h *hearings) add() *hearing {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, new(hearing))
	return h.all[len(h.all)-1]
}

// shares are those of the virtual users that asked for anything since the last call.
func (h *hearings) shares() *load.Shares {
	h.mu.Lock()
	defer h.mu.Unlock()
	var responses []int64
	for _, one := range h.all {
		if answered := one.answered.Swap(0); one.asked.Swap(0) > 0 {
			responses = append(responses, answered)
		}
	}
	return load.NewShares(responses)
}
