package perf

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readEvery is the time between two rounds of reading: 10 samples of 5 kB with the longest
// chains, a fifth of a ring.
const readEvery = 10 * time.Millisecond

// A Sampler is open, and takes no samples until Start. One goroutine at a time may use
// it, on any thread.
type Sampler struct {
	list    func() ([]int, error)
	rings   []ring
	groups  []group           // of events for each CPU, for each thread that they were opened on
	hz      int               // samples per second of CPU time
	missing *UnavailableError // of the kernel
	began   time.Time         // to take samples
	stop    chan struct{}     // ends the goroutine that reads; nil: none does
	read    chan *reader      // it, at its end
}

func openSampler(list func() ([]int, error), hz int) (*Sampler, error) {
	s := &Sampler{list: list, hz: hz}
	err := s.openRings()
	if err == nil {
		s.groups, err = s.attach(hz)
	}
	if err != nil {
		_ = closeRings(s.rings)
		return nil, err
	}
	return s, nil
}

// attach opens events on all threads, which take so many samples per second.
func (s *Sampler) attach(hz int) ([]group, error) {
	return attach(s.list, func(thread int) (group, error) { return s.openGroup(thread, hz) })
}

// openRings opens the rings, for events without the kernel's part where that is refused.
func (s *Sampler) openRings() error {
	cpus, err := onlineCPUs()
	if err != nil {
		return fmt.Errorf("perf: CPUs: %w", err)
	}
	s.rings, err = openRings(cpus, true)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		errors.As(refused(KernelTime, unix.Gettid(), false, err), &s.missing)
		s.rings, err = openRings(cpus, false)
	}
	var unavailable *UnavailableError
	if err != nil && !errors.As(err, &unavailable) {
		return s.refused(unix.Gettid(), err)
	}
	return err
}

// openGroup opens events on a thread, one for each CPU, which write into its ring.
func (s *Sampler) openGroup(thread, hz int) (g group, err error) {
	defer func() {
		if err != nil {
			_ = g.close()
			g = nil
		}
	}()
	attr := softwareEvent(unix.PERF_COUNT_SW_CPU_CLOCK, s.missing == nil)
	attr.Sample, attr.Sample_type, attr.Sample_regs_user, attr.Sample_stack_user = uint64(hz), sampleType, userRegisters, stackSize
	attr.Bits |= unix.PerfBitInherit | unix.PerfBitFreq | unix.PerfBitSampleIDAll |
		unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask
	for _, r := range s.rings {
		fd, err := openEvent(&attr, thread, r.cpu, -1)
		if err != nil {
			return g, s.refused(thread, err)
		}
		g = append(g, fd)
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fd); err != nil {
			return g, fmt.Errorf("perf: output of thread %d on CPU %d: %w", thread, r.cpu, err)
		}
	}
	return g, nil
}

// softwareEvent is what rings and the events that write into them have in common: to be
// of one clock is a condition.
func softwareEvent(which uint64, kernel bool) unix.PerfEventAttr {
	attr := unix.PerfEventAttr{
		Type:    unix.PERF_TYPE_SOFTWARE,
		Size:    uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:  which,
		Bits:    unix.PerfBitDisabled | unix.PerfBitUseClockID,
		Clockid: unix.CLOCK_MONOTONIC,
	}
	if !kernel {
		attr.Bits |= notInKernel
	}
	return attr
}

// Often has samples taken at 3999 Hz from the next Start on, of the threads that are listed now and
// of all that these start after the call. After an error all is as before.
//
// It opens other events: a new period would reach those that are open, not the copies that threads
// have inherited since (_perf_event_period in Linux' kernel/events/core.c), whose samples would
// each stand for four times the time that they are taken for.
func (s *Sampler) Often() error {
	switch {
	case s.groups == nil:
		return fmt.Errorf("perf: sampler: %w", os.ErrClosed)
	case s.stop != nil:
		return errors.New("perf: samples are being taken already")
	}
	groups, err := s.attach(often)
	if err != nil {
		return err
	}
	closeAll(s.groups)
	s.groups, s.hz = groups, often
	return nil
}

