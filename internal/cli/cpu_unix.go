//go:build unix

package cli

import (
	"syscall"
	"time"
)

// processCPU returns the CPU time, user and system, of this process.
func processCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
