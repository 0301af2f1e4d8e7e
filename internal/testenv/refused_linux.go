package testenv

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

// From include/uapi/linux/prctl.h and seccomp.h.
const (
	prGetSeccomp    = 21
	prSetSeccomp    = 22
	prSetNoNewPrivs = 38
	modeFilter      = 2
	retErrno        = 0x00050000
	retAllow        = 0x7fff0000
)

// Refused becomes the program of argv, for which a system call, by its number, fails with
// EPERM, as in a container with a profile of its own. It returns only if that cannot be.
func Refused(call uint32, argv []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	code := []syscall.SockFilter{ // the number of the call is at 0 of seccomp_data
		{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: 0},
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, K: call, Jf: 1},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: retErrno | uint32(syscall.EPERM)},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: retAllow},
	}
	program := syscall.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread() // the filter is this thread's, which exec makes the only one
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetSeccomp, modeFilter, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return syscall.Exec(path, argv, os.Environ())
}

// CanRefuse returns why Refused cannot be here, or nil.
func CanRefuse() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetSeccomp, 0, 0); errno != 0 {
		return errors.New("the kernel has no seccomp")
	}
	return nil
}
