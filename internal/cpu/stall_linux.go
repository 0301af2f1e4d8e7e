package cpu

import (
	"encoding/binary"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// The stall meter's sleeps. With the long one it costs about 0.3% of a core
// (0.09 ms a turn on a virtual machine). After a stall it looks more often for a
// while, because whatever stops a process in a regular way (a CPU limit, a
// debugger, a crowded hypervisor) does so many times a second.
const (
	coarseSleep   = 40 * time.Millisecond
	fineSleep     = time.Millisecond
	fineFor       = 50               // sleeps after a stall
	stallTolerate = time.Millisecond // a late timer is not a stall
)

// A StallMeter adds up the time in which this process could run on no core at
// all: it was stopped, frozen, or its virtual machine was. A thread of its own
// sleeps and sees how much later than asked it wakes. The part of that during
// which the thread waited for a core is not a stall (schedstat has it), but if
// more than that is missing there was one. It began somewhere within the sleep,
// so half of it is added; and it is no longer than the time in which the process
// neither ran nor, as far as one event loop shows, waited for a core.
type StallMeter struct {
	parallel float64 // threads that can run at the same time
	thread   int     // of an event loop; 0: none
	wake     int     // an eventfd that ends the sleep
	done     chan struct{}
	stalled  time.Duration // read when done is closed
}

// StartStallMeter starts a meter for a process of so many threads that can run at
// the same time, among them those of event loops. It returns nil where there is
// nothing to measure with, and in the fake time of a test.
func StartStallMeter(parallel int, loops []int) *StallMeter {
	if fakeClock() {
		return nil
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil
	}
	m := &StallMeter{parallel: float64(parallel), wake: wake, done: make(chan struct{})}
	if len(loops) > 0 {
		m.thread = loops[0]
	}
	go m.run()
	return m
}

// fakeClock reports whether time.Now is not the system's clock, as in a
// testing/synctest bubble, where a thread that sleeps in earnest would keep the
// time from moving.
func fakeClock() bool {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_REALTIME, &now)
	return err != nil || time.Since(time.Unix(now.Unix())).Abs() > time.Hour
}

// Stop ends the meter and returns what it saw.
func (m *StallMeter) Stop() time.Duration {
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

func (m *StallMeter) run() {
	defer close(m.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, loop := openSchedstat(unix.Gettid()), openSchedstat(m.thread)
	defer unix.Close(own)
	defer unix.Close(loop)
	before, fine := takeMark(own, loop), 0
	for ended := false; !ended; {
		sleep := coarseSleep
		if fine > 0 {
			sleep, fine = fineSleep, fine-1
		}
		ended = m.sleep(sleep)
		now := takeMark(own, loop)
		if lost := m.lost(sleep, now.since(before)); lost > 0 {
			m.stalled += lost
			fine = fineFor
		}
		before = now
	}
}

// sleep returns true when the meter is to end.
func (m *StallMeter) sleep(d time.Duration) (ended bool) {
	timeout := unix.NsecToTimespec(int64(d))
	n, _ := unix.Ppoll([]unix.PollFd{{Fd: int32(m.wake), Events: unix.POLLIN}}, &timeout, nil)
	return n > 0
}

// mark is a moment of the meter or, as a difference, a stretch of time.
type mark struct {
	at     time.Time
	gap    time.Duration // since the mark before
	cpu    time.Duration // of the process
	waited time.Duration // for a core, the meter's thread
	loop   time.Duration // for a core, the event loop's
}

func takeMark(own, loop int) mark {
	m := mark{at: time.Now(), waited: readSchedstat(own), loop: readSchedstat(loop)}
	m.cpu, _ = Time()
	return m
}

func (m mark) since(before mark) mark {
	return mark{gap: m.at.Sub(before.at), cpu: m.cpu - before.cpu,
		waited: max(0, m.waited-before.waited), loop: max(0, m.loop-before.loop)}
}

// lost returns how much of a stretch with a sleep was a stall.
func (m *StallMeter) lost(sleep time.Duration, seen mark) time.Duration {
	late := seen.gap - sleep
	if late-seen.waited <= stallTolerate {
		return 0
	}
	unused := seen.gap - time.Duration(float64(seen.cpu)/m.parallel) - seen.loop
	return max(0, min(late+sleep/2, unused))
}
