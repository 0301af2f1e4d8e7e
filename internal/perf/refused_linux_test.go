package perf

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRefused(t *testing.T) {
	denial, _ := denied(Cycles, 7, paranoid())
	tests := []struct {
		err    error
		leader bool
		want   string // of an UnavailableError
	}{
		{unix.ENOENT, false, "cycles cannot be counted: this machine has no such counter of the processor, or is virtual"},
		{unix.EOPNOTSUPP, true, "no such counter of the processor"},
		{unix.ENODEV, false, "no such counter of the processor"},
		{unix.ENXIO, false, "no such counter of the processor"},
		{unix.ENOSYS, false, "this kernel cannot count; use one with CONFIG_PERF_EVENTS"},
		{unix.EPERM, false, "(seccomp, a security module); give it the right, with docker run --cap-add PERFMON"},
		{unix.EINVAL, true, "too few counters for all events at once; count fewer"},
		{unix.EACCES, false, denial},
		{unix.EINVAL, false, ""},
		{unix.EMFILE, false, ""},
	}
	for _, tt := range tests {
		err := refused(Cycles, 7, tt.leader, tt.err)
		var unavailable *UnavailableError
		switch isOne := errors.As(err, &unavailable); {
		case isOne != (tt.want != ""):
			t.Errorf("%v: %#v", tt.err, err)
		case isOne && !strings.Contains(err.Error(), tt.want):
			t.Errorf("%v: %v, want %q", tt.err, err, tt.want)
		case !isOne && (!errors.Is(err, tt.err) || !strings.Contains(err.Error(), "cycles of thread 7")):
			t.Errorf("%v: %v", tt.err, err)
		}
	}
	if err := refused(Cycles, 7, false, unix.ESRCH); err != errEnded {
		t.Errorf("ESRCH: %v", err)
	}
}

// The levels: Linux, admin-guide/sysctl/kernel.rst, perf_event_paranoid; 3 and 4 are
// those of Debian and Ubuntu.
func TestDenied(t *testing.T) {
	const stranger = "thread 7 belongs to another user, or its program has privileges"
	tests := []struct {
		event          Event
		level          int
		reason, advice string
	}{
		{Instructions, 1, stranger, "run this as that user, or with CAP_PERFMON"},
		{PageFaults, 2, stranger, "run this as that user, or with CAP_PERFMON"},
		{PageFaults, 3, "kernel.perf_event_paranoid is 3", "sysctl kernel.perf_event_paranoid=2, or run it with CAP_PERFMON"},
		{Instructions, 4, "kernel.perf_event_paranoid is 4", "sysctl kernel.perf_event_paranoid=2, or run it with CAP_PERFMON"},
		{KernelInstructions, 1, stranger, "run this as that user, or with CAP_PERFMON"},
		{KernelCycles, 2, "kernel.perf_event_paranoid is 2", "sysctl kernel.perf_event_paranoid=1, or run it with CAP_PERFMON"},
		{KernelInstructions, 3, "kernel.perf_event_paranoid is 3", "sysctl kernel.perf_event_paranoid=1, or run it with CAP_PERFMON"},
	}
	for _, tt := range tests {
		if reason, advice := denied(tt.event, 7, tt.level); reason != tt.reason || advice != tt.advice {
			t.Errorf("%s at level %d: %s; %s", tt.event, tt.level, reason, advice)
		}
	}
}
