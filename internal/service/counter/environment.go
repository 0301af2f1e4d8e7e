package counter

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// CPULimit returns the CPU limit of the control group that this process runs
// under, in cores, and whether there is one. root is the root of the file
// system. It reads cpu.max of cgroup v2, "QUOTA PERIOD" in microseconds or
// "max PERIOD" (Linux, Documentation/admin-guide/cgroup-v2.rst), from the
// process's own group up to the root, because the tightest one holds. The
// runtime sets GOMAXPROCS from the same files, so this is for the log only.
func CPULimit(root fs.FS) (cores float64, ok bool) {
	const mount = "sys/fs/cgroup"
	dir := path.Join(mount, ownGroup(root))
	for strings.HasPrefix(dir, mount) {
		if c, limited := readCPUMax(root, path.Join(dir, "cpu.max")); limited && (!ok || c < cores) {
			cores, ok = c, true
		}
		dir = path.Dir(dir)
	}
	return cores, ok
}

// ownGroup returns this process's path in the unified hierarchy, "/" if it is
// not known. Its line in /proc/self/cgroup is "0::PATH" (cgroups(7)).
func ownGroup(root fs.FS) string {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return "/"
	}
	for line := range strings.Lines(string(b)) {
		if p, found := strings.CutPrefix(line, "0::"); found {
			return path.Clean("/" + strings.TrimSpace(p))
		}
	}
	return "/"
}

func readCPUMax(root fs.FS, name string) (cores float64, ok bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	quota, period, found := strings.Cut(strings.TrimSpace(string(b)), " ")
	if !found || quota == "max" {
		return 0, false
	}
	q, errQ := strconv.ParseUint(quota, 10, 63)
	p, errP := strconv.ParseUint(period, 10, 63)
	if errQ != nil || errP != nil || p == 0 {
		return 0, false
	}
	return float64(q) / float64(p), true
}
