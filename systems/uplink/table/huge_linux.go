package table

import (
	"syscall"
	"unsafe"
)

// huge asks for pages of 2 MiB below a large slice that was just made: with pages of
// 4 KiB a look-up among millions of rows waits for the page table as long as for the
// row. It is advice, so that failing does no harm.
func huge[T any](s []T) []T {
	const enough = 4 << 20 // contains at least one such page, wherever it begins
	if bytes := len(s) * int(unsafe.Sizeof(*new(T))); bytes >= enough {
		_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), bytes), syscall.MADV_HUGEPAGE)
	}
	return s
}
