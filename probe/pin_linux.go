package probe

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

// allowed returns the CPUs that this thread may use, in ascending order.
func allowed() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var cpus []int
	for cpu := range len(set) * bits.UintSize {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// pin moves this thread to the CPU, where that is not negative and may be used,
// and returns the way back.
func pin(cpu int) (restore func() error) {
	var before, one unix.CPUSet
	one.Set(max(cpu, 0))
	if cpu < 0 || unix.SchedGetaffinity(0, &before) != nil || unix.SchedSetaffinity(0, &one) != nil {
		return func() error { return nil }
	}
	return func() error { return unix.SchedSetaffinity(0, &before) }
}
