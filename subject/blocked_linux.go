package subject

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// waitingCalls are the system calls in which a thread waits for something else than its
// next task: for a disk, a time, a process, another's lock on a file. In futex, epoll_wait, read of a
// socket and the like idle threads wait, too, so that waiting there says nothing; so do
// those of Go in nanosleep, in which nobody else sleeps (others: clock_nanosleep).
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
		if name, ok := waitingCalls[callOf(t[0], t[1])]; ok {
			found[name]++
		}
	}
	return found
}

// callOf returns the number of the system call that a thread waits in, the first field of
// its file (proc_pid_syscall(5)); −1: it runs, waits elsewhere, has ended, or must not be looked into.
func callOf(pid, thread int) int {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, thread), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	defer unix.Close(fd)
	var buf [256]byte
	n, _ := unix.Read(fd, buf[:]) // -1 and an error leave nothing to read
	number, _, _ := bytes.Cut(buf[:max(0, n)], []byte(" "))
	call, err := strconv.Atoi(string(number))
	if err != nil {
		return -1 // it says "running"
	}
	return call
}
