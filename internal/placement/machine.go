package placement

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/internal/cpu"
)

const (
	// busyCPU is the share of a CPU that other programs use beyond which nothing is pinned
	// to it. Next to two endless loops blocks on fixed CPUs of a machine with two spread
	// by 60%, and by 17% where both sides could step aside (docs/quiet-machine.md).
	busyCPU = 0.2
	// lookLength is how long other programs are watched, in ticks of 10 ms that
	// /proc/stat counts, and looks how often: what ends soon does not count.
	lookLength = 200 * time.Millisecond
	looks      = 3
)

// A CPU is one that this process may use.
type CPU struct {
	ID   int
	Core string  // threads of one core have the same
	Node int     // of memory
	Busy float64 // share of its time that other programs used lately, 0 to 1
}

// A Machine is what this process may use of it.
type Machine struct {
	CPUs []CPU // in ascending order
	// Limit is that of the control group, in CPUs; 0: none.
	Limit float64
}

// look reads the machine from a file system with this root, and watches for up to 600 ms what
// other programs use of the allowed CPUs. pause waits.
func look(root fs.FS, allowed []int, pause func(time.Duration)) Machine {
	m := Machine{Limit: cpu.Limit(root)}
	for _, id := range allowed {
		m.CPUs = append(m.CPUs, CPU{ID: id, Core: coreOf(root, id), Node: nodeOf(root, id), Busy: 1})
	}
	for range looks {
		before := ticks(root)
		pause(lookLength)
		after := ticks(root)
		calm := true
		for i, c := range m.CPUs {
			m.CPUs[i].Busy = min(c.Busy, after[c.ID].busySince(before[c.ID]))
			calm = calm && m.CPUs[i].Busy <= busyCPU
		}
		if calm {
			break
		}
	}
	return m
}

func coreOf(root fs.FS, id int) string {
	dir := path.Join("sys/devices/system/cpu", fmt.Sprintf("cpu%d", id), "topology")
	socket, err := fs.ReadFile(root, path.Join(dir, "physical_package_id"))
	core, err2 := fs.ReadFile(root, path.Join(dir, "core_id"))
	if err != nil || err2 != nil {
		return strconv.Itoa(id)
	}
	return strings.TrimSpace(string(socket)) + ":" + strings.TrimSpace(string(core))
}

// nodeOf returns the memory node of a CPU: a link in its folder names it.
func nodeOf(root fs.FS, id int) int {
	found, _ := fs.Glob(root, fmt.Sprintf("sys/devices/system/cpu/cpu%d/node[0-9]*", id))
	if len(found) == 0 {
		return 0
	}
	node, _ := strconv.Atoi(strings.TrimPrefix(path.Base(found[0]), "node"))
	return node
}

// used is what a line of /proc/stat says of a CPU, in ticks (proc_stat(5)).
type used struct{ busy, all float64 }

func (u used) busySince(earlier used) float64 {
	if u.all <= earlier.all {
		return 0
	}
	return (u.busy - earlier.busy) / (u.all - earlier.all)
}

func ticks(root fs.FS) map[int]used {
	text, _ := fs.ReadFile(root, "proc/stat")
	found := map[int]used{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		id, err := strconv.Atoi(fields[0][3:])
		if err != nil {
			continue // the sum of all
		}
		var u used
		for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal
			n, _ := strconv.ParseFloat(field, 64)
			u.all += n
			if i != 3 && i != 4 {
				u.busy += n
			}
		}
		found[id] = u
	}
	return found
}

// Apart gives the load generator at least so many CPUs and the servers the rest: of those
// that no other program keeps busy, in one memory node, whole cores on each side where there
// are several, and no more than the control group may use at once. The error says why
// that cannot be.
func (m Machine) Apart(generator int) (Layout, error) {
	free, err := m.free()
	if err != nil {
		return Layout{}, err
	}
	free = sameNode(free)
	if m.Limit > 0 && float64(len(free)) > m.Limit {
		free = free[:int(m.Limit)]
	}
	l := divide(free, generator)
	if len(l.Generator) < generator || len(l.Servers) == 0 {
		return Layout{}, fmt.Errorf("%s, and the load generator needs %d", m.has(len(free)), generator)
	}
	return l, nil
}

// free returns the CPUs that nothing else uses.
func (m Machine) free() ([]CPU, error) {
	var busy []string
	free := slices.DeleteFunc(slices.Clone(m.CPUs), func(c CPU) bool {
		if c.Busy > busyCPU {
			busy = append(busy, fmt.Sprintf("%d (%.0f%%)", c.ID, 100*c.Busy))
		}
		return c.Busy > busyCPU
	})
	switch {
	case len(m.CPUs) < 2:
		return nil, fmt.Errorf("there is one")
	case m.Limit > 0 && m.Limit < 2:
		return nil, fmt.Errorf("this control group may use %.3g CPUs at once", m.Limit)
	case len(free) < 2 && len(busy) > 0:
		return nil, fmt.Errorf("other programs use CPU %s", strings.Join(busy, ", "))
	}
	return free, nil
}

// has says how many CPUs there are to divide.
func (m Machine) has(n int) string {
	if n == 1 {
		return "1 CPU is free"
	}
	return fmt.Sprintf("%d CPUs are free", n)
}

// sameNode returns the CPUs of the memory node that has the most of them.
func sameNode(cpus []CPU) []CPU {
	nodes := map[int]int{}
	for _, c := range cpus {
		nodes[c.Node]++
	}
	best := slices.MaxFunc(cpus, func(a, b CPU) int {
		return cmp.Or(cmp.Compare(nodes[a.Node], nodes[b.Node]), cmp.Compare(b.Node, a.Node))
	}).Node
	return slices.DeleteFunc(slices.Clone(cpus), func(c CPU) bool { return c.Node != best })
}

// divide gives the load generator the first cores. Threads of one core go to the same side,
// unless there is one core.
func divide(cpus []CPU, generator int) Layout {
	var cores [][]int
	at := map[string]int{}
	for _, c := range cpus {
		i, known := at[c.Core]
		if !known {
			i = len(cores)
			at[c.Core], cores = i, append(cores, nil)
		}
		cores[i] = append(cores[i], c.ID)
	}
	if len(cores) == 1 {
		threads := cores[0]
		cores = nil
		for _, id := range threads {
			cores = append(cores, []int{id})
		}
	}
	var l Layout
	for _, core := range cores {
		if len(l.Generator) < generator {
			l.Generator = append(l.Generator, core...)
		} else {
			l.Servers = append(l.Servers, core...)
		}
	}
	slices.Sort(l.Generator)
	slices.Sort(l.Servers)
	return l
}
