package perf

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

const (
	// maxStacks is how many different stacks are kept, of 5 kB each at most with the longest calls that kernels keep by
	// default: those of 64 cores at work for a second.
	maxStacks = 1 << 16
	// maxMaps is how many mappings of a process are kept: as many as processes may have by
	// default (vm.max_map_count).
	maxMaps = 65530
)

// A tally counts equal samples of records that are added in the order of their times.
type tally struct {
	look      func(pid int) (maps []Map, at uint64) // the mappings of a process, and when they were seen
	maxStacks int

	current map[int]*image // by process
	sampled []*image       // that have samples, in order of their first
	stacks  int
	samples Samples // without Processes
}

// An image is what will be a Process.
type image struct {
	pid    int
	maps   []Map // shared with the process that forked it, which their PID may be
	seenAt uint64
	counts map[place]uint64
}

// A place is where a sample was taken.
type place struct {
	chain string
	user  memory
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.chain, q.chain), cmp.Compare(p.user.pointer, q.user.pointer), cmp.Compare(p.user.frame, q.user.frame),
		cmp.Compare(p.user.stack, q.user.stack))
}

func newTally(look func(pid int) ([]Map, uint64)) *tally {
	return &tally{look: look, maxStacks: maxStacks, current: map[int]*image{}}
}

// add takes a record into account.
func (t *tally) add(r record) {
	switch r.kind {
	case unix.PERF_RECORD_SAMPLE:
		t.count(t.of(r.pid), place{string(r.chain), r.user})
	case unix.PERF_RECORD_MMAP2:
		t.mapped(t.of(r.pid), r.mapping)
	case unix.PERF_RECORD_COMM:
		if r.exec {
			t.exec(r)
		}
	case unix.PERF_RECORD_FORK:
		if r.pid != r.parent { // otherwise it is a thread
			t.begin(r.pid, t.of(r.parent).maps)
		}
	case unix.PERF_RECORD_EXIT:
		if i := t.current[r.pid]; i != nil && i.counts == nil && r.pid == r.tid {
			delete(t.current, r.pid)
		}
	case unix.PERF_RECORD_LOST:
		t.samples.Lost += r.lost
	case unix.PERF_RECORD_THROTTLE:
		t.samples.Throttled++
	}
}

// of returns the present image of a process, looking at it if it was not known.
func (t *tally) of(pid int) *image {
	i := t.current[pid]
	if i == nil {
		maps, at := t.look(pid)
		i = t.begin(pid, maps)
		i.seenAt = at
	}
	return i
}

// begin begins another image of a process.
func (t *tally) begin(pid int, maps []Map) *image {
	i := &image{pid: pid, maps: slices.Clip(maps)} // so that it is copied when it grows
	t.current[pid] = i
	return i
}

// exec ends an image. Later mappings belong to the next one.
func (t *tally) exec(r record) {
	if i := t.current[r.pid]; i != nil && r.time < i.seenAt {
		i.maps = nil
	}
	t.begin(r.pid, nil)
}

func (t *tally) count(i *image, at place) {
	if _, known := i.counts[at]; !known {
		if t.stacks == t.maxStacks {
			t.samples.Dropped++
			return
		}
		t.stacks++
	}
	if i.counts == nil {
		i.counts = map[place]uint64{}
		t.sampled = append(t.sampled, i)
	}
	i.counts[at]++
}

// mapped adds a mapping. Where another file lay, the addresses change their meaning, so
// that another image begins.
func (t *tally) mapped(i *image, m Map) {
	apart := func(old Map) bool { return old.End <= m.Start || m.End <= old.Start || old.agrees(m) }
	if !slices.ContainsFunc(i.maps, func(old Map) bool { return !apart(old) }) {
		i.add(m)
		return
	}
	next := t.begin(i.pid, nil)
	for _, old := range i.maps {
		if apart(old) {
			next.maps = append(next.maps, old)
		} else {
			next.maps = append(next.maps, old.without(m)...)
		}
	}
	next.add(m)
}

func (i *image) add(m Map) {
	known := func(old Map) bool { return old.Start <= m.Start && m.End <= old.End && old.agrees(m) }
	if len(i.maps) < maxMaps && !slices.ContainsFunc(i.maps, known) {
		i.maps = append(i.maps, m)
	}
}

// agrees reports whether two mappings have the same bytes of the same file at each address.
func (m Map) agrees(other Map) bool {
	return m.Major == other.Major && m.Minor == other.Minor && m.Inode == other.Inode &&
		(m.Inode == 0 || m.Start-m.Offset == other.Start-other.Offset)
}

// without returns what is left of a mapping where another does not lie.
func (m Map) without(other Map) (left []Map) {
	if m.Start < other.Start {
		before := m
		before.End = other.Start
		left = append(left, before)
	}
	if other.End < m.End {
		behind := m
		behind.Start, behind.Offset = other.End, m.Offset+(other.End-m.Start)
		left = append(left, behind)
	}
	return left
}

// result returns what was counted.
func (t *tally) result() *Samples {
	s := t.samples
	for _, i := range t.sampled {
		p := Process{PID: i.pid, Maps: slices.Clone(i.maps)}
		for n := range p.Maps {
			p.Maps[n].PID = i.pid
		}
		for _, at := range slices.SortedFunc(maps.Keys(i.counts), place.compare) {
			found := stack(at.chain, at.user)
			found.Count = i.counts[at]
			p.Stacks = append(p.Stacks, found)
		}
		slices.SortStableFunc(p.Stacks, func(a, b Stack) int { return cmp.Compare(b.Count, a.Count) })
		s.Processes = append(s.Processes, p)
	}
	return &s
}

// Executable returns the executable mappings of a process, none if it has ended.
func Executable(pid int) []Map {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil
	}
	all, err := p.ProcMaps()
	if err != nil {
		return nil
	}
	var maps []Map
	for _, m := range all {
		if m.Perms.Execute {
			maps = append(maps, Map{
				PID:   pid,
				Start: uint64(m.StartAddr), End: uint64(m.EndAddr), Offset: uint64(m.Offset), Path: m.Pathname,
				Major: unix.Major(m.Dev), Minor: unix.Minor(m.Dev), Inode: m.Inode,
			})
		}
	}
	return maps
}
