package wire

import (
	"net"
	"net/netip"
	"runtime"
	"strings"
)

// Loops returns how many event loops drive VUs: one per core, but half as many
// where a server that is near needs the others, and never more than there are VUs
// or, unless shared is zero, connections that they share.
func Loops(near bool, vus, shared int) int {
	loops := runtime.GOMAXPROCS(0)
	if near {
		loops = max(1, loops/2)
	}
	if shared > 0 {
		loops = min(loops, shared)
	}
	return min(loops, vus)
}

// IsNear reports whether an address is on this machine for certain.
func IsNear(network, address string) bool {
	if network == "unix" {
		return true
	}
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost" || strings.HasSuffix(host, ".localhost") // RFC 6761, section 6.3
	}
	return ip.IsLoopback()
}
