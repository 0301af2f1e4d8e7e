package cpu

import (
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Pressure returns how long up to now at least one thread of the machine waited for a resource,
// "memory" or "io"; 0 where the kernel does not tell (Linux, Documentation/accounting/psi.rst).
// Only differences mean something.
func Pressure(root fs.FS, resource string) time.Duration {
	text, _ := fs.ReadFile(root, "proc/pressure/"+resource)
	some, _, _ := strings.Cut(string(text), "\n") // some avg10=0.00 avg60=0.00 avg300=0.00 total=0, in µs
	_, total, _ := strings.Cut(some, " total=")
	us, _ := strconv.ParseInt(total, 10, 64)
	return time.Duration(us) * time.Microsecond
}
