package load

import (
	"os"
	"testing"
	"testing/fstest"
	"time"
)

// Ticks of 10 ms: user 100 + nice 1 + system 50 + irq 2 + softirq 3 + steal 4 =
// 160; idle 900, iowait 40 and guest 7, which is part of user, do not count.
func TestBusyTime(t *testing.T) {
	const two = "cpu  100 1 50 900 40 2 3 4 7 0\ncpu0 50 1 25 450 20 1 2 2 7 0\ncpu1 50 0 25 450 20 1 1 2 0 0\nintr 5 1\n"
	if busy, cores := busyTime([]byte(two)); busy != 1600*time.Millisecond || cores != 2 {
		t.Errorf("%v on %d cores, want 1.6 s on 2", busy, cores)
	}
	for _, text := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu  a b c d e f g h"} {
		if busy, cores := busyTime([]byte(text)); busy != 0 || cores != 0 {
			t.Errorf("%q: %v on %d cores", text, busy, cores)
		}
	}
	if busy, cores := machineTime(); busy <= 0 || cores < 1 {
		t.Errorf("this machine: %v on %d cores", busy, cores)
	}
}

func TestGroupLimit(t *testing.T) {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	tests := []struct {
		name string
		root fstest.MapFS
		want float64
	}{
		{"nothing is known", fstest.MapFS{}, 0},
		{"version 2", fstest.MapFS{"proc/self/cgroup": text("0::/a/b\n"), "sys/fs/cgroup/a/b/cpu.max": text("50000 100000\n")}, 0.5},
		{"version 2, none", fstest.MapFS{"proc/self/cgroup": text("0::/a\n"), "sys/fs/cgroup/a/cpu.max": text("max 100000\n")}, 0},
		{"the group above has less", fstest.MapFS{"proc/self/cgroup": text("0::/a/b\n"),
			"sys/fs/cgroup/a/b/cpu.max": text("200000 100000\n"), "sys/fs/cgroup/a/cpu.max": text("150000 100000\n")}, 1.5},
		{"version 1", fstest.MapFS{"proc/self/cgroup": text("3:memory:/m\n1:cpu,cpuacct:/x\n"),
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us":  text("30000\n"),
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": text("100000\n")}, 0.3},
		{"version 1, none", fstest.MapFS{"proc/self/cgroup": text("1:cpu:/x\n"),
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": text("-1\n"), "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": text("100000\n")}, 0},
		{"other controllers", fstest.MapFS{"proc/self/cgroup": text("2:cpuset:/x\n"),
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": text("30000\n")}, 0},
		{"nonsense", fstest.MapFS{"proc/self/cgroup": text("0\n::\n0::/../..\n"), "sys/fs/cgroup/cpu.max": text("x y")}, 0},
	}
	for _, tt := range tests {
		if got := groupLimit(tt.root); got != tt.want {
			t.Errorf("%s: %v cores, want %v", tt.name, got, tt.want)
		}
	}
}

func TestWaitedForCores(t *testing.T) {
	all := waitedForCores(nil)
	if one := waitedForCores([]int{os.Getpid()}); one < 0 || all <= 0 {
		t.Errorf("the first thread waited %v, all %v", one, all)
	}
	if none := waitedForCores([]int{1 << 22}); none != 0 { // pid_max is at most 2^22
		t.Errorf("nobody waited %v", none)
	}
}
