package cli

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"contend/internal/testenv"
)

// A sharedCounter is a command that serves one.
type sharedCounter struct {
	*exec.Cmd
	addr, output string
}

// serveShared starts a counter with redis-script until the end of the test.
func serveShared(t *testing.T, env []string, args ...string) *sharedCounter {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := &sharedCounter{output: out.Name(),
		Cmd: exec.Command("contend", append([]string{"serve", "counter", "--http", "127.0.0.1:0", "--guard", "redis-script", "--redis-timeout", "1m"}, args...)...)}
	s.Env = append(os.Environ(), env...)
	s.Stderr = out
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Process.Signal(syscall.SIGTERM)
		_ = s.Wait()
	})
	serving := regexp.MustCompile(`msg=serving http=(\S+) guard=`)
	testenv.Eventually(t, "it serves", func() bool {
		m := serving.FindStringSubmatch(s.log())
		if m != nil {
			s.addr = m[1]
		}
		return m != nil
	})
	return s
}

func (s *sharedCounter) log() string {
	text, _ := os.ReadFile(s.output)
	return string(text)
}

// pids are those of the replicas, in the order of their starts.
func pids(log string) []int {
	var list []int
	for _, m := range regexp.MustCompile(`msg=replica replica=\d pid=(\d+)`).FindAllStringSubmatch(log, -1) {
		n, _ := strconv.Atoi(m[1])
		list = append(list, n)
	}
	return list
}

// alive reports whether a process runs; one that has ended and that nobody has
// waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(after, "Z")
}

func TestReplicasShareAnAddressAndOneThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	s := serveShared(t, nil, "--replicas", "3")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	get := func() bool {
		resp, err := client.Get("http://" + s.addr + "/status")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}
	first := pids(s.log())
	// A connection goes to a socket by a hash of its port: 100 of them miss one of
	// three with a probability of 3·(2/3)^100.
	for range 100 {
		if !get() {
			t.Fatal("a request failed while nothing was wrong")
		}
	}
	if err := syscall.Kill(first[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "it is started again", func() bool { return len(pids(s.log())) == 4 })
	if last := pids(s.log())[3]; slices.Contains(first, last) {
		t.Errorf("started again as %d of %v", last, first)
	}
	for range 60 {
		testenv.Eventually(t, "all sockets are served", get)
	}
	_ = s.Process.Signal(syscall.SIGTERM)
	if err := s.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, s.log())
	}
	for _, pid := range pids(s.log()) {
		if alive(pid) {
			t.Errorf("replica %d lives on", pid)
		}
	}
	if c, err := net.Dial("tcp", s.addr); err == nil {
		_ = c.Close()
		t.Error("the port is open")
	}
	totals := regexp.MustCompile(`msg=totals replica=\d increments=(\d+)`).FindAllStringSubmatch(s.log(), -1)
	for _, m := range totals {
		if m[1] == "0" {
			t.Errorf("the connections were not spread:\n%s", s.log())
		}
	}
	if len(totals) != 3 {
		t.Errorf("%d totals, want 3:\n%s", len(totals), s.log())
	}
}

func TestReplicasEndWithTheirParentHoweverItDies(t *testing.T) {
	t.Parallel()
	s := serveShared(t, nil, "--replicas", "3")
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "they end", func() bool { return !slices.ContainsFunc(pids(s.log()), alive) })
}
