package perf

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tracing is where the kernel shows its tracepoints to root: where systemd mounts them, and where older systems did.
var tracing = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// namedCalls are the system calls that servers make often.
var namedCalls = strings.Fields(`read write readv writev pread64 pwrite64 recvfrom sendto recvmsg sendmsg sendmmsg recvmmsg sendfile splice
	accept accept4 connect shutdown close epoll_wait epoll_pwait epoll_ctl poll ppoll select futex nanosleep clock_nanosleep sched_yield
	openat newfstatat fstat fcntl mmap munmap madvise brk getrandom setsockopt getsockopt tgkill io_uring_enter`)

// EverySystemCall returns the events of the system calls that can be counted here: all together, and those that servers make
// often by their names. The error is an [UnavailableError].
func EverySystemCall() ([]Event, error) { return systemCallsIn(tracing) }

func systemCallsIn(folders []string) ([]Event, error) {
	events := []Event{SystemCalls}
	if _, err := pointOf(folders, SystemCalls); err != nil {
		advice := "run it as root, where mount -t tracefs nodev " + folders[0] + " shows them"
		return nil, &UnavailableError{Event: SystemCalls, Reason: "the kernel's tracepoints cannot be read", Advice: advice}
	}
	for _, name := range namedCalls {
		if _, err := pointOf(folders, SystemCall+Event(name)); err == nil { // other processors have others
			events = append(events, SystemCall+Event(name))
		}
	}
	return events, nil
}

// pointOf is the number of the tracepoint of a system call.
func pointOf(folders []string, event Event) (uint64, error) {
	name, is := strings.CutPrefix(string(event), SystemCall)
	if !is {
		return 0, errors.New("it is no system call")
	}
	file := filepath.Join("events", "syscalls", "sys_enter_"+name, "id")
	if event == SystemCalls {
		file = filepath.Join("events", "raw_syscalls", "sys_enter", "id")
	}
	var errs error
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err == nil {
			return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		}
		errs = errors.Join(errs, err)
	}
	return 0, errs
}

// attributesOf says how the kernel is asked for an event; not ok: there is no such event.
func attributesOf(event Event) (attributes, bool) {
	if a, ok := known[event]; ok {
		return a, true
	}
	point, err := pointOf(tracing, event)
	return attributes{kind: unix.PERF_TYPE_TRACEPOINT, which: point}, err == nil
}
