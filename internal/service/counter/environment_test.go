package counter

import (
	"testing"
	"testing/fstest"
)

func TestCPULimit(t *testing.T) {
	const own = "0::/a/b\n"
	tests := []struct {
		name  string
		files map[string]string
		want  float64 // 0: none
	}{
		{"no control groups", nil, 0},
		{"no limit", map[string]string{"proc/self/cgroup": own,
			"sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, 0},
		// 250000 µs of every 100000 µs
		{"own group", map[string]string{"proc/self/cgroup": own,
			"sys/fs/cgroup/a/b/cpu.max": "250000 100000\n"}, 2.5},
		{"the parent is tighter", map[string]string{"proc/self/cgroup": own,
			"sys/fs/cgroup/a/b/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, 0.5},
		{"the parent is wider", map[string]string{"proc/self/cgroup": own,
			"sys/fs/cgroup/a/b/cpu.max": "50000 100000\n", "sys/fs/cgroup/a/cpu.max": "400000 100000\n"}, 0.5},
		{"inside a container", map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/cpu.max": "100000 50000\n"}, 2},
		{"own group unknown", map[string]string{
			"sys/fs/cgroup/cpu.max": "100000 100000\n"}, 1},
		{"version 1 beside it", map[string]string{"proc/self/cgroup": "4:cpu:/x\n" + own,
			"sys/fs/cgroup/a/b/cpu.max": "100000 100000\n"}, 1},
		{"a path outside the namespace", map[string]string{"proc/self/cgroup": "0::/../../a\n",
			"sys/fs/cgroup/a/cpu.max": "100000 100000\n"}, 1},
		{"unreadable", map[string]string{"sys/fs/cgroup/cpu.max": "x 100000\n"}, 0},
		{"no period", map[string]string{"sys/fs/cgroup/cpu.max": "100000"}, 0},
		{"period zero", map[string]string{"sys/fs/cgroup/cpu.max": "100000 0"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range tt.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			got, ok := CPULimit(root)
			if got != tt.want || ok != (tt.want != 0) {
				t.Errorf("CPULimit = %v, %v; want %v", got, ok, tt.want)
			}
		})
	}
}
