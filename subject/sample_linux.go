package subject

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"contend/internal/perf"
)

// userTick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go supports (Linux, include/uapi/asm-generic/param.h).
const userTick = 10 * time.Millisecond

// descent returns the living and the zombies among chosen processes and all
// their descendants, but not this process and its own. It reads about every process, which
// needs no kernel option; descentFrom is faster.
func descent(chosen func(procfs.ProcStat) bool) ([]procfs.ProcStat, error) {
	rest, err := processes()
	if err != nil {
		return nil, err
	}
	var members []procfs.ProcStat
	in := map[int]bool{}
	for grown := true; grown; {
		outside := rest[:0]
		for _, p := range rest {
			if (chosen(p) || in[p.PPID]) && p.PID != os.Getpid() {
				in[p.PID] = true
				members = append(members, p)
			} else {
				outside = append(outside, p)
			}
		}
		grown = len(outside) < len(rest)
		rest = outside
	}
	return members, nil
}

// processes returns all processes except those that end before or while it reads.
func processes() ([]procfs.ProcStat, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	stats := make([]procfs.ProcStat, 0, len(all))
	for _, p := range all {
		if sid, err := unix.Getsid(p.PID); err != nil || sid == 0 && withoutProgram(p) {
			continue // gone, or a kernel thread: cheaper to ask than to read
		}
		if stat, err := statOf(p.PID); err == nil {
			stats = append(stats, stat)
		}
	}
	return stats, nil
}

// withoutProgram reports whether a process runs none, as kernel threads and zombies.
// Session 0 is theirs, but also that of init's children, and of those whose session's
// leader is outside this PID namespace.
func withoutProgram(p procfs.Proc) bool {
	program, err := p.Executable()
	return program == "" && err == nil
}

// threadsOf returns the threads of the container, or of the tree of root.
func threadsOf(root int, c *container) ([]int, error) {
	p, err := gather(root, c)
	return threads(p.members), err
}

// threads returns those of processes that live.
func threads(members []procfs.ProcStat) []int {
	var living []int
	for _, p := range members {
		threads, _ := procfs.AllThreads(p.PID) // none: it has ended
		for _, thread := range threads {
			living = append(living, thread.PID)
		}
	}
	return living
}

// isZombie reports whether all threads of a process have ended. The state is that of its
// first one, which others may outlive: for good, or until a program that one of them begins
// has taken its place.
func isZombie(p procfs.ProcStat) bool { return (p.State == "Z" || p.State == "X") && p.NumThreads <= 1 }

// A census is what a sample saw: who can be asked again quickly.
type census struct {
	pids    []int
	threads [][2]int                      // process and thread
	reaped  time.Duration                 // CPU of children that were waited for
	used    func() (time.Duration, error) // CPU of all, as in a party
}

// sampleAll adds up the container, or the tree of root, and returns when it read the CPU
// clocks.
func sampleAll(root int, c *container) (Sample, census, time.Time, error) {
	return sample(root, func() (party, error) { return gather(root, c) })
}

func (f *Foreign) sample() (Sample, census, time.Time, error) {
	return sample(f.PID, func() (party, error) {
		members, err := f.members()
		return party{leader: f.PID, members: members}, err
	})
}

// sample adds up a party, which is called by its first process, root.
//
// A process that is waited for between the scan and the reading of its clock
// is missing from both. So the whole is repeated then, a few times; in a tree
// that ends processes faster than that, such a process counts from the next
// sample on.
func sample(root int, gather func() (party, error)) (sample Sample, seen census, at time.Time, err error) {
	for range 5 {
		if sample, seen, at, err = trySample(root, gather); !errors.Is(err, errVanished) {
			return sample, seen, at, err
		}
	}
	return sample, seen, at, nil
}

