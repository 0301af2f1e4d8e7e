package cli

import "golang.org/x/sys/unix"

// seccompCall is the number of seccomp(2).
const seccompCall = unix.SYS_SECCOMP
