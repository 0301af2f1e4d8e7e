package subject

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"
)

const (
	// lookEvery is how often is looked for sockets, which takes up to a millisecond of a core.
	lookEvery = 50 * time.Millisecond
	// settled is how long a subject has to listen at the same ports, none of them that of PORT, to be found there.
	settled = 300 * time.Millisecond
	// firstGiven is the first port that systems give to those who ask for any.
	firstGiven = 32_768
)

// A Place is one where a subject listens on TCP.
type Place struct {
	netip.AddrPort
	// Fixed says that the subject insists on the port: its bind was moved or, where binds are not, the system gives no
	// such ports to those who ask for any.
	Fixed bool
}

// Listening returns where the subject listens, by port: at the address that its binds are moved to, if it does there, and
// nowhere else. On Windows it is nowhere.
func (s *Subject) Listening() []Place { return s.listening(true) }

// listening may miss a socket, unless surely.
func (s *Subject) listening(surely bool) []Place {
	sockets, _ := s.listens(netip.AddrPort{}, surely)
	slices.SortFunc(sockets, func(a, b netip.AddrPort) int {
		return cmp.Or(cmp.Compare(a.Port(), b.Port()), a.Addr().Compare(b.Addr()))
	})
	var all, fixed []Place
	for _, at := range slices.Compact(sockets) {
		place := Place{at, at.Port() < firstGiven}
		if s.handover != nil {
			place.Fixed = at.Addr() == s.own
		}
		if all = append(all, place); place.Fixed {
			fixed = append(fixed, place)
		}
	}
	if s.handover != nil && fixed != nil { // the others are of IPv6 alone, whose binds cannot be moved
		return fixed
	}
	return all
}

// Reached returns the address by which a connection comes to a place; "": by none.
func (p Place) Reached(ctx context.Context) string {
	hosts := []netip.Addr{p.Addr()}
	if p.Addr().IsUnspecified() {
		hosts = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	for _, host := range hosts {
		at := netip.AddrPortFrom(host, p.Port()).String()
		if tcpProbe(at, at, false)(ctx) == nil {
			return at
		}
	}
	return ""
}

// Told reports whether the subject listens at the address that it was handed, and not where it was found.
func (s *Subject) Told() bool { return !s.found }

// A finder looks for where a subject listens that was told its port only by PORT.
type finder struct {
	subject *Subject
	several bool      // is allowed, of ports
	next    time.Time // when to look again
	seen    []Place
	since   time.Time // when these were first seen
}

// probe holds when the subject listens where PORT says, or has listened elsewhere for some time.
func (f *finder) probe(ctx context.Context) error {
	s := f.subject
	unheard := tcpProbe(s.addrs[""], s.addrs[""], false)(ctx)
	if unheard == nil || time.Now().Before(f.next) {
		return unheard
	}
	f.next = time.Now().Add(lookEvery)
	if places := s.listening(false); !slices.Equal(places, f.seen) { // what it misses is found the next time
		f.seen, f.since = places, time.Now()
	}
	if len(f.seen) == 0 || time.Since(f.since) < settled || !f.several && f.seen[0].Port() != f.seen[len(f.seen)-1].Port() {
		return unheard
	}
	for _, place := range f.seen {
		if at := place.Reached(ctx); at != "" {
			s.addrs[""], s.found = at, true
			return nil
		}
	}
	return unheard
}
