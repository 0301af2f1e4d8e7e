package perf

import "golang.org/x/sys/unix"

// otherNumbers are those of system calls that not every processor has.
var otherNumbers = map[string]uint64{"mmap": unix.SYS_MMAP, "accept": unix.SYS_ACCEPT, "newfstatat": unix.SYS_NEWFSTATAT}
