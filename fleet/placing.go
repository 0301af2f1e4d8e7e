package fleet

import (
	"sync"

	"contend/internal/placement"
	"contend/trial"
)

// placed is where a worker runs that drives and starts servers.
type placed struct {
	mu      sync.Mutex
	process placement.Process
	from    string // the coordinator for which that is
}

// place gives the worker, which is the load generator, and a server CPUs of their own, for as long as there is a server:
// the same ones in all rounds of a coordinator.
func (h *hosting) place(from string, s *starting, setup *trial.Setup) (*placement.Layout, error) {
	if s.Placement == "" {
		return nil, nil
	}
	h.placed.mu.Lock()
	defer h.placed.mu.Unlock()
	if h.placed.from != from {
		h.process.Release()
		h.process, h.placed.from = placement.Process{}, from
	}
	if err := h.process.PlaceFor(s.Placement, s.Generator); err != nil {
		return nil, err
	}
	setup.CPUs = h.process.Servers
	return new(h.process.Layout), nil
}

// forget forgets a server that has ended.
func (h *hosting) forget(s *hosted) {
	h.mu.Lock()
	delete(h.servers, s.id)
	last := len(h.servers) == 0
	h.mu.Unlock()
	if last {
		h.placed.mu.Lock()
		defer h.placed.mu.Unlock()
		h.process.Release()
	}
}
