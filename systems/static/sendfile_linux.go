package static

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendfile sends up to n bytes of a file from off on, which it moves. It does not
// wait, so Go's scheduler is not told.
func sendfile(to, from int, off *int64, n int64) (int, unix.Errno) {
	sent, _, errno := unix.RawSyscall6(unix.SYS_SENDFILE, uintptr(to), uintptr(from),
		uintptr(unsafe.Pointer(off)), uintptr(n), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sent), 0
}
