//go:build !unix

package cpu

import "time"

// Time returns the CPU time, user and system, that this process has used, if the
// system tells.
func Time() (time.Duration, bool) { return 0, false }
