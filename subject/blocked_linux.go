package subject

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// waitingCalls are the system calls in which a thread waits for something else than its
// next task: for a disk, a time, a process, another's lock on a file. In epoll_wait, read of a
// socket and the like idle threads wait, too, so that waiting there says nothing; so do
// those of Go in nanosleep, in which nobody else sleeps (others: clock_nanosleep). Futex is
// one of them if it is for a lock; see forLock.
var waitingCalls = map[int]string{
	unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync", unix.SYS_MSYNC: "msync", unix.SYS_SYNC_FILE_RANGE: "sync_file_range",
	unix.SYS_SYNCFS: "syncfs", unix.SYS_CLOCK_NANOSLEEP: "clock_nanosleep",
	unix.SYS_OPENAT: "openat", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_RENAMEAT2: "renameat2", unix.SYS_UNLINKAT: "unlinkat",
	unix.SYS_WAIT4: "wait4", unix.SYS_WAITID: "waitid", unix.SYS_FLOCK: "flock", unix.SYS_FCNTL: "fcntl",
	unix.SYS_CONNECT: "connect", unix.SYS_WRITE: "write", unix.SYS_WRITEV: "writev", unix.SYS_SENDTO: "sendto", unix.SYS_SENDMSG: "sendmsg",
	unix.SYS_PREAD64: "pread64", unix.SYS_PWRITE64: "pwrite64", unix.SYS_PREADV: "preadv", unix.SYS_PWRITEV: "pwritev",
	unix.SYS_GETRANDOM: "getrandom", unix.SYS_SCHED_YIELD: "sched_yield",
}

// blocked returns how many of the threads that a census saw wait in each of waitingCalls, by
// its name.
func (c census) blocked() map[string]int {
	found := map[string]int{}
	for _, t := range c.threads {
		call, args := callOf(t[0], t[1])
		if name, ok := waitingCalls[call]; ok {
			found[name]++
		} else if call == unix.SYS_FUTEX && forLock(args) {
			found["futex (lock)"]++
		}
	}
	return found
}

// callOf returns the number of the system call that a thread waits in and its arguments, as its file has
// them (proc_pid_syscall(5)); −1: it runs, waits outside a call, has ended, or must not be looked
// into.
func callOf(pid, thread int) (call int, args []string) {
	text, _ := readProc("/proc/%d/task/%d/syscall", pid, thread)
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return -1, nil
	}
	call, err := strconv.Atoi(fields[0])
	if err != nil {
		return -1, nil // it says "running"
	}
	return call, fields[1:]
}

// forLock reports whether the arguments of a futex are of those who wait for a lock of glibc
// (pthread_mutex_t, std::mutex) or of Rust's standard library: while its value is 2, that of a lock
// that is held and waited for (Drepper, "Futexes Are Tricky", section 6), without an end. Idle threads
// wait for conditions, at other values.
func forLock(args []string) bool {
	const wait, private, waitBitset, waitedFor = "0x0", "0x80", "0x89", "0x2" // linux/futex.h
	return len(args) > 2 && slices.Contains([]string{wait, private, waitBitset}, args[1]) && args[2] == waitedFor
}
