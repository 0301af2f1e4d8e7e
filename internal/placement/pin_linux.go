package placement

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pin holds every thread of this process, and so those that it will
// start, to the CPUs.
func pin(cpus []int) (undo func(), err error) {
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, err
	}
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	undo = func() { pinThreads(&before) }
	if err := pinThreads(&set); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// pinThreads pins until it finds no thread to pin: a thread that is not pinned
// yet may start another.
func pinThreads(set *unix.CPUSet) error {
	for range 100 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		changed := false
		for _, thread := range threads {
			tid, _ := strconv.Atoi(thread.Name())
			var now unix.CPUSet
			if unix.SchedGetaffinity(tid, &now) != nil || now == *set {
				continue // it has ended, or is pinned
			}
			if err := unix.SchedSetaffinity(tid, set); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			changed = true
		}
		if !changed {
			return nil
		}
	}
	return errors.New("new threads keep appearing")
}
