package subject

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// A group is a control group and those below it.
type group struct {
	root fs.FS
	dir  string // of cgroup.procs
	// cpu is the file with the CPU time of all that ever ran in it: after usage_usec in
	// µs, or alone in ns.
	cpu string
}

// findGroup returns the control group of a container, by its id: it is in the name of
// the group, at any place (docker/ID, docker-ID.scope, libpod-ID), and so in the lists
// of groups of the container's processes (cgroups(7)).
func findGroup(root fs.FS, id string) (*group, error) {
	places := groupsOf(root, id)
	if len(places) == 0 {
		return nil, fmt.Errorf("no process here is in a control group of container %.12s: its daemon is on another machine, in a virtual one, or outside of the container that this is", id)
	}
	mounts, err := groupMounts(root)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		for _, m := range mounts {
			if g := (group{root: root, dir: m.folder(p)}); g.dir != "" {
				g.cpu = path.Join(g.dir, "cpu.stat")
				if p.controllers != "" {
					g.cpu = path.Join(g.dir, "cpuacct.usage")
				}
				if _, err := g.used(); err == nil {
					return &g, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("the control group of container %.12s, %s, cannot be read here", id, places[0].group)
}

// A place is a group in a hierarchy: that of version 2, or of controllers.
type place struct{ controllers, group string }

// groupsOf returns the groups of a container, those of version 2 first.
func groupsOf(root fs.FS, id string) []place {
	var found []place
	processes, _ := fs.Glob(root, "proc/[1-9]*/cgroup")
	for _, file := range processes {
		text, _ := fs.ReadFile(root, file) // none: it has ended
		for line := range strings.Lines(string(text)) {
			fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(fields) < 3 {
				continue
			}
			names := strings.Split(fields[2], "/")
			at := slices.IndexFunc(names, func(name string) bool {
				return strings.Contains(name, id) && !strings.Contains(name, "conmon") // not Podman's monitor
			})
			if p := (place{fields[1], strings.Join(names[:at+1], "/")}); at >= 0 && !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
	}
	slices.SortFunc(found, func(a, b place) int { return strings.Compare(a.controllers, b.controllers) })
	return found
}

// A mount is one of a hierarchy of control groups.
type mount struct {
	at, root    string // where it is, and the group that is seen there
	version2    bool
	controllers []string
}

// groupMounts reads those of this process (proc_pid_mountinfo(5)).
func groupMounts(root fs.FS) ([]mount, error) {
	text, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var all []mount
	for line := range strings.Lines(string(text)) {
		own, rest, _ := strings.Cut(line, " - ")
		fields, behind := strings.Fields(own), strings.Fields(rest)
		if len(fields) < 5 || len(behind) < 3 || !strings.HasPrefix(behind[0], "cgroup") {
			continue
		}
		all = append(all, mount{at: strings.Trim(fields[4], "/"), root: fields[3], version2: behind[0] == "cgroup2",
			controllers: strings.Split(behind[2], ",")})
	}
	return all, nil
}

// folder returns where the mount shows a group; "" if it does not, or counts no CPU time.
func (m mount) folder(p place) string {
	if m.version2 != (p.controllers == "") || !m.version2 && !slices.Contains(m.controllers, "cpuacct") ||
		!m.version2 && !slices.Contains(strings.Split(p.controllers, ","), "cpuacct") {
		return ""
	}
	below, ok := strings.CutPrefix(p.group, strings.TrimSuffix(m.root, "/"))
	if !ok || !fs.ValidPath(path.Join(m.at, below)) {
		return ""
	}
	return path.Join(m.at, below)
}

// used returns the CPU time of all that ever ran in the group.
func (g *group) used() (time.Duration, error) {
	text, err := fs.ReadFile(g.root, g.cpu)
	if err != nil {
		return 0, err
	}
	unit, number := time.Nanosecond, string(bytes.TrimSpace(text))
	if fields := strings.Fields(number); len(fields) > 1 {
		if unit, number = time.Microsecond, fields[1]; fields[0] != "usage_usec" {
			return 0, fmt.Errorf("%s begins with %q, not with usage_usec", g.cpu, fields[0])
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", g.cpu, err)
	}
	return time.Duration(n) * unit, nil
}

// pids returns the processes in the group, in the order in which the kernel has them.
func (g *group) pids() ([]int, error) {
	var all []int
	err := fs.WalkDir(g.root, g.dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != g.dir {
			return nil // a group below that has gone
		}
		if err != nil || !d.IsDir() {
			return err
		}
		text, _ := fs.ReadFile(g.root, path.Join(name, "cgroup.procs")) // an error: it is gone as well
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid != 0 { // 0: not seen in this namespace
				all = append(all, pid)
			}
		}
		return nil
	})
	return all, err
}

// inContainer reports whether a process of this machine lives in the container.
func inContainer(id string) bool {
	g, err := findGroup(os.DirFS("/"), id)
	if err != nil {
		return false
	}
	pids, _ := g.pids()
	return slices.ContainsFunc(pids, func(pid int) bool {
		stat, err := statOf(pid)
		return err == nil && !isZombie(stat)
	})
}

// A party is those processes whose use is the subject's.
type party struct {
	leader  int // whose CPUs they may use
	members []procfs.ProcStat
	used    func() (time.Duration, error) // CPU time of them and of those that have ended; nil: of their clocks
}

// gather returns the party: the processes of the container, or the tree of root.
func gather(root int, c *container) (party, error) {
	if c == nil {
		members, err := tree(root)
		for _, p := range members {
			if slices.Contains(clients, strings.TrimSuffix(p.Comm, "-compose")) {
				return party{}, fmt.Errorf("%s, process %d, is only the client of a container: this command is to begin with %s run", p.Comm, p.PID, p.Comm)
			}
		}
		return party{leader: root, members: members}, err
	}
	if c.group == nil {
		id, err := c.id()
		if err != nil {
			return party{}, err
		}
		if c.group, err = findGroup(os.DirFS("/"), id); err != nil {
			return party{}, err
		}
	}
	pids, err := c.group.pids()
	p := party{used: c.group.used}
	for _, pid := range pids {
		if stat, err := statOf(pid); err == nil { // else it has ended
			p.members = append(p.members, stat)
		}
	}
	if len(p.members) > 0 {
		p.leader = p.members[0].PID
	}
	return p, err
}
