//go:build !unix

package load

import "time"

// CPUTime returns the CPU time, user and system, that this process has used, if the
// system tells.
func CPUTime() (time.Duration, bool) { return 0, false }
