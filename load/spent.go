package load

import "time"

// spent is what was used up to a moment: only differences mean something.
type spent struct {
	cpu      time.Duration // user and system time of this process
	cpuKnown bool
	machine  time.Duration // all cores of the machine, all but idle time
	cores    int           // of the machine; 0: not known
	waited   time.Duration // this process's threads for a core
}

// readSpent reads it all; threads are those whose waits count, none for all of
// the process.
func readSpent(threads []int) spent {
	var s spent
	s.cpu, s.cpuKnown = CPUTime()
	s.waited = waitedForCores(threads)
	s.machine, s.cores = machineTime()
	return s
}

func (s spent) sub(earlier spent) spent {
	return spent{
		cpu: s.cpu - earlier.cpu, cpuKnown: s.cpuKnown && earlier.cpuKnown,
		machine: max(0, s.machine-earlier.machine), cores: s.cores,
		waited: max(0, s.waited-earlier.waited),
	}
}
