package subject

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

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
	p, err := procfs.NewProc(pid)
	if err != nil {
		return true
	}
	stat, err := p.Stat()
	return err != nil || isZombie(stat)
}

func allGone(t *testing.T, found []int) {
	t.Helper()
	for _, pid := range found {
		holds(t, fmt.Sprintf("gone: %d", pid), func() bool { return gone(pid) })
	}
}

func TestStopEndsTheFamily(t *testing.T) {
	s := started(t, with(role("family", "1ms"), Ready{Log: "^pids "}))
	found := pids(t, s.stdout.text())
	if err := s.Stop(testContext()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range found {
		if !gone(pid) {
			t.Errorf("process %d of %v outlived Stop", pid, found)
		}
	}
}

func TestNobodyIsLeftBehind(t *testing.T) {
	_, err := Start(t.Context(), with(role("orphan"), Ready{Log: "never"}))
	contains(t, err, "exit status 4", "\tpids ")
	for _, pid := range pids(t, err.Error()) {
		if !gone(pid) {
			t.Errorf("process %d outlived the subject", pid)
		}
	}
}

// The subject, its child in the same group and its child in another group must
// all disappear when the process that called Start is killed.
func TestKillMinus9(t *testing.T) {
	cmd := relative("holder")
	cmd.Stdout = nil
	output := must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var found []int
	for lines := bufio.NewScanner(output); found == nil && lines.Scan(); {
		found = pids(t, lines.Text())
	}
	if len(found) != 3 {
		t.Fatalf("processes %v, want 3", found)
	}
	for _, pid := range found {
		if gone(pid) {
			t.Errorf("process %d of %v is gone before the kill", pid, found)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	allGone(t, found)
}

// The kernel alone must end the subject when the guardian is gone too.
func TestParentDeathSignal(t *testing.T) {
	s := started(t, role("hang"))
	p := must(procfs.NewProc(s.PID()))
	stat := must(p.Stat())
	if stat.Session != s.PID() || stat.PGRP != s.PID() {
		t.Errorf("session %d, group %d, want %d", stat.Session, stat.PGRP, s.PID())
	}
}

func TestSampleBurn(t *testing.T) {
	const burnt = 100 * time.Millisecond
	s := started(t, with(role("burn", "10ms"), Ready{Log: "burnt"}))
	_ = s
	begin := time.Now()
	burner := started(t, with(role("burn", burnt.String()), Ready{Log: "burnt"}))
	got, err := burner.Sample()
	if err != nil {
		t.Fatal(err)
	}
	wall := time.Since(begin)
	// A loop that ends by the clock uses less CPU than burnt on a busy machine,
	// so only a tenth of it is sure.
	if limit := wall * time.Duration(runtime.NumCPU()); got.CPU < burnt/10 || got.CPU > limit {
		t.Errorf("CPU %v, want between %v and %v", got.CPU, burnt/10, limit)
	}
	if got.Elapsed < burnt || got.Elapsed > wall {
		t.Errorf("elapsed %v, want between %v and %v", got.Elapsed, burnt, wall)
	}
	if got.Threads < 1 || got.RSSBytes < 100<<10 || got.VoluntarySwitches < 1 {
		t.Errorf("sample %+v of a live Go process", got)
	}
	if got.CPU%userTick == 0 {
		t.Errorf("CPU %v looks like whole ticks", got.CPU)
	}
}

// An idle subject uses next to nothing between two samples, and the figure is
// finer than a tick.
func TestSampleDelta(t *testing.T) {
	s := started(t, with(role("burn", "50ms"), Ready{Log: "burnt"}))
	first := must(s.Sample())
	time.Sleep(50 * time.Millisecond)
	delta := must(s.Sample()).Sub(first)
	if delta.CPU < 0 || delta.CPU > delta.Elapsed || delta.Elapsed < 50*time.Millisecond {
		t.Errorf("idle: %+v", delta)
	}
	if delta.RSSBytes <= 0 || delta.Threads < 1 {
		t.Errorf("memory and threads are not differences: %+v", delta)
	}
}

func TestSampleFamily(t *testing.T) {
	const burnt = 200 * time.Millisecond
	s := started(t, with(role("family", burnt.String()), Ready{Log: "^pids "}))
	holds(t, "burnt", func() bool { return strings.Contains(s.stdout.text(), "burnt") })
	got := must(s.Sample())
	alone := must(cpuClock(s.PID()))
	members, err := tree(s.PID())
	if err != nil {
		t.Fatal(err)
	}
	if len(members) != 3 { // itself, the one that burnt, the one in its own group
		t.Errorf("%d processes, want 3", len(members))
	}
	var waitedFor time.Duration
	for _, p := range members {
		waitedFor += time.Duration(p.CUTime+p.CSTime) * userTick
	}
	if waitedFor < burnt/10 {
		t.Errorf("CPU of children waited for: %v, want at least %v", waitedFor, burnt/10)
	}
	// Two burners in sequence or in parallel, each a tenth at least.
	if got.CPU < alone+waitedFor+burnt/10 {
		t.Errorf("CPU %v, want at least %v more than the %v of the first and the %v of those waited for",
			got.CPU, burnt/10, alone, waitedFor)
	}
}

func TestSampleWhileDying(t *testing.T) {
	for range 20 {
		s := started(t, role("hang"))
		syscall.Kill(s.PID(), syscall.SIGKILL)
		for {
			got, err := s.Sample()
			if err != nil {
				break
			}
			if got.CPU <= 0 || got.CPU > time.Minute {
				t.Fatalf("CPU %v of a dying process", got.CPU)
			}
		}
		ended(t, s)
	}
}

func TestCPUClockOfNobody(t *testing.T) {
	if _, err := cpuClock(1 << 22); err != errVanished { // pid_max is at most 2^22
		t.Errorf("error %v", err)
	}
	if _, _, err := sampleTree(1 << 22); err == nil {
		t.Error("a sample of nobody")
	}
	if got := must(cpuClock(os.Getpid())); got <= 0 {
		t.Errorf("our own clock: %v", got)
	}
}
