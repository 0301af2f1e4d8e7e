//go:build !unix

package cpu

import "time"

// used returns what this process used until now, if the system tells.
func used() (time.Duration, Counts, bool) { return 0, Counts{}, false }
