package trial

import (
	"time"

	"contend/internal/cpu"
	"contend/internal/perf"
	"contend/load"
	"contend/subject"
)

// itself samples this process, in which a load.LocalTarget does its work.
type itself struct{ began time.Time }

// Sample is what this process used; memory, threads and CPUs are not in it.
func (i itself) Sample() (subject.Sample, error) {
	s := cpu.Read(nil)
	return subject.Sample{Elapsed: time.Since(i.began), CPU: s.Process, Waited: s.Waited,
		Activity: perf.Activity{VoluntarySwitches: s.Waits, InvoluntarySwitches: s.Preemptions, MinorFaults: s.MinorFaults, MajorFaults: s.MajorFaults}}, nil
}

// Clocks is Sample.
func (i itself) Clocks() (subject.Sample, error) { return i.Sample() }

// Blocked sees nothing: in which system calls a Go program's threads wait is chance.
func (itself) Blocked() []subject.Blocked { return nil }

// isLocal reports whether the arm's work is done in this process.
func (l *Live) isLocal() bool {
	_, local := l.Target.(load.LocalTarget)
	return local
}

// sampled is what the arm's processes are sampled by, this one of a target that is in it; nil: they
// are not known.
func (l *Live) sampled() Sampler {
	if server := l.server(); server != nil || !l.isLocal() {
		return server
	}
	return itself{time.Now()}
}

// usage is what the processes used in a window, nil where that is not known.
func (l *Live) usage(c Cell) *load.Usage {
	if l.server() == nil && l.isLocal() {
		return &load.Usage{CPUSec: c.GeneratorCPUSec, WaitedSec: c.GeneratorWaitedSec}
	}
	return c.Server
}
