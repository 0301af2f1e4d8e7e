package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/testenv"
)

func testContext() context.Context { return context.Background() }

// started starts a subject that the test's end stops.
func started(t *testing.T, cfg Config) *Subject {
	t.Helper()
	cfg.StartTimeout = cmp.Or(cfg.StartTimeout, testenv.Patience)
	s, err := Start(t.Context(), cfg)
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := s.Stop(testContext()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ended waits for the subject's end.
func ended(t *testing.T, s *Subject) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(testenv.Patience):
		t.Fatal("the subject did not end")
	}
}

func TestReady(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
	}{
		{"tcp by default", role("serve", "{{addr}}")},
		{"tcp by port", role("serve", "{{host}}:{{port}}", ":{{port.admin}}")},
		{"http path", with(role("serve", "{{addr}}"), Ready{HTTP: "/late"})},
		{"http url", with(role("serve", "{{addr.api}}"), Ready{HTTP: "http://{{addr.api}}/late"})},
		{"log on stdout", with(role("log", "stdout"), Ready{Log: "listening on"})},
		{"log on stderr", with(role("log", "stderr"), Ready{Log: `port \d$`})},
		{"all of them", with(role("serve", "{{addr}}"), Ready{TCP: true, HTTP: "/late"})},
		{"alive", role("hang")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := started(t, test.cfg)
			if s.PID() <= 0 || s.Err() != nil {
				t.Errorf("pid %d, err %v", s.PID(), s.Err())
			}
			if got := s.Warnings(); got != nil {
				t.Errorf("warnings %v", got)
			}
		})
	}
}

func with(cfg Config, ready Ready) Config {
	cfg.Ready = ready
	return cfg
}

