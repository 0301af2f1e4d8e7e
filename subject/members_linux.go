package subject

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// tree returns the living and the zombies among root, its session, its group
// and all descendants of these.
func tree(root int) ([]procfs.ProcStat, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	first := []int{root}
	for _, p := range all {
		if session, err := unix.Getsid(p.PID); err == nil && session == root { // a group is of one session
			first = append(first, p.PID)
		}
	}
	return descentFrom(first, func(p procfs.ProcStat) bool {
		return p.PID == root || p.Session == root || p.PGRP == root
	})
}

// members are the processes that listen and their descendants.
func (f *Foreign) members() ([]procfs.ProcStat, error) {
	var first []int
	for _, one := range f.listening {
		if p, err := statOf(one.pid); err == nil && f.includes(p) {
			first = append(first, one.pid)
		}
	}
	return descentFrom(first, f.includes)
}

// descentFrom is descent, where the first are known, without reading about processes that are not in it: each sample asks for
// it, and a machine may run hundreds of others.
func descentFrom(first []int, chosen func(procfs.ProcStat) bool) ([]procfs.ProcStat, error) {
	if members, err := withDescendants(first); err == nil {
		return members, nil
	}
	return descent(chosen)
}

// withDescendants is descent by the lists of children that the kernel has of each thread. The error is that there are none
// (CONFIG_PROC_CHILDREN), or that one does not have all of them.
func withDescendants(first []int) (members []procfs.ProcStat, err error) {
	in := map[int]bool{os.Getpid(): true}
	for len(first) > 0 {
		pid := first[0]
		first = first[1:]
		if in[pid] {
			continue
		}
		in[pid] = true
		p, err := statOf(pid)
		if err != nil {
			continue // it has ended
		}
		members = append(members, p)
		threads, _ := procfs.AllThreads(pid) // none: it has ended
		for _, thread := range threads {
			children, err := childrenOf(pid, thread.PID)
			if err != nil {
				return nil, err
			}
			first = append(first, children...)
		}
	}
	return members, nil
}

var errChildren = errors.New("there are more children, or they change too fast")

// childrenOf returns the children that a thread has started. The kernel skips some where those listed before are waited for
// meanwhile (Linux, fs/proc/array.c, get_children_pid); if it lists the same twice the first list has all.
func childrenOf(pid, thread int) (children []int, err error) {
	const path = "/proc/%d/task/%d/children"
	text, err := readProc(path, pid, thread)
	for tries := 0; text != "" && err == nil; tries++ {
		last := text
		if text, err = readProc(path, pid, thread); text == last {
			break
		}
		if tries == 5 {
			return nil, errChildren
		}
	}
	if len(text) == mostOfProc {
		return nil, errChildren
	}
	for _, child := range strings.Fields(text) {
		n, _ := strconv.Atoi(child) // a number
		children = append(children, n)
	}
	return children, err
}
