package subject

import (
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"contend/internal/testenv"
)

func TestSubstitute(t *testing.T) {
	addrs := map[string]string{"": "127.0.0.1:10", "api-2": "127.0.0.1:20"}
	tests := []struct {
		in, out string
		names   []string
	}{
		{"plain {x} {{ }", "plain {x} {{ }", nil},
		{"{{addr}}", "127.0.0.1:10", []string{""}},
		{"-l={{host}}:{{port}}", "-l=127.0.0.1:10", []string{""}},
		{"{{host}}", "127.0.0.1", nil},
		{"{{addr.api-2}},{{port.api-2}},{{port}}", "127.0.0.1:20,20,10", []string{"", "api-2"}},
	}
	for _, test := range tests {
		names, err := addressNames([]string{test.in})
		if err != nil || !reflect.DeepEqual(names, test.names) {
			t.Errorf("%q: names %q, %v, want %q", test.in, names, err, test.names)
		}
		if got := substitute(test.in, addrs); got != test.out {
			t.Errorf("%q: got %q, want %q", test.in, got, test.out)
		}
	}
}

func TestHandsOver(t *testing.T) {
	for text, handed := range map[string]bool{"{{addr}}": true, "-p {{port}}": true, "{{host}}": false, "{{addr.http}}": false, "{{port.x}}": false, "addr": false, "": false} {
		if got := HandsOver("server", text); got != handed {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestUnknownPlaceholders(t *testing.T) {
	for _, in := range []string{"{{}}", "{{adr}}", "{{addr.}}", "{{addr.a b}}", "{{ADDR}}", "{{ addr }}", "{{host.x}}"} {
		_, err := addressNames([]string{"{{addr}}", in})
		testenv.Says(t, err, in+"; expected "+Placeholders)
	}
}

func TestFreeAddrsDiffer(t *testing.T) {
	names := strings.Split("a b c d e f g h i j", " ")
	addrs, err := freeAddrs(loopback, names)
	testenv.Must(t, err)
	seen := map[string]bool{}
	low, high := quietPorts()
	for _, addr := range addrs {
		seen[addr] = true
		if port := netip.MustParseAddrPort(addr).Port(); int(port) < low || int(port) >= high {
			t.Errorf("address %s: want a port of [%d, %d)", addr, low, high)
		}
	}
	if len(seen) != len(names) {
		t.Errorf("%d different addresses for %d names", len(seen), len(names))
	}
}

// Whoever asks the kernel for any port gets none that a server may have.
func TestQuietPorts(t *testing.T) {
	low, high := quietPorts()
	for range 20 {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		testenv.Must(t, err)
		defer l.Close()
		if port := l.Addr().(*net.TCPAddr).Port; port >= low && port < high && high < 65_536 {
			t.Errorf("the kernel gave port %d, which is in [%d, %d)", port, low, high)
		}
	}
}

// What addressNames accepts, substitute replaces completely.
func FuzzPlaceholders(f *testing.F) {
	for _, seed := range []string{"{{addr}}", "{{{{port.x}}}}", "{{host}}{{", "{{addr.a}}{{b}}", "{{\n}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, err := addressNames([]string{text})
		if err != nil {
			return
		}
		addrs := map[string]string{}
		for _, name := range names {
			addrs[name] = loopback + ":1"
		}
		found := braces().FindAllString(text, -1)
		got := substitute(text, addrs)
		if strings.Count(got, loopback)+strings.Count(got, "1") < len(found) || (found == nil && got != text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