// Start begins to take samples, thread after thread, some microseconds each, and half a
// millisecond more.
func (s *Sampler) Start() error {
	if s.stop != nil {
		return errors.New("perf: samples are being taken already")
	}
	for _, r := range s.rings {
		r.take() // what is older
	}
	s.began = time.Now()
	if err := s.each(unix.PERF_EVENT_IOC_ENABLE); err != nil {
		return err
	}
	s.stop, s.read = make(chan struct{}), make(chan *reader)
	r := &reader{rings: s.rings, tally: newTally(look)}
	go func(stop <-chan struct{}, read chan<- *reader) {
		r.run(stop)
		read <- r
	}(s.stop, s.read)
	return nil
}

// Stop ends the sampling as Start begins it, and returns the samples since then. The
// sampler may be started again.
func (s *Sampler) Stop() (*Samples, error) {
	if err := s.each(unix.PERF_EVENT_IOC_DISABLE); err != nil {
		return nil, err
	}
	r := s.end()
	if r == nil {
		return nil, errors.New("perf: no samples are being taken")
	}
	if r.err != nil {
		return nil, fmt.Errorf("perf: samples: %w", r.err)
	}
	samples := r.tally.result()
	samples.Began, samples.Period, samples.KernelMissing = s.began, time.Second/time.Duration(s.hz), s.missing
	return samples, nil
}

// Close closes the sampler, and ends the sampling. One that is closed can be closed again,
// and not be started.
func (s *Sampler) Close() (err error) {
	s.end()
	for _, g := range s.groups {
		err = cmp.Or(err, g.close())
	}
	err = cmp.Or(err, closeRings(s.rings))
	s.groups, s.rings = nil, nil
	return err
}

// each does something to all events.
func (s *Sampler) each(request uint) error {
	if s.groups == nil {
		return fmt.Errorf("perf: sampler: %w", os.ErrClosed)
	}
	return settle(func() error {
		for _, g := range s.groups {
			for _, fd := range g {
				if err := unix.IoctlSetInt(fd, request, 0); err != nil {
					return fmt.Errorf("perf: sampler: %w", err)
				}
			}
		}
		return nil
	})
}

// end ends the goroutine that reads, after a last round, and returns what it read; nil if
// it does not run.
func (s *Sampler) end() *reader {
	if s.stop == nil {
		return nil
	}
	close(s.stop)
	r := <-s.read
	s.stop = nil
	return r
}

// A reader brings the records of all CPUs into the order of their times.
type reader struct {
	rings   []ring
	tally   *tally
	waiting []record
	last    uint64 // when the last round began
	err     error
}

// run reads until stop is closed.
func (r *reader) run(stop <-chan struct{}) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			begin := now()
			r.round(r.last)
			r.last = begin
		case <-stop:
			r.round(math.MaxUint64)
			return
		}
	}
}

// round reads all rings and adds what happened until a time. A record that was written in
// one ring before a round began may only be found in the next one, while a later record
// of another ring is there: so records younger than the last round wait.
func (r *reader) round(until uint64) {
	for _, ring := range r.rings {
		found, err := records(ring.take())
		r.err = cmp.Or(r.err, err)
		r.waiting = append(r.waiting, found...)
	}
	slices.SortStableFunc(r.waiting, func(a, b record) int { return cmp.Compare(a.time, b.time) })
	ready := 0
	for ready < len(r.waiting) && r.waiting[ready].time < until {
		r.tally.add(r.waiting[ready])
		ready++
	}
	r.waiting = slices.Delete(r.waiting, 0, ready)
}

// look returns the mappings of a process, and a time at which it had them.
func look(pid int) ([]Map, uint64) {
	maps := Executable(pid)
	return maps, now()
}

// now is the time of records.
func now() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails for unknown clocks only
	return uint64(t.Nano())
}
