//go:build unix

package cpu

import (
	"syscall"
	"time"
)

// Time returns the CPU time, user and system, that this process has used, if the
// system tells.
func Time() (time.Duration, bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
