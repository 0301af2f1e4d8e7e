//go:build unix

package cpu

import (
	"syscall"
	"time"
)

// used returns what this process used until now, if the system tells.
func used() (time.Duration, Counts, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, Counts{}, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), Counts{int64(u.Nvcsw), int64(u.Nivcsw), int64(u.Minflt), int64(u.Majflt)}, true
}
