package loop

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What events name instead of a connection.
const (
	timerEvent int32 = -1
	wakeEvent  int32 = -2
)

// never is the time of a timer that is not set.
const never = time.Duration(math.MaxInt64)

// A poller waits for sockets, for a time and for a call of wake. Only wake may
// be called by other threads.
type poller struct {
	epoll, timer, event int
	events              [256]unix.EpollEvent
	zero                time.Duration // CLOCK_MONOTONIC at the start of the run
	armed               time.Duration // what the timer is set to, or never
}

func (p *poller) open() error {
	var err1, err2, err3 error
	p.epoll, err1 = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	p.timer, err2 = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	p.event, err3 = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	err := errors.Join(err1, err2, err3)
	if err == nil {
		err = errors.Join(p.watch(p.timer, timerEvent, 0, unix.EPOLLIN), p.watch(p.event, wakeEvent, 0, unix.EPOLLIN))
	}
	if err != nil {
		p.close()
		return fmt.Errorf("loop: %w", err)
	}
	return nil
}

func (p *poller) close() {
	for _, fd := range []int{p.epoll, p.timer, p.event} {
		if fd > 0 {
			unix.Close(fd)
		}
	}
}

// watch adds a descriptor, edge-triggered. Closing it removes it.
func (p *poller) watch(fd int, id, generation int32, events uint32) error {
	event := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: id, Pad: generation}
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

// rewatch changes the events of a descriptor.
func (p *poller) rewatch(fd int, id, generation int32, events uint32) error {
	event := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: id, Pad: generation}
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_MOD, fd, &event)
}

// start begins a run whose clock shows elapsed.
func (p *poller) start(elapsed time.Duration) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("loop: %w", err)
	}
	p.zero = time.Duration(now.Nano()) - elapsed
	p.armed = never
	return nil
}

// arm sets the timer to an offset from the start of the run, which is sharper
// than epoll's own timeout of whole milliseconds. Setting it takes back an
// event that has not been seen yet, so it never needs to be read.
func (p *poller) arm(at time.Duration) error {
	p.armed = at
	at = min(at, never-p.zero) // centuries: no overflow
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(p.zero+at, 1)))}
	const absolute = unix.TFD_TIMER_ABSTIME
	_, _, errno := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(p.timer), absolute,
		uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("loop: timerfd_settime: %w", errno)
	}
	return nil
}

// poll waits up to ms milliseconds for the first event and returns how many
// there are. It does not tell Go's scheduler, which costs more than a short wait
// is worth. The stop of the world for a garbage collection interrupts it by a
// signal.
func (p *poller) poll(ms uintptr) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll),
		uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events)), ms, 0, 0)
	return waited(n, errno)
}

// block waits for the first event, however long, and tells Go's scheduler.
func (p *poller) block() (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll),
		uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events)), ^uintptr(0), 0, 0)
	return waited(n, errno)
}

func waited(n uintptr, errno unix.Errno) (int, error) {
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("loop: epoll_pwait: %w", errno)
}

// wake makes poll and block return a wakeEvent once. asleep allows the next.
func (p *poller) wake() {
	one := [8]byte{1, 1, 1, 1, 1, 1, 1, 1} // a number other than 0 in either byte order
	unix.Write(p.event, one[:])
}

func (p *poller) asleep() {
	var count [8]byte
	unix.Read(p.event, count[:])
}

// connect, shut, send, receive and discard do not wait, so Go's scheduler is
// not told. Their errors are not wrapped: EAGAIN is none.

func connect(fd int, sockaddr []byte) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(sockaddr))), uintptr(len(sockaddr)))
	return errno
}

func shut(fd int) { unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func send(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

func receive(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// discard drops up to n bytes of a TCP connection without copying them: tcp(7)
// on MSG_TRUNC.
func discard(fd int, n int64) (int64, unix.Errno) {
	dropped, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), 0,
		uintptr(n), unix.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int64(dropped), 0
}
