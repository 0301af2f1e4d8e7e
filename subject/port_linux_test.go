package subject

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/failure"
	"contend/internal/testenv"
)

// insisting is a subject that insists on a port.
func insisting(port string, cfg Config) Config {
	cfg.Port, cfg.Rebind = must(strconv.Atoi(port)), []string{must(os.Executable()), "rebind"}
	return cfg
}

// Two servers that insist on one port run at the same time, and otherwise behave as
// usual.
func TestFixedPort(t *testing.T) {
	t.Parallel()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "peer") }))
	t.Cleanup(peer.Close)
	for _, bound := range []string{"127.0.0.1:", ":", "0.0.0.0:", "[::]:", "[::1]:", "localhost:"} {
		t.Run(bound, func(t *testing.T) {
			t.Parallel()
			port := testenv.HeldPort(t)
			names := []string{"one", "parent"}
			var all []*Subject
			for _, name := range names {
				all = append(all, started(t, insisting(port, role("insist", name, bound+port, peer.URL))))
			}
			for i, want := range []string{"one", "child"} {
				url := "http://" + all[i].Addr("")
				if got := get(t, url); got != want {
					t.Errorf("at %s answers %q, want %q", url, got, want)
				}
				if got := get(t, url+"/peer"); got != "peer" {
					t.Errorf("the peer on the loopback says %q", got)
				}
				if got := get(t, url+"/again"); !strings.Contains(got, "address already in use") {
					t.Errorf("a second bind: %s", got)
				}
				if got := get(t, url+"/any"); !strings.HasPrefix(got, "127.0.0.1:") {
					t.Errorf("without a port it was bound at %s", got)
				}
			}
			if _, got, _ := net.SplitHostPort(all[0].Addr("")); got != port || all[0].Addr("") == all[1].Addr("") {
				t.Errorf("addresses %s and %s, want two with port %s", all[0].Addr(""), all[1].Addr(""), port)
			}
		})
	}
}

// Servers of others, which know nothing of us.
func TestFixedPortOfOtherPrograms(t *testing.T) {
	t.Parallel()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		python := testenv.Program(t, "python3")
		port := testenv.HeldPort(t)
		for range 2 {
			s := started(t, insisting(port, Config{Command: []string{python, "-m", "http.server", port}, Dir: t.TempDir()}))
			if got := get(t, "http://"+s.Addr("")); !strings.Contains(got, "Directory listing") {
				t.Errorf("answers %q", got)
			}
		}
	})
	t.Run("c", func(t *testing.T) {
		t.Parallel()
		program := filepath.Join(t.TempDir(), "server")
		if out, err := exec.Command(testenv.Program(t, "cc"), "-o", program, "testdata/insist.c").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		port := testenv.HeldPort(t)
		for range 2 {
			s := started(t, insisting(port, Config{Command: []string{program, port}}))
			if got := get(t, "http://"+s.Addr("")); got != "C" {
				t.Errorf("answers %q", got)
			}
		}
	})
}

// What cannot be started is reported as usual, and leaves nothing behind.
func TestFixedPortMistakes(t *testing.T) {
	port := testenv.HeldPort(t)
	_, err := Start(t.Context(), insisting(port, Config{Command: []string{"no-such-program"}}))
	testenv.Says(t, err, "no-such-program", "executable file not found")
	_, err = Start(t.Context(), insisting(port, Config{Command: []string{"./no-such-program"}, Dir: t.TempDir()}))
	testenv.Says(t, err, "fork/exec ./no-such-program: no such file or directory")
	_, err = Start(t.Context(), insisting(port, role("fail")))
	testenv.Says(t, err, "not ready", "exit status")
	everywhere, err := net.Listen("tcp", ":0")
	testenv.Must(t, err)
	defer everywhere.Close()
	_, taken, _ := net.SplitHostPort(everywhere.Addr().String())
	_, err = Start(t.Context(), insisting(taken, role("hang")))
	testenv.Says(t, err, "port "+taken+" is free on no address")
}

// A server that is not ready is reported to listen at another address, with what it was
// given of its own, unless it listens there.
func TestAstray(t *testing.T) {
	t.Parallel()
	untold, silent, there := role("serve", "127.0.0.1:0", "127.0.0.1:0"), role("hang"), with(role("port"), Ready{Log: "never"})
	untold.Addressed, silent.Addressed, there.Addressed = true, true, true
	const alone = `; it was told its port only by PORT=\d+ in its environment, since the command has neither {{addr}} nor {{port}}`
	const printed = `; end of its stdout:\n\t127.0.0.1:\d+$`
	port, other := testenv.HeldPort(t), testenv.HeldPort(t)
	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"untold": {untold, `nobody listens at 127.0.0.1:\d+` + alone + `; it listens on 127.0.0.1:\d+ and 127.0.0.1:\d+: put localhost and that port into the URL, or {{addr}} or {{port}} into the command; it wrote nothing$`},
		"told":   {role("astray", "{{addr}}"), `nobody listens at 127.0.0.1:\d+; it listens on 127.0.0.1:\d+` + printed},
		"silent": {silent, `nobody listens at 127.0.0.1:\d+` + alone + `; it wrote nothing$`},
		"there":  {there, `no line of its output matched "never"; end of its stdout:\n\tlistening$`},
		"fixed":  {insisting(port, role("astray")), `nobody listens at localhost:` + port + `; it listens on 127.0.0.1:\d+, while the URL has the port ` + port + `: put the same port into the URL and the command` + printed},
		"moved":  {insisting(port, role("insist", "x", ":"+other, "")), `nobody listens at localhost:` + port + `; it listens on port ` + other + `, while the URL has the port ` + port + `: put the same port into the URL and the command; it wrote nothing$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := regexp.MustCompile(tt.want)
			tt.cfg.StartTimeout = 250 * time.Millisecond
			_, err := Start(t.Context(), tt.cfg)
			for !want.MatchString(fmt.Sprint(err)) && tt.cfg.StartTimeout < 5*time.Second { // it did not listen in time
				tt.cfg.StartTimeout *= 2
				_, err = Start(t.Context(), tt.cfg)
			}
			if !want.MatchString(fmt.Sprint(err)) {
				t.Errorf("error is\n%v\nwant\n%s", err, tt.want)
			}
			f, _ := failure.Of(err)
			if f.Kind != failure.NotReady || strings.Contains(f.More, "put ") || (f.Advice != "") != strings.Contains(tt.want, ": put ") {
				t.Errorf("%v carries %+v", err, f)
			}
			if found := regexp.MustCompile(`listens on (\S+?)[:,;] `).FindStringSubmatch(fmt.Sprint(err)); found != nil && found[1] != "port" && name != "untold" && !strings.HasSuffix(err.Error(), "\t"+found[1]) {
				t.Errorf("it does not listen on %s:\n%v", found[1], err)
			}
		})
	}
}
