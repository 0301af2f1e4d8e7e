package subject

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCPUs(t *testing.T) {
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	for cpu := range 8 {
		if !before.IsSet(cpu) {
			continue
		}
		cfg := with(role("where"), Ready{Log: "^told$"})
		cfg.CPUs = []int{cpu}
		lines := strings.Split(strings.TrimSpace(started(t, cfg).stdout.text()), "\n")
		for _, line := range lines[:len(lines)-1] {
			if line != fmt.Sprintf("Cpus_allowed_list:\t%d", cpu) {
				t.Errorf("a thread that should be on CPU %d says %s", cpu, line)
			}
		}
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("this thread is on %d CPUs, want %d: %v", after.Count(), before.Count(), err)
	}
}

func TestCPUsThatCannotBeUsed(t *testing.T) {
	cfg := role("hang")
	cfg.CPUs = []int{-1, 0, 5000}
	_, err := Start(t.Context(), cfg)
	contains(t, err, "cpus: [-1 5000] of [-1 0 5000] cannot be used here, possible are [")
}
