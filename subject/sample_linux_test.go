package subject

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

func TestSampleBurn(t *testing.T) {
	const burnt = 100 * time.Millisecond
	begin := time.Now()
	s := started(t, with(role("burn", burnt.String()), Ready{Log: "burnt"}))
	got := must(s.Sample())
	wall := time.Since(begin)
	if limit := wall * time.Duration(runtime.NumCPU()); got.CPU < burnt || got.CPU > limit {
		t.Errorf("CPU %v, want between %v and %v", got.CPU, burnt, limit)
	}
	if got.Elapsed <= 0 || got.Elapsed > wall {
		t.Errorf("elapsed %v of %v", got.Elapsed, wall)
	}
	if got.Threads < 1 || got.RSSBytes < 100<<10 || got.VoluntarySwitches < 1 || got.MinorFaults < 100 || got.MajorFaults < 0 || got.ReadCalls < 1 || got.ReadBytes < 1 {
		t.Errorf("sample %+v of a live Go process", got)
	}
	if got.CPU%userTick == 0 {
		t.Errorf("CPU %v looks like whole ticks", got.CPU)
	}
}

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

// The family is the first process, a child that lives and one in a group of its
// own; a fourth was waited for.
func TestSampleFamily(t *testing.T) {
	const burnt = 400 * time.Millisecond // more than the first takes to start
	s := started(t, with(role("family", burnt.String()), Ready{Log: "^pids "}))
	testenv.Eventually(t, "burnt", func() bool { return strings.Contains(s.stdout.text(), "burnt") })
	members := must(tree(s.PID()))
	if len(members) != 3 {
		t.Errorf("%d processes, want 3", len(members))
	}
	if found := must(descent(func(p procfs.ProcStat) bool { return p.Session == s.PID() })); !slices.Equal(pidsOf(found), pidsOf(members)) {
		t.Errorf("by children %+v, by parents %+v", members, found)
	}
	var waitedFor time.Duration
	for _, p := range members {
		waitedFor += time.Duration(p.CUTime+p.CSTime) * userTick
	}
	if waitedFor < burnt-2*userTick { // user and system time are cut to ticks apart
		t.Errorf("CPU of the child waited for: %v, want at least %v", waitedFor, burnt-2*userTick)
	}
	got, alone := must(s.Sample()), must(cpuClock(s.PID()))
	if least := waitedFor + burnt; got.CPU < least || alone > burnt {
		t.Errorf("CPU %v, want at least %v; of the first alone %v", got.CPU, least, alone)
	}
}

func pidsOf(members []procfs.ProcStat) (pids []int) {
	for _, p := range members {
		pids = append(pids, p.PID)
	}
	slices.Sort(pids)
	return pids
}

// More children than are read of the kernel's list are found by their parents.
func TestSampleManyChildren(t *testing.T) {
	const children = 300 // whose numbers take more than mostOfProc, even if they begin at 1
	s := started(t, Config{Command: []string{"sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 3600 & i=$((i+1)); done; echo started; wait", children)}, Ready: Ready{Log: "started"}})
	if _, err := withDescendants([]int{s.PID()}); err != errChildren {
		t.Errorf("error %v", err)
	}
	if got := must(tree(s.PID())); len(got) != 1+children {
		t.Errorf("%d members, want %d", len(got), 1+children)
	}
}

func TestSampleWhileDying(t *testing.T) {
	for range 5 {
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
	if _, _, _, err := sampleAll(1<<22, nil); err == nil {
		t.Error("a sample of nobody")
	}
	if got := must(cpuClock(os.Getpid())); got <= 0 {
		t.Errorf("our own clock: %v", got)
	}
}

func TestSampleWaitsAndCPUs(t *testing.T) {
	cfg := with(role("burn", "50ms"), Ready{Log: "burnt"})
	cfg.CPUs = usableCPUs(t)[:1]
	s := started(t, cfg)
	got := must(s.Sample())
	if got.CPUs != 1 || got.SharedCPUs > 1 {
		t.Errorf("%d CPUs, %d of them shared; want 1 and at most 1", got.CPUs, got.SharedCPUs)
	}
	if got.Waited <= 0 {
		t.Error("a process that was started has waited for a core at least once")
	}
	if later := must(s.Sample()).Sub(got); later.Waited < 0 || later.CPUs != 1 {
		t.Errorf("difference %+v", later)
	}
}

// Clocks of the same processes are those of a sample, plus what they used
// since, and grow.
func TestClocksFollowASample(t *testing.T) {
	s := started(t, with(role("burn", "1h"), Ready{}))
	before := must(s.Sample())
	var clocks Sample
	testenv.Eventually(t, "that the clock goes on", func() bool {
		clocks = must(s.Clocks())
		return clocks.CPU > before.CPU
	})
	after := must(s.Sample())
	if clocks.CPU > after.CPU || clocks.Elapsed <= before.Elapsed || clocks.Elapsed > after.Elapsed {
		t.Errorf("CPU %v, %v, %v after %v, %v, %v", before.CPU, clocks.CPU, after.CPU, before.Elapsed, clocks.Elapsed, after.Elapsed)
	}
	if clocks.Waited < before.Waited || clocks.Waited > after.Waited {
		t.Errorf("waited %v, %v, %v", before.Waited, clocks.Waited, after.Waited)
	}
}

// The role is a Go program with one busy thread: on more CPUs it would run more of them. For other programs the
// shares decide.
func TestParallel(t *testing.T) {
	s := started(t, with(role("burn", "20ms"), Ready{Log: "burnt"}))
	got := must(s.Sample())
	if !got.Go || got.Busiest <= 0 || got.Busiest > got.CPU || !got.Parallel() {
		t.Errorf("a Go program: %+v", got)
	}
	other := started(t, Config{Command: []string{"sleep", "60"}})
	if got := must(other.Sample()); got.Go {
		t.Errorf("sleep: %+v", got)
	}
	for busiest, want := range map[time.Duration]bool{0: false, time.Second / 2: true, time.Second: false} {
		if got := (Sample{CPU: time.Second, Busiest: busiest}).Parallel(); got != want {
			t.Errorf("%v of 1s by one thread: %v, want %v", busiest, got, want)
		}
	}
}

func init() { roles["init"] = initOfOwn }

// initOfOwn is the first process of a PID namespace, in whose /proc it looks for itself.
func initOfOwn([]string) {
	must(0, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	must(0, unix.Mount("proc", "/proc", "proc", 0, ""))
	for _, p := range must(processes()) {
		fmt.Println("session", p.Session, "process", p.PID)
	}
}

// Init's children, and everybody in a container whose session began outside it, are
// in session 0, as kernel threads are.
func TestSessionZero(t *testing.T) {
	cmd := exec.Command(must(os.Executable()))
	cmd.Env = append(os.Environ(), roleKey+"=init")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		testenv.Hardware(t, fmt.Errorf("a PID namespace: %w", err))
	}
	if err != nil || string(out) != "session 0 process 1\n" {
		t.Errorf("in a namespace of its own: %v\n%s", err, out)
	}
}
