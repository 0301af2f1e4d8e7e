package subject

import (
	"net/netip"
	"slices"
	"testing"
)

// What lsof 4.95 wrote of a server with three sockets.
func TestParseLsof(t *testing.T) {
	const written = "p1234\nf3\ntIPv4\nPTCP\nn127.0.0.1:8080\nf4\ntIPv6\nPTCP\nn*:8081\nf5\ntIPv4\nPTCP\nn*:8082\nf6\ntIPv6\nPTCP\nn[::1]:8083\n"
	var want []netip.AddrPort
	for _, at := range []string{"127.0.0.1:8080", "[::]:8081", "0.0.0.0:8082", "[::1]:8083"} {
		want = append(want, netip.MustParseAddrPort(at))
	}
	if got := parseLsof(written); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, text := range []string{"", "n", "n*", "n*:x\n", "p1\nnlocalhost:80\n"} {
		if got := parseLsof(text); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
