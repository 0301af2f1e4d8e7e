package gen

import (
	"syscall"
	"time"
)

// sleep sleeps with the kernel's precision, 50 µs and better, or until a signal.
func sleep(d time.Duration) {
	spec := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&spec, nil) // whoever waits looks at the clock again
}
