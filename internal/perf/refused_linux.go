package perf

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	paranoidFile = "/proc/sys/kernel/perf_event_paranoid"
	maxRateFile  = "/proc/sys/kernel/perf_event_max_sample_rate"
)

// refused explains why the kernel did not open a counter, as an UnavailableError
// where a program cannot help it. (perf_event_open(2), Errors; paranoid levels above
// 2 are those of Debian and Ubuntu.)
func refused(event Event, thread int, hasLeader bool, err error) error {
	unavailable := func(reason, advice string) error {
		return &UnavailableError{Event: event, Reason: reason, Advice: advice}
	}
	switch {
	case errors.Is(err, unix.ESRCH):
		return errEnded
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return unavailable("this machine has no such counter of the processor, or is virtual and its host shows none",
			"count page_faults, or measure on a machine that shows its counters")
	case errors.Is(err, unix.ENOSYS):
		return unavailable("this kernel cannot count", "use one with CONFIG_PERF_EVENTS")
	case errors.Is(err, unix.EPERM):
		return unavailable("this container or its host forbids programs to count (seccomp, a security module)",
			"give it the right, with docker run --cap-add PERFMON")
	case errors.Is(err, unix.EINVAL) && hasLeader:
		return unavailable("the processor has too few counters for all events at once", "count fewer")
	case errors.Is(err, unix.EACCES):
		return unavailable(denied(event, thread, paranoid()))
	}
	return fmt.Errorf("perf: %s of thread %d: %w", event, thread, err)
}

// refused explains why the kernel did not open an event that samples a thread.
func (s *Sampler) refused(thread int, err error) error {
	if errors.Is(err, unix.EMFILE) {
		return fmt.Errorf("perf: samples need a file for each thread and CPU: %w; raise the limit (ulimit -n)", err)
	}
	if most := setting(maxRateFile, s.hz); errors.Is(err, unix.EINVAL) && most < s.hz {
		return &UnavailableError{Event: CPUTime, Reason: fmt.Sprintf("kernel.perf_event_max_sample_rate is %d", most),
			Advice: "sysctl kernel.perf_event_max_sample_rate=100000, its default, which the kernel lowered as samples took long"}
	}
	return refused(CPUTime, thread, false, err)
}

// denied gives the reason of an EACCES, and advice.
func denied(event Event, thread, level int) (reason, advice string) {
	most := 2 // the highest level at which users may count their own
	if a, counted := attributesOf(event); event == KernelTime || counted && a.bits&unix.PerfBitExcludeKernel == 0 {
		most = 1
	}
	if level > most {
		return fmt.Sprintf("kernel.perf_event_paranoid is %d", level),
			fmt.Sprintf("sysctl kernel.perf_event_paranoid=%d, or run it with CAP_PERFMON", most)
	}
	return fmt.Sprintf("thread %d belongs to another user, or its program has privileges", thread),
		"run this as that user, or with CAP_PERFMON"
}

// paranoid returns the level that the kernel is set to; its default where it does not
// say.
func paranoid() int { return setting(paranoidFile, 2) }

// setting reads a number from a file of the kernel's settings, if it exists.
func setting(file string, otherwise int) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return otherwise
	}
	value, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return otherwise
	}
	return value
}
