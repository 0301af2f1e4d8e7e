package cpu

import (
	"testing"
	"testing/fstest"
)

func TestLimit(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  float64 // 0: none
	}{
		{"nothing is known", nil, 0},
		{"version 2: 50 ms of every 100 ms", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n"}, 0.5},
		{"version 2, none", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, 0},
		{"the group above has less", map[string]string{"proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "200000 100000\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 1.5},
		{"the group above has more", map[string]string{"proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "50000 100000\n", "sys/fs/cgroup/a/cpu.max": "400000 100000\n"}, 0.5},
		{"version 2, inside a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 50000\n"}, 2},
		{"version 2, a path outside of the namespace", map[string]string{"proc/self/cgroup": "0::/../../a\n",
			"sys/fs/cgroup/a/cpu.max": "100000 100000\n"}, 1},
		{"version 1", map[string]string{"proc/self/cgroup": "3:memory:/m\n1:cpu,cpuacct:/x\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us":  "30000\n",
			"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"}, 0.3},
		{"version 1, inside a container, whose group is the root of what it sees", map[string]string{
			"proc/self/cgroup": "1:cpu:/pods/x\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 1.5},
		{"version 1, none", map[string]string{"proc/self/cgroup": "1:cpu:/x\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n"}, 0},
		{"version 1 beside version 2", map[string]string{"proc/self/cgroup": "4:cpu:/x\n0::/a\n",
			"sys/fs/cgroup/a/cpu.max": "100000 100000\n"}, 1},
		{"other controllers", map[string]string{"proc/self/cgroup": "2:cpuset:/x\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "30000\n"}, 0},
		{"nonsense", map[string]string{"proc/self/cgroup": "0\n::\n0::/../..\n", "sys/fs/cgroup/cpu.max": "x y"}, 0},
		{"no period", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000"}, 0},
		{"period zero", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 0"}, 0},
	}
	for _, tt := range tests {
		root := fstest.MapFS{}
		for name, text := range tt.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := Limit(root); got != tt.want {
			t.Errorf("%s: %v cores, want %v", tt.name, got, tt.want)
		}
	}
}
