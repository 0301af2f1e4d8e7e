package subject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"contend/internal/perf"
	"contend/internal/testenv"
)

// line is one of /proc/net/tcp or tcp6.
func line(local netip.AddrPort, state string, owner int, inode uint64) string {
	address := local.Addr().AsSlice()
	text := ""
	for word := address; len(word) > 0; word = word[4:] {
		text += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(word))
	}
	return fmt.Sprintf("   0: %s:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000 %5d        0 %d 1 0000000000000000 100 0 0 10 0\n",
		text, local.Port(), state, owner, inode)
}

func TestParseSockets(t *testing.T) {
	const heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	v4, v6 := netip.MustParseAddrPort("127.0.0.1:8080"), netip.MustParseAddrPort("[2001:db8::1]:443")
	mapped := netip.MustParseAddrPort("[::ffff:10.0.0.1]:80")
	tests := []struct {
		name, table string
		want        []socket
		err         string
	}{
		{"nothing", "", nil, ""},
		{"no socket", heading, nil, ""},
		{"one that listens beside one that is connected", heading + line(v4, "0A", 33, 71) + line(v4, "01", 33, 72),
			[]socket{{v4, 33, 71}}, ""},
		{"IPv6", heading + line(v6, "0A", 0, 1<<40), []socket{{v6, 0, 1 << 40}}, ""},
		{"IPv4 in IPv6", heading + line(mapped, "0A", 0, 5), []socket{{netip.MustParseAddrPort("10.0.0.1:80"), 0, 5}}, ""},
		{"a short line", heading + "0: 00000000:0050 00000000:0000 0A\n", nil, "fewer than 10 fields"},
		{"a short address", heading + strings.Replace(line(v4, "0A", 33, 71), ":1F90", "00:1F90", 1), nil, "address of 5 bytes"},
		{"a large port", heading + strings.Replace(line(v4, "0A", 33, 71), ":1F90", ":11F90", 1), nil, "out of range"},
		{"no number", heading + strings.Replace(line(v4, "0A", 33, 71), " 71 ", " x71 ", 1), nil, `"x71"`},
	}
	for _, tt := range tests {
		got, err := parseSockets(strings.NewReader(tt.table))
		if tt.err != "" {
			testenv.Says(t, err, tt.err)
		} else if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 { // the form that every page about /proc/net/tcp shows
		if got := must(parseLocal("0100007F:1F90")); got != v4 {
			t.Errorf("local address %v, want %v", got, v4)
		}
	}
}

// Linux lists what listens first, and the rest need not be read.
func TestParseFirst(t *testing.T) {
	one, other := netip.MustParseAddrPort("127.0.0.1:8080"), netip.MustParseAddrPort("127.0.0.1:8081")
	head := "heading\n" + line(one, "0A", 33, 71)
	for rest, want := range map[string][]socket{
		"": {{one, 33, 71}},
		line(other, "0A", 33, 72) + line(one, "06", 0, 0) + "not read":        {{one, 33, 71}, {other, 33, 72}},
		line(one, "06", 0, 0) + line(other, "0A", 33, 72) + "not read either": {{one, 33, 71}},
	} {
		if got, err := parseFirst(strings.NewReader(head + rest)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", rest, got, err, want)
		}
	}
}

func FuzzParseSockets(f *testing.F) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if table, err := os.ReadFile(name); err == nil {
			f.Add(string(table))
		}
	}
	f.Add("\n" + line(netip.MustParseAddrPort("[::1]:80"), "0A", 0, 5))
	f.Fuzz(func(t *testing.T, table string) {
		all, err := parseSockets(strings.NewReader(table))
		if err != nil {
			return
		}
		for _, s := range all {
			again := must(parseSockets(strings.NewReader("\n" + line(s.local, "0A", s.owner, s.inode))))
			if len(again) != 1 || again[0] != s {
				t.Errorf("%v becomes %v", s, again)
			}
		}
	})
}

func TestReached(t *testing.T) {
	all := []socket{
		{local: netip.MustParseAddrPort("127.0.0.1:80"), inode: 1},
		{local: netip.MustParseAddrPort("0.0.0.0:80"), inode: 2},
		{local: netip.MustParseAddrPort("[::]:80"), inode: 3},
		{local: netip.MustParseAddrPort("127.0.0.1:80"), inode: 4}, // SO_REUSEPORT
		{local: netip.MustParseAddrPort("[::1]:81"), inode: 5},
		{local: netip.MustParseAddrPort("[::]:82"), inode: 6},
		{local: netip.MustParseAddrPort("0.0.0.0:83"), inode: 7},
	}
	for address, want := range map[string][]uint64{
		"127.0.0.1:80": {1, 4}, // the address before any
		"10.0.0.1:80":  {2},    // any of the family before any at all
		"[::1]:80":     {3},
		"[::1]:81":     {5},
		"127.0.0.1:81": nil, // IPv6 only
		"127.0.0.1:82": {6},
		"[::1]:83":     nil, // IPv4 only
		"127.0.0.1:84": nil,
	} {
		var got []uint64
		for _, s := range reached(all, netip.MustParseAddrPort(address)) {
			got = append(got, s.inode)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s reaches %v, want %v", address, got, want)
		}
	}
}