func TestHandOver(t *testing.T) {
	cfg := role("serve", "{{addr}}", "{{addr.admin}}")
	cfg.Env = append(cfg.Env, "HANDED_OVER={{host}} {{port.admin}}")
	s := started(t, cfg)
	if a, b := s.Addr(""), s.Addr("admin"); a == "" || b == "" || a == b {
		t.Errorf("addresses %q and %q: want two different ones", a, b)
	}
	if got := s.Addr("other"); got != "" {
		t.Errorf("an address that was not asked for: %q", got)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(
		must(http.NewRequest("GET", "http://"+s.Addr("admin")+"/env", nil)))
	testenv.Must(t, err)
	defer answer.Body.Close()
	got := string(must(io.ReadAll(answer.Body)))
	if want := strings.Replace(s.Addr("admin"), ":", " ", 1); got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
}

// PORT is that of the default address, also for a command that has no other word of it,
// and not what this process has; the subject's own environment comes first.
func TestPORT(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	t.Setenv("PORT", "1")
	alone := role("port")
	alone.Addressed = true
	own := role("port", "{{port}}")
	own.Env = append(own.Env, "PORT={{port.own}}")
	elsewhere := role("port", "{{host}}:{{port}}")
	elsewhere.Host = "127.0.0.2" // which only Linux has unasked
	for _, tt := range []struct {
		cfg  Config
		name string // of the address whose port PORT is
	}{{alone, ""}, {role("port", "{{addr}}"), ""}, {own, "own"}, {elsewhere, ""}} {
		tt.cfg.Ready = Ready{Log: "^listening$"}
		s := started(t, tt.cfg)
		addr := s.Addr(tt.name)
		if got := get(t, "http://"+addr); addr != net.JoinHostPort(cmp.Or(tt.cfg.Host, loopback), got) {
			t.Errorf("PORT is %q, the address %s", got, addr)
		}
	}
	if s := started(t, role("hang")); s.Addr("") != "" {
		t.Errorf("an address that nobody asked for: %s", s.Addr(""))
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	testenv.Must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	testenv.Must(t, err)
	return string(text)
}

func TestStartFails(t *testing.T) {
	short := func(cfg Config) Config {
		cfg.StartTimeout = time.Second
		return cfg
	}
	tests := []struct {
		name string
		cfg  Config
		want []string
	}{
		{"nothing to start", Config{Name: "x"}, []string{"server x: command is empty"}},
		{"no such program", Config{Command: []string{"/no/such"}}, []string{"server such: ", "no such file"}},
		{"no such directory", Config{Command: []string{"/bin/sh"}, Dir: "/no/such"}, []string{"server sh: ", "no such"}},
		{"ends at once", with(role("fail", "the reason"), Ready{Log: "never"}),
			[]string{"server fail: not ready: exited on its own: exit status 3", "stderr:\n\tline 12\n", "the reason"}},
		{"ends well", with(role("end"), Ready{Log: "x"}), []string{"exit status 0", "it wrote nothing"}},
		{"no tcp", short(role("hang", "{{addr}}")), []string{"not ready after 1s", ": nobody listens at 127.0.0.1:"}},
		{"no log", short(with(role("log", "stdout"), Ready{Log: "never"})),
			[]string{"not ready after 1s", ": no line", `"never"`, "stdout:\n\tstarting"}},
		{"not 200", short(with(role("serve", "{{addr}}"), Ready{HTTP: "/none"})), []string{"/none answered 404"}},
		{"redirect is not 200", short(with(role("serve", "{{addr}}"), Ready{HTTP: "/moved"})), []string{"answered 302"}},
		{"unknown placeholder", role("serve", "{{adr}}", "{{addr.}}"),
			[]string{"unknown placeholder {{adr}}, {{addr.}}; expected {{addr}}", "{{port.NAME}}"}},
		{"tcp of nothing", with(role("hang"), Ready{TCP: true}), []string{"ready tcp: no address"}},
		{"http of nothing", with(role("serve", "{{addr.a}}"), Ready{HTTP: "/"}), []string{`address "" is not handed over`}},
		{"http scheme", with(role("hang"), Ready{HTTP: "health"}), []string{`"health"`, "/PATH, http://"}},
		{"log pattern", with(role("hang"), Ready{Log: "("}), []string{`ready log "("`, "missing closing )"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := Start(t.Context(), test.cfg)
			if s != nil {
				t.Error("a subject in spite of the error")
			}
			testenv.Says(t, err, test.want...)
			if err != nil && strings.Contains(err.Error(), "line 11\n") {
				t.Errorf("more than %d lines:\n%v", tailLines, err)
			}
		})
	}
}

func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, role("hang", "{{addr}}"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	if _, err = Start(ctx, role("hang")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	notes := filepath.Join(t.TempDir(), "notes")
	s := started(t, role("unlucky", notes, "{{addr}}"))
	lines := strings.Fields(string(must(os.ReadFile(notes))))
	if len(lines) != 2 || lines[0] == lines[1] || lines[1] != s.Addr("") {
		t.Errorf("addresses tried: %v, in use at the end: %s", lines, s.Addr(""))
	}
}

func TestStop(t *testing.T) {
	s := started(t, role("serve", "{{addr}}"))
	results := make(chan error)
	for range 3 {
		go func() { results <- s.Stop(testContext()) }()
	}
	for range 3 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	ended(t, s)
	if s.Err() != nil || s.Warnings() != nil {
		t.Errorf("err %v, warnings %v", s.Err(), s.Warnings())
	}
	if _, err := s.Sample(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a sample after the end: %v", err)
	}
}

func TestStopKills(t *testing.T) {
	t.Parallel()
	impatient, cancel := context.WithCancel(testContext())
	cancel()
	tests := []struct {
		name    string
		ctx     context.Context
		timeout time.Duration
		said    string
	}{
		{"after the timeout", testContext(), 50 * time.Millisecond, "it ignored SIGTERM for 50ms (--stop-timeout)"},
		{"when the context is done", impatient, time.Minute, ""}, // it had no time to
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := with(role("stubborn"), Ready{Log: "ignoring"})
			cfg.StopTimeout = test.timeout
			s := started(t, cfg)
			if err := s.Stop(test.ctx); err != nil || s.Err() != nil {
				t.Errorf("stop: %v, err: %v", err, s.Err())
			}
			got := s.Warnings()
			if test.said == "" && got != nil || test.said != "" && (len(got) != 1 || got[0].Code != "killed" || !strings.HasSuffix(got[0].Text, test.said)) {
				t.Errorf("warnings %v, want killed: %s", got, test.said)
			}
		})
	}
}

// Once a command has ignored TERM its next process is given 1 s, while the first had 5 s; unless the time is set.
func TestStubbornCommandsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	cfg := with(role("stubborn"), Ready{Log: "ignoring"})
	cfg.Stubborn = new(atomic.Bool)
	s := started(t, cfg)
	if s.Patience() != 5*time.Second {
		t.Errorf("the first has %v", s.Patience())
	}
	s.stopTimeout = 50 * time.Millisecond
	if err := s.Stop(testContext()); err != nil || !cfg.Stubborn.Load() {
		t.Fatal(err, cfg.Stubborn.Load())
	}
	s = started(t, cfg)
	if s.Patience() != time.Second {
		t.Errorf("the second has %v", s.Patience())
	}
	cfg.StopTimeout = 50 * time.Millisecond
	if told := started(t, cfg); told.Patience() != cfg.StopTimeout {
		t.Errorf("one with a limit has %v", told.Patience())
	}
}

func TestDiesInMidRun(t *testing.T) {
	t.Parallel()
	s := started(t, with(role("log", "stderr"), Ready{Log: "listening"}))
	process := must(os.FindProcess(s.PID()))
	testenv.Must(t, process.Kill())
	ended(t, s)
	testenv.Says(t, s.Err(), "server log: exited on its own: signal: killed", "listening on port 7")
	var exit *exec.ExitError
	if !errors.As(s.Err(), &exit) {
		t.Errorf("%T hides the exit status", s.Err())
	}
	if err := s.Stop(testContext()); err != nil {
		t.Errorf("stop after the end: %v", err)
	}
	if s.Err() == nil {
		t.Error("a late Stop made the death a wish")
	}
}

func TestWarnsWithoutGuardian(t *testing.T) {
	s := &Subject{name: "x", unguarded: os.ErrNotExist}
	if got := s.Warnings(); len(got) != 1 || got[0].Code != "no_guardian" {
		t.Errorf("warnings %v, want no_guardian", got)
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	const mebibytes = 256
	s := started(t, with(role("flood", fmt.Sprint(mebibytes)), Ready{Log: "flooded"}))
	if got := s.stderr.text(); got != "flooded" {
		t.Errorf("stderr %q", got)
	}
	if got := len(s.stdout.text()); got != tailBytes {
		t.Errorf("kept %d bytes of %d MiB, want %d", got, mebibytes, tailBytes)
	}
}
