//go:build linux

package epoll

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stamp has the kernel note when the bytes of a socket arrive; socket(7) on
// SO_TIMESTAMPNS.
func Stamp(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }

// A Stamper receives with the time of arrival. It is used by one goroutine at a time.
type Stamper struct {
	vector  unix.Iovec
	message unix.Msghdr
	note    struct {
		unix.Cmsghdr
		at unix.Timespec
		_  [32]byte // for what else there may be
	}
}

// Receive reads from a socket into b, or drops up to n of its bytes where flags
// have MSG_TRUNC. It also returns when the last of them arrived, as Unix time; 0:
// the kernel has not noted it.
func (s *Stamper) Receive(fd int, b []byte, n int, flags uintptr) (int, time.Duration, unix.Errno) {
	s.vector.Base = unsafe.SliceData(b)
	s.vector.SetLen(n)
	s.message.Iov, s.message.Iovlen = &s.vector, 1
	s.message.Control = (*byte)(unsafe.Pointer(&s.note))
	s.message.SetControllen(int(unsafe.Sizeof(s.note)))
	s.note.Level = 0
	read, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.message)), flags)
	if errno != 0 {
		return 0, 0, errno
	}
	if s.note.Level != unix.SOL_SOCKET || s.note.Type != unix.SO_TIMESTAMPNS {
		return int(read), 0, 0
	}
	return int(read), time.Duration(s.note.at.Nano()), 0
}

// Sleep waits until a time of CLOCK_MONOTONIC, without telling Go's scheduler, or
// until a signal interrupts it.
func Sleep(until time.Duration) {
	at := unix.NsecToTimespec(int64(until))
	unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&at)), 0, 0, 0)
}

// Punctual has sleeps of this thread end on time, or by default up to 50 µs later;
// PR_SET_TIMERSLACK(2const).
func Punctual(yes bool) error {
	slack := uintptr(0) // as it was when the thread began
	if yes {
		slack = 1
	}
	return unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0)
}
