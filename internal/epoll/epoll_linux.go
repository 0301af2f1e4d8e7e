package epoll

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Woken is the Fd of the event that a call of Wake causes.
const Woken int32 = -1

// A Poller waits for sockets and for a call of Wake, which alone other threads may
// call. It is used after Open.
type Poller struct {
	Events    [256]unix.EpollEvent // of the last wait
	fd, event int
}

// Open makes the poller.
func (p *Poller) Open() error {
	var err1, err2, err3 error
	p.fd, err1 = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	p.event, err2 = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err1 == nil && err2 == nil {
		err3 = p.Watch(p.event, Woken, 0, unix.EPOLLIN)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		p.Close()
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// Close releases what Open made, also where that failed.
func (p *Poller) Close() {
	for _, fd := range []int{p.fd, p.event} {
		if fd > 0 {
			unix.Close(fd)
		}
	}
}

// Watch adds a descriptor, edge-triggered; its events carry id as Fd and generation
// as Pad. Closing the descriptor removes it.
func (p *Poller) Watch(fd int, id, generation int32, events uint32) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, id, generation, events)
}

// Rewatch changes the events of a descriptor.
func (p *Poller) Rewatch(fd int, id, generation int32, events uint32) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, id, generation, events)
}

func (p *Poller) control(operation, fd int, id, generation int32, events uint32) error {
	event := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: id, Pad: generation}
	return unix.EpollCtl(p.fd, operation, fd, &event)
}

// Poll waits up to ms milliseconds for the first event and returns how many
// there are. It does not tell Go's scheduler, which costs more than a short wait
// is worth. The stop of the world for a garbage collection interrupts it by a
// signal.
func (p *Poller) Poll(ms uintptr) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd),
		uintptr(unsafe.Pointer(&p.Events)), uintptr(len(p.Events)), ms, 0, 0)
	return waited(n, errno)
}

// Forever is the time for Wait that has no end.
const Forever = ^uintptr(0)

// Wait is Poll for longer waits: it tells Go's scheduler.
func (p *Poller) Wait(ms uintptr) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd),
		uintptr(unsafe.Pointer(&p.Events)), uintptr(len(p.Events)), ms, 0, 0)
	return waited(n, errno)
}

func waited(n uintptr, errno unix.Errno) (int, error) {
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("epoll: epoll_pwait: %w", errno)
}

// Wake makes Poll and Wait return an event Woken once. Rest allows the next.
func (p *Poller) Wake() {
	one := [8]byte{1, 1, 1, 1, 1, 1, 1, 1} // a number other than 0 in either byte order
	unix.Write(p.event, one[:])
}

// Rest forgets the calls of Wake so far.
func (p *Poller) Rest() {
	var count [8]byte
	unix.Read(p.event, count[:])
}

// Send and Receive do not wait, so Go's scheduler is not told. Their errors are not
// wrapped: EAGAIN is not a failure.

// Send writes to a socket, with MSG_NOSIGNAL and further flags.
func Send(fd int, b []byte, flags uintptr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL|flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// Receive reads from a socket; 0 bytes are its end.
func Receive(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
