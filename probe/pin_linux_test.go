package probe

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// affinities returns that of every thread of this process.
func affinities(t *testing.T) map[int]unix.CPUSet {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]unix.CPUSet{}
	for _, entry := range entries {
		tid, _ := strconv.Atoi(entry.Name())
		var set unix.CPUSet
		if unix.SchedGetaffinity(tid, &set) == nil { // else it has just ended
			found[tid] = set
		}
	}
	return found
}

func TestThreadsAreFreeAfterwards(t *testing.T) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		Take()
		for tid, set := range affinities(t) {
			if set != before {
				t.Errorf("thread %d is on %d CPUs, want %d", tid, set.Count(), before.Count())
			}
		}
	}
}

func TestThreadsRunWhereTheyWerePinned(t *testing.T) {
	cpus := usable(t)
	here, there := cpus[0], cpus[len(cpus)-1]
	var seen [2][]int
	cpuPair{here, there}.run(func() { seen[0] = usable(t) }, func() { seen[1] = usable(t) })
	if !slices.Equal(seen[0], []int{here}) || !slices.Equal(seen[1], []int{there}) {
		t.Errorf("on %v, want %d and %d", seen, here, there)
	}
}

func TestTakeOnOneCPU(t *testing.T) {
	cpu := usable(t)[0]
	eventually(t, func() Sample { return TakeOn([]int{cpu}) }, func(s Sample) bool {
		if s.RoundTrip != 0 {
			t.Fatalf("a round trip within one CPU: %+v", s)
		}
		return s.Loop > 0 && (s.Wakeup > 0 || runtime.GOMAXPROCS(0) == 1)
	})
}

func usable(t *testing.T) []int {
	cpus, err := CPUs()
	if err != nil {
		t.Error(err)
	}
	return cpus
}
