package static

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A poller waits for descriptors and for a call of wake. Only wake may be called
// by other threads.
type poller struct {
	epoll, event int
	events       [256]unix.EpollEvent
}

func (p *poller) open() (err error) {
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("static: epoll_create1: %w", err)
	}
	if p.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err == nil {
		err = p.watch(p.event)
	}
	if err != nil {
		p.close()
		return fmt.Errorf("static: eventfd: %w", err)
	}
	return nil
}

func (p *poller) close() {
	unix.Close(p.epoll)
	if p.event > 0 {
		unix.Close(p.event)
	}
}

// watch adds a descriptor, edge-triggered. Closing it removes it.
func (p *poller) watch(fd int) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff, Fd: int32(fd)}
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &e)
}

// wait returns how many events there are.
func (p *poller) wait(atMost time.Duration) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events)),
		uintptr(len(p.events)), uintptr(atMost.Milliseconds()), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("static: epoll_pwait: %w", errno)
}

// wake makes wait return.
func (p *poller) wake() {
	one := [8]byte{1, 1, 1, 1, 1, 1, 1, 1} // a number other than 0 in either byte order
	unix.Write(p.event, one[:])
}

func (p *poller) woken() {
	var count [8]byte
	unix.Read(p.event, count[:])
}

// What follows does not wait, so Go's scheduler is not told.

func receive(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	return count(n, errno)
}

func send(fd int, b []byte, flags uintptr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL|flags, 0, 0)
	return count(n, errno)
}

// sendfile sends up to n bytes of a file from off on, which it moves.
func sendfile(to, from int, off *int64, n int64) (int, unix.Errno) {
	sent, _, errno := unix.RawSyscall6(unix.SYS_SENDFILE, uintptr(to), uintptr(from),
		uintptr(unsafe.Pointer(off)), uintptr(n), 0, 0)
	return count(sent, errno)
}

func count(n uintptr, errno unix.Errno) (int, unix.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
