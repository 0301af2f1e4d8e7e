package perf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the kernel can write on a CPU between two rounds of reading, in bytes, powers of two.
const (
	// ringBytes is half of what a user may have of each CPU without privileges (kernel.perf_event_mlock_kb, by default
	// 512 KiB and a page): 50 ms of samples.
	ringBytes = 256 << 10
	// rootBytes is for a user who may have as much as there is: on a busy machine nobody may read for so long.
	rootBytes = 2 << 20
)

// A ring is where the kernel writes the records of one CPU. An event that never happens
// holds it, so that it stays when those that write into it are closed.
type ring struct {
	cpu, fd int
	memory  []byte // the page that says what is in the ring, and the ring
}

// openRings opens a ring for each CPU, all of the same size, for events with or without
// the kernel's part, which the kernel refuses here already.
func openRings(cpus []int, kernel bool) (rings []ring, err error) {
	defer func() {
		if err != nil {
			closeRings(rings)
			rings = nil
		}
	}()
	attr := softwareEvent(unix.PERF_COUNT_SW_DUMMY, kernel)
	for _, cpu := range cpus {
		fd, err := openEvent(&attr, 0, cpu, -1)
		if err != nil {
			return rings, err
		}
		rings = append(rings, ring{cpu: cpu, fd: fd})
	}
	size := ringBytes
	if os.Geteuid() == 0 {
		size = rootBytes
	}
	for ; ; size /= 2 {
		err := mapRings(rings, size)
		switch {
		case err == nil:
			return rings, nil
		case !errors.Is(err, unix.EPERM):
			return rings, fmt.Errorf("memory for samples: %w", err)
		case size/2 < os.Getpagesize():
			return rings, &UnavailableError{Event: CPUTime,
				Reason: "this user's programs have all memory for samples that the kernel gives",
				Advice: "let no other program sample, raise kernel.perf_event_mlock_kb, or run it with CAP_IPC_LOCK"}
		}
	}
}

// mapRings maps all rings or none.
func mapRings(rings []ring, size int) (err error) {
	for i := range rings {
		r := &rings[i]
		r.memory, err = unix.Mmap(r.fd, 0, os.Getpagesize()+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return errors.Join(err, unmapRings(rings[:i]))
		}
	}
	return nil
}

func unmapRings(rings []ring) (err error) {
	for i := range rings {
		if r := &rings[i]; r.memory != nil {
			err = cmp.Or(err, unix.Munmap(r.memory))
			r.memory = nil
		}
	}
	return err
}

func closeRings(rings []ring) error {
	err := unmapRings(rings)
	for _, r := range rings {
		err = cmp.Or(err, unix.Close(r.fd))
	}
	return err
}

// take returns what the kernel has written since the last call, and gives it the place back.
func (r ring) take() []byte {
	page := r.page()
	head, tail := atomic.LoadUint64(&page.Data_head), page.Data_tail
	taken := between(r.memory[os.Getpagesize():], tail, head)
	atomic.StoreUint64(&page.Data_tail, head)
	return taken
}

func (r ring) page() *unix.PerfEventMmapPage {
	return (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.memory[0]))
}

// between copies the bytes of a ring between two positions, which grow without end.
func between(ring []byte, tail, head uint64) []byte {
	size := uint64(len(ring))
	from := ring[tail%size:]
	if n := head - tail; n <= uint64(len(from)) {
		return append([]byte(nil), from[:n]...)
	}
	return append(append([]byte(nil), from...), ring[:head%size]...)
}

// onlineCPUs returns the CPUs that threads can be on.
func onlineCPUs() ([]int, error) {
	const file = "/sys/devices/system/cpu/online"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	cpus, err := cpuList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return cpus, nil
}

// cpuList reads CPUs such as "0-3,8" (cpuset(7), "List format").
func cpuList(text string) (cpus []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, err
		}
		to, err := strconv.Atoi(last)
		if err != nil {
			return nil, err
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
