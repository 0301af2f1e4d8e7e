package subject

import (
	"net/netip"
	"strings"
)

// parseLsof reads what lsof writes of sockets with -Ftn, a line for each field: after t the family, and after n the
// address, with * for all.
func parseLsof(output string) (places []netip.AddrPort) {
	all := netip.IPv4Unspecified()
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "tIPv4" {
			all = netip.IPv4Unspecified()
		} else if line == "tIPv6" {
			all = netip.IPv6Unspecified()
		}
		text, isName := strings.CutPrefix(line, "n")
		if port, everywhere := strings.CutPrefix(text, "*:"); everywhere {
			text = netip.AddrPortFrom(all, 0).String()
			text = strings.TrimSuffix(text, "0") + port
		}
		if at, err := netip.ParseAddrPort(text); err == nil && isName {
			places = append(places, at)
		}
	}
	return places
}
