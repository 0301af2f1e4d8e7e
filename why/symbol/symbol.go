// Package symbol finds the function that an address of a process is in: from the table
// that each Go program carries, stripped or not; else from the symbols of the file, or of
// its separate debug file (/usr/lib/debug/.build-id), named as C, C++ and Rust write them;
// code that was made at run time from the map that its runtime writes
// (/tmp/perf-PID.map: node --perf-basic-prof, python -X perf, agents of Java); the
// kernel from /proc/kallsyms. Linux only.
//
// No name is better than a wrong one. A file is read only if it is the mapped one, by the
// number of its inode while that is mapped; an address that no symbol covers stays unknown.
//
// What it does not find:
//
//   - Inlined functions of C, C++ and Rust without debug information (-g) of at most maxDebug, of Go
//     before 1.20 and some PIE: Function is the one whose code holds them. In Go, Line is that of the innermost.
//   - Stripped Go programs from before Go 1.18, and those from a C linker that does not record
//     where their text starts: some for PIE.
//   - Names in .gnu_debugdata (xz) and in debug files that only .gnu_debuglink names; lines of
//     C, C++ and Rust (DWARF).
//   - Files that an ended process had mapped, unless another process has the same path and it
//     is unchanged since before samples were taken.
//
// Files are untrusted: the constants of this package bound what they hold, and names are fit
// to print. A malicious table may still cost a reading of it per address.
package symbol

import (
	"cmp"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"contend/internal/perf"
)

// A Frame is the function at an address. Each of its texts prints on one line and has
// at most maxName bytes.
type Frame struct {
	Function string // with its package, namespace or module; [plt]: a jump into another library; empty: unknown
	Package  string // of Go, the path of the package; else the file's name, [vdso], [jit], kernel or kernel/ and its module; empty: unknown
	File     string // the source file, of Go and of scripts
	Bundled  bool   // it is of a library that came with the program, as far as its folder shows
	Line     int    // in File, from 1; 0: unknown
	// Code is that of the function whose code holds the address, also of one that is inlined there; of a script that of its source.
	Code Code
}

// Compiled is the Package of what a runtime made and its map names.
const Compiled = "[jit]"

// maxName bounds each text of a Frame, in bytes: templates of C++ have names of
// thousands, which differ in their beginning if at all.
const maxName = 300

// InKernel reports whether it is of the kernel or one of its modules.
func (f Frame) InKernel() bool {
	return f.Package == "kernel" || strings.HasPrefix(f.Package, "kernel/")
}

// String is the function, or what contains an unknown one.
func (f Frame) String() string {
	switch {
	case f.Function != "":
		return f.Function
	case f.Package != "":
		return "[unknown] in " + f.Package
	default:
		return "[unknown]"
	}
}

// A Resolver keeps what it has read of files, for all processes that map them one after the
// other, and of the kernel. The zero value has read nothing. One goroutine at a time may use it.
type Resolver struct {
	files      files
	view       int // the process that showed a file last
	scripts    scripts
	kernel     *names
	kernelRead bool
}

// A mappedFile is one of a process, which has it from a file system under a path: when it maps
// the file no longer, the inode alone may mean another.
type mappedFile struct {
	major, minor uint32
	inode        uint64
	path         string
}

