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

// blocked returns the threads that a census saw which wait in one of waitingCalls, or for a lock.
func (c census) blocked() (found []Blocked) {
	for _, t := range c.threads {
		b, line := Blocked{PID: t[0]}, callOf(t[0], t[1])
		fields := strings.Fields(line)
		if len(fields) != 9 { // a number, six arguments, stack and instruction
			continue
		}
		call, err := strconv.Atoi(fields[0])
		if b.Call = waitingCalls[call]; call == unix.SYS_FUTEX && forLock(fields[1:]) {
			b.Call = "futex (lock)"
		}
		if err == nil && b.Call != "" {
			b.Pointer, _ = strconv.ParseUint(fields[7], 0, 64)
			b.Instruction, _ = strconv.ParseUint(fields[8], 0, 64)
			if stack := memoryOf(b.PID, b.Pointer); callOf(t[0], t[1]) == line { // the stack is the one that it had
				b.Stack = stack
			}
			found = append(found, b)
		}
	}
	return found
}

// callOf returns the system call that a thread waits in, as its file has it (proc_pid_syscall(5)): its number, its arguments and
// where it was called. It has something else if the thread runs, waits outside a call, has ended, or must not be looked into.
func callOf(pid, thread int) string {
	text, _ := readProc("/proc/%d/task/%d/syscall", pid, thread)
	return text
}

// memoryOf returns what a process has from an address on, up to 8 KiB; nil: it cannot be read.
func memoryOf(pid int, address uint64) []byte {
	memory := make([]byte, 8<<10)
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &memory[0], Len: uint64(len(memory))}},
		[]unix.RemoteIovec{{Base: uintptr(address), Len: len(memory)}}, 0)
	if err != nil {
		return nil
	}
	return memory[:n]
}

// forLock reports whether the arguments of a futex are of those who wait for a lock of glibc
// (pthread_mutex_t, std::mutex) or of Rust's standard library: while its value is 2, that of a lock
// that is held and waited for (Drepper, "Futexes Are Tricky", section 6), without an end. Idle threads
// wait for conditions, at other values.
func forLock(args []string) bool {
	const wait, private, waitBitset, waitedFor = "0x0", "0x80", "0x89", "0x2" // linux/futex.h
	return len(args) > 2 && slices.Contains([]string{wait, private, waitBitset}, args[1]) && args[2] == waitedFor
}
