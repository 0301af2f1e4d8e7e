// Package cpu says what this process and the machine used of the processors, what
// they waited for, and what they may use.
package cpu

import "time"

// Spent is what was used up to a moment: only differences mean something.
type Spent struct {
	Process time.Duration // user and system time of this process
	Known   bool          // whether the system tells Process
	Machine time.Duration // of all cores of the machine, all but idle time
	Cores   int           // of the machine; 0: not known
	Waited  time.Duration // for a core, this process's threads
}

// Read reads what was spent up to now; threads are those whose waits count, none
// for all of the process.
func Read(threads []int) Spent {
	var s Spent
	s.Process, s.Known = Time()
	s.Waited = waitedForCores(threads)
	s.Machine, s.Cores = machineTime()
	return s
}

// Since returns what was spent since an earlier reading.
func (s Spent) Since(earlier Spent) Spent {
	return Spent{
		Process: s.Process - earlier.Process, Known: s.Known && earlier.Known,
		Machine: max(0, s.Machine-earlier.Machine), Cores: s.Cores,
		Waited: max(0, s.Waited-earlier.Waited),
	}
}
