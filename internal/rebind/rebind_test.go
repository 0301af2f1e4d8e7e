package rebind

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

// sockaddr is an address in the form of bind(2).
func sockaddr(addr string) []byte {
	at := netip.MustParseAddrPort(addr)
	if at.Addr().Is4() {
		b := make([]byte, 16)
		binary.NativeEndian.PutUint16(b, inet)
		binary.BigEndian.PutUint16(b[2:], at.Port())
		copy(b[4:], at.Addr().AsSlice())
		return b
	}
	b := make([]byte, 28)
	binary.NativeEndian.PutUint16(b, inet6)
	binary.BigEndian.PutUint16(b[2:], at.Port())
	copy(b[8:], at.Addr().AsSlice())
	return b
}

func TestMoved(t *testing.T) {
	to := netip.MustParseAddr("127.9.8.7")
	for _, test := range []struct {
		addr  string
		only6 bool
		want  string // "": it stays
	}{
		{"127.0.0.1:80", false, "127.9.8.7:80"},
		{"127.1.2.3:80", false, "127.9.8.7:80"},
		{"0.0.0.0:65535", false, "127.9.8.7:65535"},
		{"[::]:80", false, "[::ffff:127.9.8.7]:80"},
		{"[::1]:80", false, "[::ffff:127.9.8.7]:80"},
		{"[::ffff:127.0.0.1]:80", false, "[::ffff:127.9.8.7]:80"},
		{"[::ffff:0.0.0.0]:80", false, "[::ffff:127.9.8.7]:80"},
		{"[::]:80", true, "[::]:0"},
		{"[::1]:80", true, "[::1]:0"},
		{"127.0.0.1:0", false, ""},
		{"[::]:0", false, ""},
		{"192.0.2.1:80", false, ""},
		{"[2001:db8::1]:80", false, ""},
		{"[2001:db8::1]:80", true, ""},
	} {
		got, ok := moved(sockaddr(test.addr), to, test.only6)
		if ok != (test.want != "") || ok && string(got) != string(sockaddr(test.want)) {
			t.Errorf("%s: %x, %v, want %s", test.addr, got, ok, test.want)
		}
	}
}

// Whatever a program hands over as an address, it is refused or keeps its length.
func FuzzMoved(f *testing.F) {
	f.Add(sockaddr("127.0.0.1:80"), false)
	f.Add(sockaddr("[::]:80"), true)
	f.Add([]byte{10, 0, 0, 1}, false)
	f.Fuzz(func(t *testing.T, b []byte, only6 bool) {
		n := len(b)
		if got, ok := moved(b, netip.MustParseAddr("127.9.8.7"), only6); ok && len(got) != n {
			t.Errorf("%d bytes became %d", n, len(got))
		}
	})
}

func TestEndOf(t *testing.T) {
	for give, want := range map[string]string{"127.0.0.1:5432": "127.0.0.1:5432", "[::1]:80": "[::1]:80", "[::ffff:10.0.0.1]:80": "10.0.0.1:80"} {
		if at, ok := endOf(sockaddr(give)); !ok || at.String() != want {
			t.Errorf("%s: %v %v, want %s", give, at, ok, want)
		}
	}
	for _, b := range [][]byte{nil, sockaddr("127.0.0.1:80")[:7], sockaddr("[::1]:80")[:23], {1, 0, '/', 'x', 0, 0, 0, 0}} {
		if at, ok := endOf(b); ok {
			t.Errorf("%v: %v", b, at)
		}
	}
}
