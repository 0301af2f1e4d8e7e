package cpu

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// userTick is the unit of times in /proc/stat: USER_HZ is 100 on every
// architecture that Go supports (Linux, include/uapi/asm-generic/param.h).
const userTick = 10 * time.Millisecond

// machineTime returns the time of all cores of the machine that was not idle
// (user, nice, system, interrupts and what a hypervisor took), and their number.
func machineTime() (busy time.Duration, cores int) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	return busyTime(stat)
}

// busyTime reads /proc/stat (proc(5)). Its first line is cpu user nice system
// idle iowait irq softirq steal, and guest times that are part of user; one such
// line for each core follows.
func busyTime(stat []byte) (busy time.Duration, cores int) {
	line, rest, _ := bytes.Cut(stat, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0
	}
	var ticks int64
	for i, text := range fields[1:9] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, 0
		}
		if idle := i == 3 || i == 4; !idle {
			ticks += n
		}
	}
	for bytes.HasPrefix(rest, []byte("cpu")) {
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
		cores++
	}
	return time.Duration(ticks) * userTick, cores
}

// waitedForCores adds up how long threads of this process could have run and had
// no core: others ran there, or a CPU limit was used up.
func waitedForCores(threads []int) time.Duration {
	if len(threads) == 0 {
		entries, _ := os.ReadDir("/proc/self/task") // without /proc nothing is known
		for _, e := range entries {
			if id, err := strconv.Atoi(e.Name()); err == nil {
				threads = append(threads, id)
			}
		}
	}
	var sum time.Duration
	for _, id := range threads {
		fd := openSchedstat(id)
		sum += readSchedstat(fd)
		unix.Close(fd)
	}
	return sum
}

// openSchedstat opens the schedstat of a thread of this process. The descriptor is -1
// if that fails, and nothing can be read from it.
func openSchedstat(thread int) (fd int) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/task/%d/schedstat", thread), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// readSchedstat returns the second figure of a thread's schedstat, the time
// spent waiting on a run queue (Linux, Documentation/scheduler/sched-stats.rst).
func readSchedstat(fd int) time.Duration {
	var buf [64]byte
	n, _ := unix.Pread(fd, buf[:], 0)
	_, rest, _ := bytes.Cut(buf[:max(0, n)], []byte(" "))
	waited, _, _ := bytes.Cut(rest, []byte(" "))
	ns, _ := strconv.ParseInt(string(waited), 10, 64)
	return time.Duration(ns)
}

// Thread returns the id of the calling thread.
func Thread() int { return unix.Gettid() }

// Allowed returns the number of CPUs that this process may run on; 0: not known.
func Allowed() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0
	}
	return set.Count()
}
