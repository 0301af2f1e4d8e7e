package symbol

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"contend/internal/perf"
)

// openMapped opens the file of a mapping, wherever it can be seen: under its path as
// the process sees it, which may be in a container; as its program, also if that was
// deleted; and, as root, as the mapping itself. What the path means now may be another
// file; that has another inode, as long as the first one is mapped. The device is not
// compared: overlayfs and btrfs tell two.
func openMapped(m perf.Map) (*os.File, error) {
	if m.Inode == 0 || !path.IsAbs(m.Path) {
		return nil, os.ErrNotExist
	}
	proc := fmt.Sprintf("/proc/%d", m.PID)
	isMapped := func(stat *syscall.Stat_t) bool { return stat.Ino == m.Inode }
	if f, err := openIn(proc+"/root", m.Path, isMapped); err == nil {
		return f, nil
	}
	if f, err := openIf(proc+"/exe", os.Stat, os.OpenFile, isMapped); err == nil {
		return f, nil
	}
	return openIf(fmt.Sprintf("%s/map_files/%x-%x", proc, m.Start, m.End), os.Stat, os.OpenFile, isMapped)
}

// openMemory opens what a process has in its memory.
func openMemory(pid int) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/mem", pid)) }

// identify says which file an open one is.
func identify(f *os.File) (fileID, error) {
	info, err := f.Stat()
	if err != nil {
		return fileID{}, err
	}
	s := info.Sys().(*syscall.Stat_t)
	return fileID{device: uint64(s.Dev), inode: s.Ino, size: s.Size, modified: s.Mtim.Nano(), changed: s.Ctim.Nano()}, nil
}

// openIn opens a regular file of the file system that a process sees, which no link leaves.
func openIn(root, name string, wanted func(*syscall.Stat_t) bool) (*os.File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return openIf(strings.TrimPrefix(path.Clean(name), "/"), r.Stat, r.OpenFile, wanted)
}

// openIf opens a file if it is regular and wanted. It looks before, since to open a
// device does something, and after.
func openIf(name string, stat func(string) (os.FileInfo, error),
	open func(string, int, os.FileMode) (*os.File, error), wanted func(*syscall.Stat_t) bool) (*os.File, error) {
	good := func(info os.FileInfo, err error) error {
		if err == nil && !(info.Mode().IsRegular() && wanted(info.Sys().(*syscall.Stat_t))) {
			err = os.ErrInvalid
		}
		return err
	}
	if err := good(stat(name)); err != nil {
		return nil, err
	}
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := good(f.Stat()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// programOf is the path of the program that a process runs, as the process sees it; "": it is not known.
func programOf(pid int) string {
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // "" if it has ended
	return program
}

// openDebug opens the debug file with a build ID, the process's own or ours.
func openDebug(pid int, id string) (*os.File, error) {
	name := "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"
	any := func(*syscall.Stat_t) bool { return true }
	if f, err := openIn(fmt.Sprintf("/proc/%d/root", pid), name, any); err == nil {
		return f, nil
	}
	return openIf(name, os.Stat, os.OpenFile, any)
}

// openScript opens a file of source code as a process sees it.
func openScript(pid int, file string) (*os.File, error) {
	return openIn(fmt.Sprintf("/proc/%d/root", pid), file, func(*syscall.Stat_t) bool { return true })
}

// readCompiled reads what a process tells of the code that it made. Everybody may write to
// /tmp: the file must belong to the process's user, or to root.
func readCompiled(pid int) *names {
	user, own, err := identity(pid)
	if err != nil {
		return nil
	}
	trusted := func(stat *syscall.Stat_t) bool { return stat.Uid == user || stat.Uid == 0 }
	f, err := openIn(fmt.Sprintf("/proc/%d/root", pid), fmt.Sprintf("/tmp/perf-%d.map", own), trusted)
	if err != nil {
		return nil
	}
	defer f.Close()
	return perfMap(readText(f, maxText))
}

// identity returns the user that a process runs as, and its ID as it knows it itself, which
// is another one in a container (proc_pid_status(5)).
func identity(pid int) (user uint32, own int, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	own = pid // of kernels without namespaces
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 5 && fields[0] == "Uid:":
			effective, convErr := strconv.ParseUint(fields[2], 10, 32)
			user, err = uint32(effective), convErr
		case len(fields) > 1 && fields[0] == "NSpid:":
			own, err = strconv.Atoi(fields[len(fields)-1])
		}
		if err != nil {
			return 0, 0, fmt.Errorf("symbol: %s: %w", f.Name(), err)
		}
	}
	return user, own, lines.Err()
}

func readKernel() *names {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil
	}
	defer f.Close()
	return kallsyms(readText(f, maxText))
}
