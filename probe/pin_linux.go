package probe

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

// CPUs returns those that this thread may use, in ascending order.
func CPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var cpus []int
	for cpu := range len(set) * bits.UintSize {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
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
