package loop

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"contend/internal/epoll"
)

// timerEvent is what events of the timer name instead of a connection.
const timerEvent = epoll.Woken - 1

// never is the time of a timer that is not set.
const never = time.Duration(math.MaxInt64)

// A poller waits for sockets, for a time and for a call of Wake.
type poller struct {
	epoll.Poller
	timer int
	zero  time.Duration // CLOCK_MONOTONIC at the start of the run
	armed time.Duration // what the timer is set to, or never
}

func (p *poller) open() error {
	if err := p.Open(); err != nil {
		return fmt.Errorf("event loop: %w", err)
	}
	var err error
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err == nil {
		err = p.Watch(p.timer, timerEvent, 0, unix.EPOLLIN)
	}
	if err != nil {
		p.close()
		return fmt.Errorf("event loop: timerfd: %w", err)
	}
	return nil
}

func (p *poller) close() {
	p.Close()
	if p.timer > 0 {
		unix.Close(p.timer)
	}
}

// start begins a run whose clock shows elapsed.
func (p *poller) start(elapsed time.Duration) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("event loop: %w", err)
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
		return fmt.Errorf("event loop: timerfd_settime: %w", errno)
	}
	return nil
}

// connect and shut do not wait, so Go's scheduler is not told. Their errors are
// not wrapped: EAGAIN is not a failure.

func connect(fd int, sockaddr []byte) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(sockaddr))), uintptr(len(sockaddr)))
	return errno
}

func shut(fd int) { unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }
