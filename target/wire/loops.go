package wire

import (
	"net"
	"net/netip"
	"runtime"
	"strings"
)

// Loops returns how many event loops drive VUs against an address: one per core,
// but half as many where the server is on this machine and needs the others, and
// never more than there are VUs or, unless shared is zero, connections that they
// share.
func Loops(network, address string, vus, shared int) int {
	loops := runtime.GOMAXPROCS(0)
	if network == "unix" || isNear(address) {
		loops = max(1, loops/2)
	}
	if shared > 0 {
		loops = min(loops, shared)
	}
	return min(loops, vus)
}

// isNear reports whether an address is on this machine for certain.
func isNear(hostPort string) bool {
	host, _, _ := net.SplitHostPort(hostPort)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost" || strings.HasSuffix(host, ".localhost") // RFC 6761, section 6.3
	}
	return ip.IsLoopback()
}
