package subject

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"

	"github.com/prometheus/procfs"
)

// intruder returns who listens at an address of the subject in its place, and whether that program is older; nil: nobody
// is seen to. A name for an address, which only a command has that insists on it, is not looked up.
func (s *Subject) intruder() (found error, older bool) {
	all, _ := listeners() // without these nothing is known
	for _, addr := range s.addrs {
		at, _ := netip.ParseAddrPort(addr)
		there := reached(all, at)
		if len(there) == 0 || s.holds(there) {
			continue
		}
		other, err := foreign(there)
		if err != nil {
			return fmt.Errorf("at %s %w", addr, err), false
		}
		own, err := statOf(s.PID())
		return fmt.Errorf("%s (process %d) listens at %s", other.Command, other.PID, addr), err == nil && other.listening[0].ticks < own.Starttime
	}
	return nil, false
}

// holds reports whether a process of the tree has one of the sockets open, or one that this user may not look into.
func (s *Subject) holds(sockets []socket) bool {
	has := func(pid int) bool {
		open := openSockets(pid)
		return slices.ContainsFunc(sockets, func(one socket) bool { return slices.Contains(open, one.name()) })
	}
	if has(s.PID()) { // as most servers do; to look for the rest of the tree takes longer
		return true
	}
	members, err := tree(s.PID())
	return err != nil || slices.ContainsFunc(members, func(p procfs.ProcStat) bool { return has(p.PID) || !isZombie(p) && sealed(p.PID) })
}

// sealed reports whether this user may not see what a process has open.
func sealed(pid int) bool {
	files, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	files.Close()
	return errors.Is(err, fs.ErrPermission)
}
