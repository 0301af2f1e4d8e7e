package subject

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/sys/unix"
)

// onCPUs runs start, from which a new process inherits the CPUs that it and all
// its threads and children may use. The caller's goroutine is locked to its
// thread, which gets its own CPUs back. No CPUs: start as it is.
func onCPUs(cpus []int, start func() error) error {
	if len(cpus) == 0 {
		return start()
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("cpus: %w", err)
	}
	defer unix.SchedSetaffinity(0, &before) // cannot fail: we were there
	possible, err := possibleCPUs()
	if err != nil {
		return fmt.Errorf("cpus: %w", err)
	}
	var wanted unix.CPUSet
	var unknown []int
	for _, cpu := range cpus {
		if !slices.Contains(possible, cpu) {
			unknown = append(unknown, cpu)
			continue
		}
		wanted.Set(cpu)
	}
	if unknown != nil {
		return fmt.Errorf("cpus: %v of %v cannot be used here, possible are %v", unknown, cpus, possible)
	}
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("cpus %v: %w", cpus, err)
	}
	return start()
}

// possibleCPUs moves this thread to every CPU that the kernel lets it have, which
// may be more than it was on, and returns them.
func possibleCPUs() ([]int, error) {
	var all unix.CPUSet
	for cpu := range len(all) * bits.UintSize {
		all.Set(cpu)
	}
	err := errors.Join(unix.SchedSetaffinity(0, &all), unix.SchedGetaffinity(0, &all))
	var cpus []int
	for cpu := range len(all) * bits.UintSize {
		if all.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, err
}
