package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/fleet"
	"contend/internal/testenv"
	"contend/report"
)

// machines are namespaces: the servers' and one for each generator, all with workers. The fleet that they
// join is at an address of the test's own namespace.
type machines struct {
	fleet      string
	servers    *exec.Cmd
	at         string // the address of the servers
	generators int
}

func startIn(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr, cmd.Env = &said, withToken()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have been
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s", &said)
		}
	})
}

func withToken() []string {
	return append(os.Environ(), fleet.TokenVariable+"=of a test of three machines")
}

// newMachines makes them, each with a boot ID of its own or all with that of the machine.
func newMachines(t *testing.T, generators int, apart bool) machines {
	host, all := testenv.Namespaces(t, 1+generators)
	offered := filepath.Join(t.TempDir(), "subjects.yaml")
	text := "address: " + all[0].Address + `
subjects:
  mutex: {serve: "counter --http {{addr}} --guard mutex"}
  slow: {command: "subject -listen {{addr}} -burn 2ms"}
`
	testenv.Write(t, offered, text)
	m := machines{fleet: host + ":4222", at: all[0].Address, generators: generators}
	for i := range all {
		name := "server"
		if i > 0 {
			name = fmt.Sprintf("generator %d", i)
		}
		if apart {
			all[i].BootID = "of " + name
		}
		args := []string{"worker", "--fleet", "tls://" + m.fleet, "--name", name}
		if i == 0 {
			args = append(args, "--subjects", offered)
		}
		cmd := all[i].Command("contend", args...)
		startIn(t, cmd)
		if i == 0 {
			m.servers = cmd
		}
	}
	return m
}

// document runs a command of these machines and returns what it has found.
func (m machines) document(t *testing.T, args ...string) *report.Document {
	t.Helper()
	file := filepath.Join(t.TempDir(), "found.json")
	cmd := exec.Command("contend", append([]string{args[0], "--fleet", m.fleet, "--workers", strconv.Itoa(m.generators), "-o", file}, args[1:]...)...)
	cmd.Env = withToken()
	said, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); err != nil && !(ok && slices.Contains([]int{exitUnmet, exitUndecided}, exit.ExitCode())) {
		t.Fatalf("%v: %s", err, said)
	}
	text, err := os.ReadFile(file)
	doc := new(report.Document)
	if err == nil {
		err = json.Unmarshal(text, doc)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, r := range doc.Results {
		if len(r.Generators) != min(m.generators, r.Concurrency) || r.Generators[0].Name != "generator 1" || r.Generators[len(r.Generators)-1].Name == "server" || r.Server == nil || r.Server.CPUSec <= 0 || r.ServerApart != (r.Generators[0].Machine == "of generator 1") {
			t.Errorf("%s: driven by %+v; the server used %+v; apart: %v", r.Arm, r.Generators, r.Server, r.ServerApart)
		}
	}
	return doc
}

// Servers on one machine and generators on two others end with a verdict, with the CPU time of the servers, and with
// what they spend it on.
func TestServersOnAMachineOfTheirOwn(t *testing.T) {
	t.Parallel()
	m := newMachines(t, 2, false)
	doc := m.document(t, "compare", "-c", "2", "--think", "50ms", "--block", window.String(), "--warmup", "0s", "--rounds", "1", "--pairs", "1", "--why", "--url", "http://{{addr}}/status", "--", "subject:mutex", "subject:slow")
	if len(doc.Results) < 2 || len(doc.Comparisons) == 0 || doc.Comparisons[0].Verdict == "" {
		t.Fatalf("%d results, %d comparisons", len(doc.Results), len(doc.Comparisons))
	}
	for _, c := range doc.Comparisons {
		if c.Metric == "server_cpu_ns_per_op" && (c.BaselineValue <= 0 || c.CandidateValue <= 0) {
			t.Errorf("%+v", c)
		}
	}
	if d := doc.Trials[0].Why; d == nil || d.Failed != "" || len(d.Profiles) == 0 && len(d.Missing) == 0 {
		t.Errorf("why: %+v", d)
	}
}

// Workers do together what is asked for, no more and no less, and begin at about the same moment. docs/fleet.md
// shows, as -v prints it, how late each began, and how well its clock was known.
func TestTwoToEightMachines(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 8} {
		m := newMachines(t, n, false)
		r := m.document(t, "run", "-c", "8", "-n", "4000", "-d", "1m", "--command", "subject:mutex", "http://{{addr}}/status").Results[0]
		var completed int64
		for _, g := range r.Generators {
			completed += g.Completed
			t.Logf("%d workers: %s began %v late, its clock is known to ±%v", n, g.Name, g.BeganLate, g.ClockBound)
		}
		if r.Completed != 4000 || completed != 4000 {
			t.Errorf("%d workers: %d right answers, and %d of them together; want 4000", n, r.Completed, completed)
		}
	}
}

// Machines of different boots share nothing. A worker that is killed takes its servers with it, and its
// coordinator reports that it is gone.
func TestMachinesThatShareNothing(t *testing.T) {
	t.Parallel()
	m := newMachines(t, 2, true)
	doc := m.document(t, "sweep", "--levels", "1,8", "--visits", "1", "--think", "5ms", "--block", "1s", "--warmup", "0s", "-d", "2m", "--command", "subject:mutex", "http://{{addr}}/status")
	text, err := json.Marshal(doc)
	if err != nil || bytes.Contains(text, []byte(`"cpu_shared"`)) {
		t.Errorf("%v, or cores are shared: %s", err, text)
	}
	run := exec.Command("contend", "run", "--fleet", m.fleet, "--workers", "2", "--think", "5ms", "-d", "10m", "--command", "subject:mutex", "http://{{addr}}/status")
	var said bytes.Buffer
	run.Stdout, run.Stderr, run.Env = &said, &said, withToken()
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	m.await(t, true)
	if err := m.servers.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	m.await(t, false)
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	select {
	case err := <-ended:
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != exitFailed || !strings.Contains(said.String(), "worker server: gone") {
			t.Errorf("%v: %s", err, &said)
		}
	case <-time.After(testenv.Patience):
		_ = run.Process.Kill()
		<-ended
		t.Errorf("it did not end: %s", &said)
	}
}

// await waits until a server runs, or none does.
func (m machines) await(t *testing.T, runs bool) {
	t.Helper()
	for deadline := time.Now().Add(testenv.Patience); ; time.Sleep(50 * time.Millisecond) {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		if runs == slices.ContainsFunc(lines, func(file string) bool {
			line, _ := os.ReadFile(file)
			return bytes.Contains(line, []byte("counter\x00--http\x00"+m.at+":"))
		}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a server runs: %v", !runs)
		}
	}
}
