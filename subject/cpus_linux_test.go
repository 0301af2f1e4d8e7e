package subject

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"contend/internal/testenv"
)

// usableCPUs returns at most eight CPUs that this program may use.
func usableCPUs(t *testing.T) (cpus []int) {
	t.Helper()
	var set unix.CPUSet
	testenv.Must(t, unix.SchedGetaffinity(0, &set))
	for cpu := 0; len(cpus) < min(set.Count(), 8); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

func TestCPUs(t *testing.T) {
	var before, after unix.CPUSet
	testenv.Must(t, unix.SchedGetaffinity(0, &before))
	for _, cpu := range usableCPUs(t) {
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
	usable := usableCPUs(t)[0]
	cfg.CPUs = []int{-1, usable, 5000}
	_, err := Start(t.Context(), cfg)
	testenv.Says(t, err, fmt.Sprintf("cpus: [-1 5000] of [-1 %d 5000] cannot be used here, possible are [", usable))
}

// What a subject waits for CPUs does not count against its time to start: here four loops of its own
// share one CPU, so that they wait three quarters of the time.
func TestStartCountsNoWaitForCPUs(t *testing.T) {
	t.Parallel()
	cfg := role("serve", "{{addr}}")
	late := "for _ in 1 2 3 4; do while :; do :; done & done; sleep 1.5; exec \"$0\" \"$@\""
	cfg.Command = append([]string{"/bin/sh", "-c", late}, cfg.Command...)
	cfg.CPUs, cfg.StartTimeout = usableCPUs(t)[:1], time.Second
	started(t, cfg)
	cfg.Command[2] = strings.NewReplacer("while :; do :; done", "sleep 600", "sleep 1.5", "sleep 600").Replace(late)
	_, err := Start(t.Context(), cfg)
	testenv.Says(t, err, "not ready after 1s", "nobody listens")
}
