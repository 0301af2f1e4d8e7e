package pace

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timerFD waits by a timerfd that the network poller watches: the poller's
// own timeouts are whole milliseconds, but it wakes at once for a descriptor.
type timerFD struct {
	fd   int
	file *os.File // of fd
	buf  [8]byte
	stop func() bool
}

func newPreciseWaiter(ctx context.Context) (Waiter, Timer) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newRuntimeWaiter(ctx), Runtime
	}
	t := &timerFD{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
	t.stop = context.AfterFunc(ctx, func() { t.file.SetReadDeadline(time.Unix(1, 0)) })
	return t, Precise
}

func (t *timerFD) Wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(t.fd, 0, &spec, nil); err != nil {
		return false
	}
	_, err := t.file.Read(t.buf[:])
	return err == nil
}

func (t *timerFD) Close() {
	t.stop()
	t.file.Close()
}