func TestNewForeign(t *testing.T) {
	stat := func(pid, parent int, start uint64) procfs.ProcStat {
		return procfs.ProcStat{PID: pid, PPID: parent, Starttime: start, Comm: fmt.Sprint("p", pid)}
	}
	tests := []struct {
		name    string
		holders []procfs.ProcStat
		want    int
	}{
		{"one", []procfs.ProcStat{stat(7, 1, 50)}, 7},
		{"a master and its workers, in one tick", []procfs.ProcStat{stat(8, 7, 50), stat(9, 7, 50), stat(7, 1, 50)}, 7},
		{"numbers have wrapped", []procfs.ProcStat{stat(3, 900, 50), stat(900, 1, 50)}, 900},
		{"strangers: the oldest", []procfs.ProcStat{stat(7, 1, 60), stat(8, 2, 50)}, 8},
	}
	for _, tt := range tests {
		f := newForeign(tt.holders)
		if f.PID != tt.want || f.Command != fmt.Sprint("p", tt.want) {
			t.Errorf("%s: %s is %d, want %d", tt.name, f.Command, f.PID, tt.want)
		}
		for _, p := range tt.holders {
			reborn := p
			reborn.Starttime++
			if !f.includes(p) || f.includes(reborn) {
				t.Errorf("%s: includes %d: %v, another one of its number: %v", tt.name, p.PID, f.includes(p), f.includes(reborn))
			}
		}
	}
}

// A server is found at every address that reaches it.
func TestListening(t *testing.T) {
	// The first that others can reach: later ones may belong to networks that other tests make and remove at the same
	// time.
	own := "127.0.0.1"
	for _, address := range slices.Backward(must(net.InterfaceAddrs())) {
		if ip := address.(*net.IPNet).IP; ip.IsGlobalUnicast() {
			own = ip.String()
		}
	}
	for _, tt := range []struct{ listens, dialled string }{
		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1", "localhost"},
		{"127.0.0.1", "0.0.0.0"},
		{"0.0.0.0", "127.0.0.1"},
		{"0.0.0.0", "127.9.9.9"},
		{"", "127.0.0.1"}, // all addresses of both families
		{"", own},
		{"[::1]", "::1"},
		{"[::1]", "::"},
	} {
		t.Run(tt.dialled+" of "+tt.listens, func(t *testing.T) {
			if probe, err := net.Listen("tcp", tt.listens+":0"); err != nil {
				testenv.Hardware(t, err)
			} else {
				probe.Close()
			}
			cfg := role("serve", tt.listens+":{{port}}")
			cfg.Ready.TCP = tt.listens != "[::1]"
			if !cfg.Ready.TCP {
				cfg.Ready.HTTP = "http://[::1]:{{port}}/env"
			}
			s := started(t, cfg)
			_, port, _ := net.SplitHostPort(s.Addr(""))
			found, err := Listening(t.Context(), net.JoinHostPort(tt.dialled, port))
			testenv.Must(t, err)
			if found.PID != s.PID() || !strings.HasPrefix(s.cmd.Path[strings.LastIndex(s.cmd.Path, "/")+1:], found.Command) {
				t.Errorf("found %d %q, want %d of %s", found.PID, found.Command, s.PID(), s.cmd.Path)
			}
			must(0, s.Stop(testContext()))
			if _, err := found.Counters(perf.PageFaults); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("counters of a server that has ended: %v", err)
			}
		})
	}
}

func TestNobodyToBeCountedListens(t *testing.T) {
	own := must(net.Listen("tcp", "127.0.0.1:0"))
	defer own.Close()
	for addr, want := range map[string]string{
		testenv.HeldAddress(t): ": nobody listens there",
		own.Addr().String():    ": only this process itself listens there",
		"203.0.113.1:80":       ": 203.0.113.1 is no address of this machine", // TEST-NET-3, RFC 5737
		"127.0.0.1":            "missing port",
		"127.0.0.1:no-such":    "no-such",
	} {
		_, err := Listening(t.Context(), addr)
		testenv.Says(t, err, "server at "+addr, want)
	}
}

// activate listens as systemd does for a server, and starts that if there is an args[1].
func activate(args []string) {
	must(0, os.WriteFile("/proc/self/comm", []byte("systemd"), 0))
	listener := must(net.Listen("tcp", args[0]))
	if len(args) > 1 {
		server := relative("hang")
		server.ExtraFiles = []*os.File{must(listener.(*net.TCPListener).File())}
		must(0, server.Start())
		fmt.Println("pids", server.Process.Pid)
	}
	fmt.Println("listening")
	hang()
}

// systemd listens for servers, and starts everything else as well.
func TestSocketActivation(t *testing.T) {
	waiting := started(t, with(role("activate", "{{addr}}"), Ready{Log: "listening"}))
	_, err := Listening(t.Context(), waiting.Addr(""))
	testenv.Says(t, err, ": only systemd, which has not started the server yet, listens there")
	s := started(t, with(role("activate", "{{addr}}", "server"), Ready{Log: "listening"}))
	server := pids(t, s.stdout.text())[0]
	if found, err := Listening(t.Context(), s.Addr("")); err != nil || found.PID != server {
		t.Errorf("found %+v, want %d: %v", found, server, err)
	}
}

// The sockets of another user's process are not shown.
func TestListeningUnseen(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	s := started(t, role("serve", "{{addr}}"))
	refusal := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		const nobody = 65534
		unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody)
		_, err := Listening(t.Context(), s.Addr(""))
		refusal <- err
	}()
	testenv.Says(t, <-refusal, "a process of user 0 listens there, which this user may not look into")
}

// The workers of a server are part of it, and its parent, and we, are not.
func TestForeignThreads(t *testing.T) {
	s := started(t, Config{Command: []string{compiled(t), "{{port}}", "prefork", "3"}})
	testenv.Eventually(t, "four processes", func() bool { return len(must(tree(s.PID()))) == 4 })
	server, err := Listening(t.Context(), s.Addr(""))
	testenv.Must(t, err)
	want := must(threadsOf(s.PID(), nil))
	if got := must(server.threads()); server.PID != s.PID() || server.Command != "work" || !slices.Equal(got, want) {
		t.Errorf("%s %d has threads %v, want %v", server.Command, server.PID, got, want)
	}
}

// It is sampled as the same processes are as a subject, and no more when they have ended.
func TestForeignSample(t *testing.T) {
	s := started(t, Config{Command: []string{compiled(t), "{{port}}", "prefork", "3"}})
	testenv.Eventually(t, "four processes", func() bool { return len(must(tree(s.PID()))) == 4 })
	server, err := Listening(t.Context(), s.Addr(""))
	testenv.Must(t, err)
	before, got, after := must(s.Sample()), must(server.Sample()), must(s.Sample())
	if got.CPU < before.CPU || got.CPU > after.CPU || got.Threads != after.Threads || got.RSSBytes == 0 ||
		got.CPUs != after.CPUs || got.SharedCPUs != after.SharedCPUs || got.Elapsed <= 0 {
		t.Errorf("%+v, want what lies between %+v and %+v", got, before, after)
	}
	if clocks := must(server.Clocks()); clocks.CPU < got.CPU || clocks.Elapsed < got.Elapsed {
		t.Errorf("clocks %+v after %+v", clocks, got)
	}
	must(0, s.Stop(testContext()))
	if _, err = server.Sample(); err == nil {
		t.Error("a sample of a server that has ended")
	}
}

// A process that passes everything on is not the server.
func TestForwarders(t *testing.T) {
	s := started(t, with(role("forward", "{{addr}}"), Ready{Log: "listening"}))
	_, err := Listening(t.Context(), s.Addr(""))
	testenv.Says(t, err, ": only docker-proxy, behind which the server is, listens there")
}

// forward listens as Docker does for a container.
func forward(args []string) {
	must(0, os.WriteFile("/proc/self/comm", []byte("docker-proxy"), 0))
	listener := must(net.Listen("tcp", args[0]))
	fmt.Println("listening")
	defer listener.Close()
	hang()
}

// Where this process descends from the server, it is not counted with it.
func TestDescentLeavesUsOut(t *testing.T) {
	s := started(t, role("hang"))
	members := must(descent(func(p procfs.ProcStat) bool { return p.PID == os.Getppid() }))
	for _, p := range members {
		if p.PID == os.Getpid() || p.PID == s.PID() {
			t.Errorf("%s %d is among the descendants of our parent", p.Comm, p.PID)
		}
	}
	if len(members) == 0 {
		t.Error("our parent is not there")
	}
}