// Frames returns the function at each address in user space of a process: a Frame, after those of
// functions inlined there, the innermost first. The process should still be alive: for one that has
// ended only files are known that the last process which showed one also sees, and that have not
// changed since a time before its addresses were taken; zero: none. Where maps overlap the last one
// counts.
//
// The address of a caller is that of its call, one less than where it goes on.
func (r *Resolver) Frames(pid int, maps []perf.Map, addresses []uint64, since time.Time) [][]Frame {
	var compiled *names // what the process compiled itself, read when first needed
	mapped := lay(len(maps), func(i int) (start, end uint64) { return maps[i].Start, maps[i].End })
	shown, program := map[mappedFile]*module{}, programOf(pid)
	frames := make([][]Frame, len(addresses))
	for i, addr := range addresses {
		if at, ok := mapped.top(addr); ok && maps[at].Path != "" {
			m := maps[at]
			if m.Path == "[vdso]" {
				frames[i] = []Frame{{Function: m.Path, Package: m.Path}}
				continue
			}
			frames[i] = []Frame{{Package: fileName(m.Path), Bundled: isBundled(m.Path, program)}}
			if f := r.module(m, shown, since); f.isCode() {
				frames[i] = f.frames(addr-m.Start+m.Offset, frames[i][0])
				continue
			} else if f == nil && m.Inode != 0 && !strings.HasPrefix(m.Path, "/memfd:") {
				continue
			}
		} else {
			frames[i] = []Frame{{}}
		}
		if compiled == nil {
			compiled = cmp.Or(readCompiled(pid), &names{})
		}
		if name, ok := compiled.at(addr); ok {
			function, of := scripted(name)
			frames[i] = []Frame{{Function: Printable(function), Package: Compiled, File: Printable(of.file), Code: r.scripts.code(pid, of)}}
		}
	}
	return frames
}

// module returns what a mapped file has, nil if it is missing or cannot be opened.
// What a process has shown already is not asked for again.
func (r *Resolver) module(m perf.Map, shown map[mappedFile]*module, since time.Time) *module {
	mapped := mappedFile{m.Major, m.Minor, m.Inode, m.Path}
	if known, ok := shown[mapped]; ok {
		return known
	}
	f, err := openMapped(m)
	if err == nil {
		r.view = m.PID
	} else if f, err = r.openOlder(m, since); err != nil {
		shown[mapped] = nil
		return nil
	}
	defer f.Close()
	shown[mapped] = r.files.of(f, func(id string) (*os.File, error) { return openDebug(r.view, id) })
	return shown[mapped]
}

// openOlder opens the file of a mapping whose process does not show it, as the last one sees it
// that did. It has the inode, and had it before: a younger one may have got it from the mapped file.
func (r *Resolver) openOlder(m perf.Map, since time.Time) (*os.File, error) {
	if r.view == 0 {
		return nil, os.ErrNotExist
	}
	m.PID = r.view
	f, err := openMapped(m)
	if err != nil {
		return nil, err
	}
	if id, err := identify(f); err != nil || !id.isOlder(since) {
		f.Close()
		return nil, os.ErrNotExist
	}
	return f, nil
}

// system are folders with libraries of many programs (Filesystem Hierarchy Standard 3.0; Nix, Snap and Guix have their own).
var system = []string{"/usr/", "/lib/", "/lib64/", "/opt/", "/nix/", "/snap/", "/gnu/"}

// isBundled reports whether a mapping is of a library that came with a program: it lies in its folder or below that, or in none
// of the system. What an interpreter maps did not come with the program that it runs. "": the program is not known.
func isBundled(mapped, program string) bool {
	isBelow := func(folder string) bool { return strings.HasPrefix(mapped, folder) }
	folder := path.Dir(program)
	return program != "" && strings.Contains(path.Base(mapped), ".so") && !IsInterpreter(path.Base(program)) &&
		(folder != "/" && isBelow(folder+"/") || !slices.ContainsFunc(system, isBelow))
}

// interpreters are programs whose own functions are not those of the programs that they run.
var interpreters = []string{"node", "python", "java", "ruby", "php", "perl", "bun", "deno", "dotnet", "beam.smp"}

// IsInterpreter reports whether a file's name is that of an interpreter.
func IsInterpreter(file string) bool {
	return slices.ContainsFunc(interpreters, func(name string) bool { return strings.HasPrefix(file, name) })
}

// fileName is the last element of a mapping's path.
func fileName(mapped string) string {
	return Printable(path.Base(strings.TrimSuffix(mapped, " (deleted)")))
}
