package subject

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"contend/failure"
	"contend/internal/testenv"
)

// A subject is found where it listens: at the port that it is told, at one on which it insists, or at one that the
// system gave it, whether its binds are moved or not.
func TestFound(t *testing.T) {
	t.Parallel()
	port := testenv.HeldPort(t)
	moved := func(cfg Config) Config {
		cfg.Rebind = []string{must(os.Executable()), "rebind"}
		return cfg
	}
	for name, tt := range map[string]struct {
		cfg   Config
		told  bool
		fixed []bool // of each port
	}{
		"told":            {role("port"), true, []bool{true}}, // its port is below those that the system gives
		"told, moved":     {moved(role("port")), true, []bool{true}},
		"given":           {role("astray"), false, []bool{false}},
		"given, moved":    {moved(role("astray")), false, []bool{false}},
		"insisted, moved": {moved(role("insist", "x", ":"+port, "")), false, []bool{true}},
		"IPv6, moved":     {moved(role("insist", "x", "[::1]:"+port, "")), false, []bool{true}},
		"several":         {role("serve", "127.0.0.1:0", "127.0.0.1:0"), false, []bool{false, false}},
		"its {{addr}}":    {moved(role("serve", "{{addr}}")), true, []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := tt.cfg
			cfg.Addressed, cfg.AnyPort = true, true
			s := started(t, cfg)
			var fixed []bool
			var addrs []string
			for _, place := range s.Listening() {
				fixed, addrs = append(fixed, place.Fixed), append(addrs, place.Reached(t.Context()))
			}
			if s.Told() != tt.told || !slices.Equal(fixed, tt.fixed) || s.Addr("") != addrs[0] {
				t.Errorf("told %v, at %s of %s, fixed %v; want %v, %v", s.Told(), s.Addr(""), addrs, fixed, tt.told, tt.fixed)
			}
		})
	}
}

// Where a subject was refused its last connection is seen, whatever it writes about that.
func TestRefused(t *testing.T) {
	t.Parallel()
	heard, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer heard.Close()
	refused := "127.0.0.1:" + testenv.HeldPort(t)
	for addr, want := range map[string]string{refused: "nothing listened at " + refused, heard.Addr().String(): ""} {
		cfg := role("dial", addr)
		cfg.Addressed, cfg.AnyPort, cfg.Rebind = true, true, []string{must(os.Executable()), "observe"}
		_, err := Start(t.Context(), cfg)
		f, _ := failure.Of(err)
		if f.Kind != failure.Exited || !strings.Contains(f.More, want) || want == "" && strings.Contains(f.More, "refused") {
			t.Errorf("%s: %+v, want %q", addr, f, want)
		}
	}
}
