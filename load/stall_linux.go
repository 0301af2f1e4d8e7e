package load

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// The stall meter's sleeps. One that wakes 100 times a second costs about a
// quarter of a per cent of a core. After a stall it looks more often for a
// while, because whatever stops a process in a regular way (a CPU limit, a
// debugger, a crowded hypervisor) does so many times a second.
const (
	coarseSleep   = 10 * time.Millisecond
	fineSleep     = time.Millisecond
	fineFor       = 50               // sleeps after a stall
	stallTolerate = time.Millisecond // a late timer is no stall
)

// A stallMeter adds up the time in which this process could run on no core at
// all: it was stopped, frozen, or its virtual machine was. A thread of its own
// sleeps and sees how much later than asked it wakes. Of that
//
//   - the time that it waited for a core is not counted: it is known to the
//     kernel (schedstat) and part of spent.waited;
//   - nor is the time in which the process ran, as it does when Go's
//     scheduler had no turn for this thread: elapsed time − CPU ÷ parallel is
//     all that can be a stall;
//   - half a sleep is added, because the stall began somewhere within it.
type stallMeter struct {
	parallel float64 // threads that can run at the same time
	wake     int     // an eventfd that ends the sleep
	done     chan struct{}
	stalled  time.Duration // read when done is closed
}

// startStallMeter starts a meter. It returns nil where there is nothing to measure
// with, and in the fake time of a test.
func startStallMeter(parallel int) *stallMeter {
	if fakeClock() {
		return nil
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil
	}
	m := &stallMeter{parallel: float64(parallel), wake: wake, done: make(chan struct{})}
	go m.run()
	return m
}

// fakeClock says whether time.Now is not the system's clock, as in a
// testing/synctest bubble, where a thread that sleeps in earnest would keep the
// time from moving.
func fakeClock() bool {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_REALTIME, &now)
	return err != nil || time.Since(time.Unix(now.Unix())).Abs() > time.Hour
}

// stop ends the meter and returns what it saw.
func (m *stallMeter) stop() time.Duration {
	if m == nil {
		return 0
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(m.wake, one[:]) // cannot fail: the counter is 0
	<-m.done
	unix.Close(m.wake)
	return m.stalled
}

// mark is a moment before a sleep.
type mark struct {
	at          time.Time
	cpu, waited time.Duration
}

func (m *stallMeter) run() {
	defer close(m.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open(fmt.Sprintf("/proc/self/task/%d/schedstat", unix.Gettid()))
	if err == nil {
		defer own.Close()
	}
	before, fine := takeMark(own), 0
	for ended := false; !ended; {
		sleep := coarseSleep
		if fine > 0 {
			sleep, fine = fineSleep, fine-1
		}
		ended = m.sleep(sleep)
		now := takeMark(own)
		if lost := m.lost(sleep, before, now); lost > 0 {
			m.stalled += lost
			fine = fineFor
		}
		before = now
	}
}

// sleep returns true when the meter is to end.
func (m *stallMeter) sleep(d time.Duration) (ended bool) {
	timeout := unix.NsecToTimespec(int64(d))
	n, _ := unix.Ppoll([]unix.PollFd{{Fd: int32(m.wake), Events: unix.POLLIN}}, &timeout, nil)
	return n > 0
}

func takeMark(own *os.File) mark {
	m := mark{at: time.Now()}
	m.cpu, _ = cpuTime()
	if own != nil {
		m.waited = readSchedstat(own)
	}
	return m
}

// lost returns how much of the time between two marks was a stall.
func (m *stallMeter) lost(sleep time.Duration, before, now mark) time.Duration {
	gap := now.at.Sub(before.at)
	late := gap - sleep
	if late <= stallTolerate {
		return 0
	}
	unused := gap - time.Duration(float64(now.cpu-before.cpu)/m.parallel)
	lost := min(late+sleep/2, unused) - (now.waited - before.waited)
	if lost <= stallTolerate {
		return 0
	}
	return lost
}
