package subject

import (
	"net/netip"
	"slices"
	"sync"
)

// refusals are where on this machine a subject wanted to connect when nobody listened there, unless somebody did at its
// next attempt.
type refusals struct {
	mu    sync.Mutex
	known []netip.AddrPort
}

// note is called when the subject is about to connect to an address.
func (r *refusals) note(at netip.AddrPort) {
	if !at.Addr().IsLoopback() {
		return
	}
	heard := heard(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = slices.DeleteFunc(r.known, func(known netip.AddrPort) bool { return known == at })
	if !heard {
		r.known = append(r.known, at)
	}
}

func (r *refusals) all() []netip.AddrPort {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.known)
}
