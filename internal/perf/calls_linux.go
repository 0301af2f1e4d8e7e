package perf

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// tracing is where the kernel shows its tracepoints to root: where systemd mounts them, and where older systems did.
var tracing = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// numbers are those of the system calls that servers make often, by name.
var numbers = withOthers(map[string]uint64{
	"read": unix.SYS_READ, "write": unix.SYS_WRITE, "readv": unix.SYS_READV, "writev": unix.SYS_WRITEV,
	"pread64": unix.SYS_PREAD64, "pwrite64": unix.SYS_PWRITE64, "sendfile": unix.SYS_SENDFILE, "splice": unix.SYS_SPLICE,
	"recvfrom": unix.SYS_RECVFROM, "sendto": unix.SYS_SENDTO, "recvmsg": unix.SYS_RECVMSG, "sendmsg": unix.SYS_SENDMSG,
	"recvmmsg": unix.SYS_RECVMMSG, "sendmmsg": unix.SYS_SENDMMSG,
	"accept4": unix.SYS_ACCEPT4, "connect": unix.SYS_CONNECT, "shutdown": unix.SYS_SHUTDOWN, "close": unix.SYS_CLOSE,
	"setsockopt": unix.SYS_SETSOCKOPT, "getsockopt": unix.SYS_GETSOCKOPT, "fcntl": unix.SYS_FCNTL,
	"epoll_pwait": unix.SYS_EPOLL_PWAIT, "epoll_ctl": unix.SYS_EPOLL_CTL, "ppoll": unix.SYS_PPOLL, "io_uring_enter": unix.SYS_IO_URING_ENTER,
	"futex": unix.SYS_FUTEX, "nanosleep": unix.SYS_NANOSLEEP, "clock_nanosleep": unix.SYS_CLOCK_NANOSLEEP,
	"sched_yield": unix.SYS_SCHED_YIELD, "tgkill": unix.SYS_TGKILL, "getrandom": unix.SYS_GETRANDOM,
	"openat": unix.SYS_OPENAT, "fstat": unix.SYS_FSTAT, "fsync": unix.SYS_FSYNC,
	"munmap": unix.SYS_MUNMAP, "madvise": unix.SYS_MADVISE, "brk": unix.SYS_BRK,
})

// withOthers adds those that not every processor has.
func withOthers(all map[string]uint64) map[string]uint64 {
	maps.Copy(all, otherNumbers)
	return all
}

// EverySystemCall returns the events of the system calls that can be counted here: all together, and those that servers make
// often by their names. The error is an [UnavailableError].
func EverySystemCall() ([]Event, error) {
	if _, err := everyCall(); err != nil {
		advice := "run it as root; in a container, with the rights SYS_ADMIN and PERFMON"
		return nil, &UnavailableError{Event: SystemCalls, Reason: "the kernel's tracepoints may not be read", Advice: advice}
	}
	events := []Event{SystemCalls}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		events = append(events, SystemCall+Event(name))
	}
	return events, nil
}

// everyCall is the number of the tracepoint that all system calls pass. A single one counts them by name, too, with
// filters: the kernel takes 50 ms to end the use of each.
var everyCall = sync.OnceValues(func() (uint64, error) {
	id, err := pointIn(tracing...)
	if err == nil {
		return id, nil
	}
	own, unmount, failed := mountTracing()
	if failed != nil {
		return 0, errors.Join(err, failed)
	}
	defer unmount()
	return pointIn(own)
})

func pointIn(folders ...string) (id uint64, errs error) {
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "events", "raw_syscalls", "sys_enter", "id"))
		if err == nil {
			return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		}
		errs = errors.Join(errs, err)
	}
	return 0, errs
}

// mountTracing mounts the tracepoints for this process alone, at no place: containers and small systems have them nowhere.
func mountTracing() (folder string, unmount func(), err error) {
	system, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return "", nil, fmt.Errorf("fsopen of tracefs: %w", err)
	}
	defer unix.Close(system)
	if err := unix.FsconfigCreate(system); err != nil {
		return "", nil, fmt.Errorf("fsconfig of tracefs: %w", err)
	}
	mount, err := unix.Fsmount(system, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY)
	if err != nil {
		return "", nil, fmt.Errorf("fsmount of tracefs: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d", mount), func() { _ = unix.Close(mount) }, nil
}

// attributesOf says how the kernel is asked for an event; not ok: there is no such event.
func attributesOf(event Event) (a attributes, ok bool) {
	if a, ok = known[event]; ok {
		return a, true
	}
	name, _ := strings.CutPrefix(string(event), SystemCall)
	number, named := numbers[name]
	if !named && event != SystemCalls {
		return a, false
	}
	id, err := everyCall()
	a = attributes{kind: unix.PERF_TYPE_TRACEPOINT, which: id}
	if named {
		a.filter = fmt.Sprintf("id == %d", number)
	}
	return a, err == nil
}
