//go:build unix

package router

import "syscall"

// maxFiles is how many files, connections among them, the process may have open at
// a time; 0: it is not known.
func maxFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30))
}
