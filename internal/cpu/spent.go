// Package cpu measures how much CPU time this process and the machine used, what
// they waited for, and which CPUs they may use.
package cpu

import "time"

// Spent is what was used up to a moment: only differences mean something.
type Spent struct {
	Process time.Duration // user and system time of this process
	Known   bool          // whether the system tells Process
	Machine time.Duration // of all cores of the machine, all but idle time
	Cores   int           // of the machine; 0: not known
	Waited  time.Duration // for a core, this process's threads
	Counts                // of this process
}

// Counts are events that the kernel counts of a process; 0 where it does not tell.
type Counts struct {
	Waits       int64 // a thread gave up its core to wait
	Preemptions int64 // a thread had to give up its core
	MinorFaults int64 // accesses to memory that had to be mapped first
	MajorFaults int64 // those for which a disk had to be read
}

// Read reads what was spent up to now; threads are those whose waits count, none
// for all of the process. In the fake time of a test, in which no core works, that
// is what this process used alone: the rest costs more than most such tests.
func Read(threads []int) Spent {
	var s Spent
	s.Process, s.Counts, s.Known = used()
	if fakeClock() {
		return s
	}
	s.Waited = waitedForCores(threads)
	s.Machine, s.Cores = machineTime()
	return s
}

// Since returns what was spent since an earlier reading.
func (s Spent) Since(earlier Spent) Spent {
	return Spent{
		Process: s.Process - earlier.Process, Known: s.Known && earlier.Known,
		Machine: max(0, s.Machine-earlier.Machine), Cores: s.Cores,
		Waited: max(0, s.Waited-earlier.Waited), Counts: s.Counts.since(earlier.Counts),
	}
}

func (c Counts) since(earlier Counts) Counts {
	return Counts{c.Waits - earlier.Waits, c.Preemptions - earlier.Preemptions, c.MinorFaults - earlier.MinorFaults, c.MajorFaults - earlier.MajorFaults}
}

// Time returns the CPU time, user and system, that this process has used, if the
// system tells.
func Time() (time.Duration, bool) {
	time, _, known := used()
	return time, known
}
