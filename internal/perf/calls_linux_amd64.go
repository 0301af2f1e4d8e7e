package perf

import "golang.org/x/sys/unix"

// otherNumbers are those of system calls that not every processor has.
var otherNumbers = map[string]uint64{
	"mmap": unix.SYS_MMAP, "accept": unix.SYS_ACCEPT, "epoll_wait": unix.SYS_EPOLL_WAIT, "poll": unix.SYS_POLL, "select": unix.SYS_SELECT, "newfstatat": unix.SYS_NEWFSTATAT,
}
