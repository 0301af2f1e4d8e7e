package subject

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"contend/internal/testenv"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func ownCPU() time.Duration { return must(cpuClock(os.Getpid())) }

// pids reads the processes that a role has told in its output.
func pids(t *testing.T, output string) []int {
	t.Helper()
	_, told, _ := strings.Cut(output, "pids ")
	line, _, _ := strings.Cut(told, "\n")
	var found []int
	for _, field := range strings.Fields(line) {
		var pid int
		if _, err := fmt.Sscan(field, &pid); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		found = append(found, pid)
	}
	return found
}

// gone reports whether a process has ended; a zombie that nobody waits for has.
func gone(pid int) bool {
	stat, err := statOf(pid)
	return err != nil || isZombie(stat)
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	testenv.Eventually(t, fmt.Sprintf("gone: %d", pid), func() bool { return gone(pid) })
}

func init() {
	if os.Getenv(roleKey) == "headless" {
		runtime.LockOSThread() // TestMain runs on the first
	}
}

// headless ends the first thread of a child and of this process, which others outlive.
func headless(args []string) {
	if len(args) == 0 {
		child := relative("headless", "child")
		ownGroup(child)
		must(0, child.Start())
		fmt.Println("pids", os.Getpid(), child.Process.Pid)
	}
	go hang()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// A process whose first thread has ended, as a zombie's has, lives: it is counted, and ended.
func TestHeadless(t *testing.T) {
	s := started(t, with(role("headless"), Ready{Log: "^pids "}))
	family := pids(t, s.stdout.text())
	for _, pid := range family {
		testenv.Eventually(t, "without its first thread", func() bool { return must(statOf(pid)).State == "Z" })
	}
	if sample, err := s.Sample(); err != nil || sample.Threads < 2*len(family) {
		t.Errorf("%+v, %v, want the threads of %v", sample, err, family)
	}
	testenv.Must(t, s.Stop(testContext()))
	for _, pid := range family {
		waitGone(t, pid)
	}
}

func TestStopEndsTheFamily(t *testing.T) {
	s := started(t, with(role("family", "1ms"), Ready{Log: "^pids "}))
	found := pids(t, s.stdout.text())
	testenv.Must(t, s.Stop(testContext()))
	for _, pid := range found {
		if !gone(pid) {
			t.Errorf("process %d of %v outlived Stop", pid, found)
		}
	}
	for _, p := range must(processes()) {
		if p.PPID == os.Getpid() {
			t.Errorf("%s %d outlived Stop", p.Comm, p.PID)
		}
	}
}

func TestNobodyIsLeftBehind(t *testing.T) {
	_, err := Start(t.Context(), with(role("orphan"), Ready{Log: "never"}))
	testenv.Says(t, err, "exit status 4", "\tpids ")
	for _, pid := range pids(t, err.Error()) {
		if !gone(pid) {
			t.Errorf("process %d outlived the subject", pid)
		}
	}
}

// startHolder starts a process that starts a family, and returns the processes
// of the family: the first, its child in the same group, and its child in a
// group of its own.
func startHolder(t *testing.T, role string, args ...string) (holder *os.Process, found []int) {
	t.Helper()
	cmd := relative(role, args...)
	cmd.Stdout = nil
	output := must(cmd.StdoutPipe())
	testenv.Must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for lines := bufio.NewScanner(output); found == nil && lines.Scan(); {
		found = pids(t, lines.Text())
	}
	if len(found) != 3 {
		t.Fatalf("processes %v, want 3", found)
	}
	for _, pid := range found {
		if gone(pid) {
			t.Fatalf("process %d of %v is gone before the kill", pid, found)
		}
	}
	return cmd.Process, found
}

func TestKillMinus9(t *testing.T) {
	holder, found := startHolder(t, "holder")
	holder.Kill()
	for _, pid := range found {
		waitGone(t, pid)
	}
}

// samplers returns how many files through which the kernel hands out samples a process has open.
func samplers(pid int) (open int) {
	for _, target := range must(must(procfs.NewProc(pid)).FileDescriptorTargets()) {
		if strings.Contains(target, "perf_event") {
			open++
		}
	}
	return open
}

// Sampling ends with us: a process that we sample cannot go on with it, and another's
// server does not notice.
func TestKillMinus9WhileSampled(t *testing.T) {
	server := started(t, role("serve", "{{addr}}"))
	if p, err := server.Profiler(); err != nil {
		testenv.Missing(t, err)
	} else {
		must(0, p.Close())
	}
	holder, found := startHolder(t, "holder", server.Addr(""))
	for _, p := range must(processes()) {
		if p.PPID == holder.Pid && p.PID != found[0] {
			found = append(found, p.PID) // its guardian
		}
	}
	if samplers(holder.Pid) == 0 {
		t.Error("nobody is sampled")
	}
	for _, pid := range append(found, server.PID()) {
		if open := samplers(pid); open > 0 {
			t.Errorf("process %d has %d files for samples", pid, open)
		}
	}
	holder.Kill()
	for _, pid := range found {
		waitGone(t, pid)
	}
	answer := must(http.Get("http://" + server.Addr("") + "/env"))
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the server answers %s", answer.Status)
	}
}

// Without its guardian the subject itself still dies with us.
func TestParentDeathSignal(t *testing.T) {
	holder, found := startHolder(t, "holder")
	subject := found[0]
	for _, p := range must(processes()) {
		if p.PPID == holder.Pid && p.PID != subject {
			syscall.Kill(p.PID, syscall.SIGKILL)
			waitGone(t, p.PID)
		}
	}
	holder.Kill()
	waitGone(t, subject)
	for _, pid := range found[1:] {
		syscall.Kill(pid, syscall.SIGKILL) // they have lost their guardian
	}
}

// The thread that calls Start may end: not it, but a thread of the subject's own
// is the parent.
func TestCallingThreadEnds(t *testing.T) {
	subjects := make(chan *Subject)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		s, err := Start(t.Context(), role("hang"))
		if err != nil {
			t.Error(err)
		}
		subjects <- s
	}()
	s := <-subjects
	if s == nil {
		return
	}
	defer s.Stop(testContext())
	select {
	case <-s.Done():
		t.Error(s.Err())
	case <-time.After(100 * time.Millisecond):
	}
}