// trySample makes one attempt. With errVanished the sample lacks a process.
func trySample(root int, gather func() (party, error)) (Sample, census, time.Time, error) {
	var sample Sample
	all, err := gather()
	seen := census{used: all.used}
	if err != nil {
		return sample, seen, time.Time{}, err
	}
	if len(all.members) == 0 {
		return sample, seen, time.Time{}, fmt.Errorf("/proc shows nothing of process %d", root)
	}
	for _, p := range all.members {
		seen.pids = append(seen.pids, p.PID)
		seen.reaped += time.Duration(p.CUTime+p.CSTime) * userTick
		sample.Activity = sample.Activity.Plus(perf.OfProcess(p))
		if isZombie(p) {
			continue
		}
		sample.Threads += p.NumThreads
		sample.RSSBytes += int64(p.ResidentMemory())
		seen.threads = append(seen.threads, sample.addThreads(p.PID)...)
	}
	sample.CPUs, sample.SharedCPUs = allowed(all.leader)
	at := time.Now()
	clocks, err := seen.clocks()
	sample.CPU, sample.Waited, sample.Busiest = clocks.CPU, clocks.Waited, clocks.Busiest
	return sample, seen, at, err
}

// clocks reads the CPU time and the waits of those that a census saw. With
// errVanished a process is missing, which has ended since.
func (c census) clocks() (Sample, error) {
	cpu, err := c.cpu()
	sample := Sample{CPU: cpu}
	if err != nil && !errors.Is(err, errVanished) {
		return sample, err
	}
	for _, t := range c.threads {
		ran, waited := scheduled(t[0], t[1])
		sample.Waited += waited
		sample.Busiest = max(sample.Busiest, ran)
	}
	return sample, err
}

func (c census) longestWait() (longest time.Duration) {
	for _, t := range c.threads {
		_, waited := scheduled(t[0], t[1])
		longest = max(longest, waited)
	}
	return longest
}

func (c census) cpu() (time.Duration, error) {
	if c.used != nil {
		return c.used()
	}
	sum := c.reaped
	var vanished error
	for _, pid := range c.pids {
		used, err := cpuClock(pid)
		if err != nil && !errors.Is(err, errVanished) {
			return sum, err
		}
		vanished = errors.Join(vanished, err)
		sum += used
	}
	return sum, vanished
}

// scheduled returns how long a thread ran, and how long it could run and had no core, the first two figures
// of its schedstat (Linux, Documentation/scheduler/sched-stats.rst); 0 when it has ended.
func scheduled(pid, thread int) (ran, waited time.Duration) {
	text, _ := readProc("/proc/%d/task/%d/schedstat", pid, thread)
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return 0, 0
	}
	ns := func(text string) time.Duration {
		n, _ := strconv.ParseInt(text, 10, 64)
		return time.Duration(n)
	}
	return ns(fields[0]), ns(fields[1])
}

// runsGo reports whether one of the processes is a Go program.
func (c census) runsGo() bool {
	return slices.ContainsFunc(c.pids, func(pid int) bool {
		_, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil
	})
}

// cpuClock reads the CPU clock of a process: all its threads, ended ones too,
// in nanoseconds. Its clock id is (~pid << 3) | CPUCLOCK_SCHED, with
// CPUCLOCK_SCHED = 2 (Linux, include/linux/posix-timers_types.h).
func cpuClock(pid int) (time.Duration, error) {
	var used unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &used)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) {
		return 0, errVanished
	}
	return time.Duration(used.Nano()), err
}

// addThreads adds up the context switches of the threads of a process, and
// returns the threads.
func (s *Sample) addThreads(pid int) [][2]int {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return nil // it ended, and took its threads' counts with it
	}
	var seen [][2]int
	for _, thread := range threads {
		if status, err := thread.NewStatus(); err == nil {
			s.Activity = s.Activity.Plus(perf.OfThread(status))
			seen = append(seen, [2]int{pid, thread.PID})
		}
	}
	return seen
}

// allowed returns how many CPUs a process may use, and how many of these the
// calling thread may also use.
func allowed(pid int) (cpus, shared int) {
	var its, ours unix.CPUSet
	if unix.SchedGetaffinity(pid, &its) != nil || unix.SchedGetaffinity(0, &ours) != nil {
		return 0, 0
	}
	for i := range its {
		shared += bits.OnesCount64(uint64(its[i] & ours[i]))
	}
	return its.Count(), shared
}
