package cpu

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Limit returns the CPU limit of this process's control group, in cores, or 0
// without a limit: the smallest of the group and the groups above it that can be
// seen in a file system with this root, from cpu.max (Linux,
// admin-guide/cgroup-v2.rst), or cpu.cfs_quota_us and cpu.cfs_period_us
// (scheduler/sched-bwc.rst). The runtime sets GOMAXPROCS from the same files.
func Limit(root fs.FS) float64 {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // cgroups(7): number:controllers:path
	limit := 0.0
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for _, mount := range groupMounts(fields[1]) {
			for dir := path.Join(mount, path.Clean("/"+fields[2])); strings.HasPrefix(dir, mount); dir = path.Dir(dir) {
				if cores := limitIn(root, dir); cores > 0 && (limit == 0 || cores < limit) {
					limit = cores
				}
			}
		}
	}
	return limit
}

// groupMounts returns where the controllers of a line of /proc/self/cgroup are
// usually mounted; none if they do not limit the CPU.
func groupMounts(controllers string) []string {
	const base = "sys/fs/cgroup"
	switch {
	case controllers == "":
		return []string{base}
	case strings.Contains(","+controllers+",", ",cpu,"):
		return []string{base + "/" + controllers, base + "/cpu"}
	}
	return nil
}

func limitIn(root fs.FS, dir string) float64 {
	text := read(root, dir+"/cpu.max")
	if text == "" {
		text = read(root, dir+"/cpu.cfs_quota_us") + " " + read(root, dir+"/cpu.cfs_period_us")
	}
	var quota, period float64
	if n, err := fmt.Sscan(text, &quota, &period); n < 2 || err != nil || quota <= 0 || period <= 0 {
		return 0 // "max", -1, or no such file
	}
	return quota / period
}

func read(root fs.FS, name string) string {
	text, _ := fs.ReadFile(root, name)
	return strings.TrimSpace(string(text))
}
