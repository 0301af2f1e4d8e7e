package perf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	notInKernel = unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	notInUser   = unix.PerfBitExcludeUser | unix.PerfBitExcludeHv
)

// attributes say how the kernel is asked for an event (include/uapi/linux/perf_event.h).
type attributes struct {
	kind        uint32
	which, bits uint64
	filter      string // of a tracepoint's records; empty: all count
}

// known are those of all events but system calls.
var known = map[Event]attributes{
	Instructions:       {kind: unix.PERF_TYPE_HARDWARE, which: unix.PERF_COUNT_HW_INSTRUCTIONS, bits: notInKernel},
	KernelInstructions: {kind: unix.PERF_TYPE_HARDWARE, which: unix.PERF_COUNT_HW_INSTRUCTIONS, bits: notInUser},
	Cycles:             {kind: unix.PERF_TYPE_HARDWARE, which: unix.PERF_COUNT_HW_CPU_CYCLES, bits: notInKernel},
	KernelCycles:       {kind: unix.PERF_TYPE_HARDWARE, which: unix.PERF_COUNT_HW_CPU_CYCLES, bits: notInUser},
	CacheMisses:        {kind: unix.PERF_TYPE_HARDWARE, which: unix.PERF_COUNT_HW_CACHE_MISSES, bits: notInKernel},
	BranchMisses:       {kind: unix.PERF_TYPE_HARDWARE, which: unix.PERF_COUNT_HW_BRANCH_MISSES, bits: notInKernel},
	PageFaults:         {kind: unix.PERF_TYPE_SOFTWARE, which: unix.PERF_COUNT_SW_PAGE_FAULTS, bits: notInKernel},
}

// check returns an error if an event is not valid.
func check(events []Event) error {
	for _, event := range events {
		if _, ok := attributesOf(event); !ok {
			return fmt.Errorf("perf: event is %q; expected %v", event, slices.Sorted(maps.Keys(known)))
		}
	}
	return nil
}

// halfGroup bounds the wait for threads that have a part of a group's events.
const halfGroup = time.Second

// A group is the descriptors of the counters on one thread, that of the leader first:
// they count together or not at all.
type group []int

// openGroup opens counters on a thread, 0 being the calling one. With errEnded the
// thread has ended.
func openGroup(thread int, events []Event) (group, error) {
	for attempt := 1; ; attempt++ {
		var g group
		err := g.openAll(thread, events)
		if err == nil {
			return g, nil
		}
		opened := len(g)
		_ = g.close()
		// A thread that ends between its counters fails as one that cannot be counted does
		// (ENODEV, EINVAL). The next attempt tells which it is.
		if opened == 0 || attempt == attempts {
			return nil, refused(events[opened], cmp.Or(thread, unix.Gettid()), opened > 0, err)
		}
	}
}

func (g *group) openAll(thread int, events []Event) error {
	for _, event := range events {
		fd, err := g.open(thread, event)
		if err != nil {
			return err
		}
		*g = append(*g, fd)
	}
	return nil
}

// open opens one more counter of the group.
func (g group) open(thread int, event Event) (fd int, err error) {
	a, _ := attributesOf(event)
	attr := unix.PerfEventAttr{
		Type:        a.kind,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:      a.which,
		Bits:        a.bits | unix.PerfBitInherit,
		Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	leader := -1
	if len(g) > 0 {
		leader = g[0]
	} else {
		attr.Bits |= unix.PerfBitDisabled // and the rest of the group with it
	}
	const anyCPU = -1
	if fd, err = openEvent(&attr, thread, anyCPU, leader); err != nil || a.filter == "" {
		return fd, err
	}
	if err = unix.IoctlSetString(fd, unix.PERF_EVENT_IOC_SET_FILTER, a.filter); err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

func openEvent(attr *unix.PerfEventAttr, thread, cpu, leader int) (fd int, err error) {
	err = unix.EINTR // which the kernel's wait for an exec gives, and signals of the runtime cause
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.PerfEventOpen(attr, thread, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
	}
	return fd, err
}

// The leader's state is that of its group, and its descendants follow it.
func (g group) enable() error  { return unix.IoctlSetInt(g[0], unix.PERF_EVENT_IOC_ENABLE, 0) }
func (g group) disable() error { return unix.IoctlSetInt(g[0], unix.PERF_EVENT_IOC_DISABLE, 0) }

// addTo adds what the group and its descendants show: the number of events, the times
// and the counts, of 8 bytes each.
func (g group) addTo(sum reading) error {
	buf := make([]byte, 8*(1+len(sum)))
	n, err := unix.Read(g[0], buf)
	// A descendant that begins or ends has a part of the group for a moment, as long as others
	// take its processor, and the kernel does not add it up (__perf_read_group_add in Linux'
	// kernel/events/core.c).
	for end := time.Now().Add(halfGroup); errors.Is(err, unix.ECHILD) && time.Now().Before(end); {
		time.Sleep(pause)
		n, err = unix.Read(g[0], buf)
	}
	if err != nil {
		return err
	}
	if n != len(buf) {
		return fmt.Errorf("read %d bytes of %d", n, len(buf))
	}
	for i := range sum {
		sum[i] += binary.NativeEndian.Uint64(buf[8*(1+i):])
	}
	return nil
}

func (g group) close() (err error) {
	for _, fd := range g {
		err = cmp.Or(err, unix.Close(fd))
	}
	return err
}

func ownThreads() ([]int, error) { return threadsOf(os.Getpid()) }

// threadsOf returns the threads of a process.
func threadsOf(pid int) ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	var threads []int
	for _, entry := range entries {
		thread, err := strconv.Atoi(entry.Name())
		if err != nil {
			return nil, err
		}
		threads = append(threads, thread)
	}
	return threads, nil
}
