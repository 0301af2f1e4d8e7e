// Package work classifies functions by the kind of work they do for a program: runtime,
// memory, locks, formats. The tables are text files (go.txt, kernel.txt, libraries.txt, programs.txt), lists of
// names for any file or for some. To add a kind of function, add a line with an
// example: the first line that matches counts. A name that a user's own function may also have belongs in a
// table for the library's files only: no kind is better than a wrong one.
package work

import (
	"cmp"
	"embed"
	"slices"
	"strings"
	"sync"
)

// A Kind is what functions are for. Empty: the program's own.
type Kind string

// The kinds.
const (
	Scheduling   Kind = "scheduler"
	Collection   Kind = "garbage collection"
	Allocation   Kind = "allocation"
	Stacks       Kind = "growing stacks"
	Copying      Kind = "copying and comparing memory"
	Locks        Kind = "locks"
	Channels     Kind = "channels"
	Maps         Kind = "maps"
	SystemCalls  Kind = "system calls"
	Polling      Kind = "waiting for sockets"
	Network      Kind = "network"
	Files        Kind = "files"
	HTTP         Kind = "HTTP"
	RPC          Kind = "RPC"
	JSON         Kind = "JSON"
	Encoding     Kind = "other formats"
	Cryptography Kind = "TLS and cryptography"
	Hashing      Kind = "hashing"
	Compression  Kind = "compression"
	Regexps      Kind = "regular expressions"
	Logging      Kind = "logging"
	Templates    Kind = "templates"
	Text         Kind = "texts and numbers"
	Sorting      Kind = "sorting"
	Reflection   Kind = "reflection"
	Time         Kind = "time"
	Panics       Kind = "panics and exceptions"
	Database     Kind = "database"
	Interpreting Kind = "interpreter"
	Compiling    Kind = "compiling"
	Loading      Kind = "loading libraries"
	Runtime      Kind = "runtime, other"
	Faults       Kind = "page faults"
	Interrupts   Kind = "interrupts"
	Kernel       Kind = "kernel"
)

// A rule is a line of a table.
type rule struct {
	name    string // of a function, or of a library; with * at its end: of all that begin so
	kind    Kind
	example string // one that no earlier line matches
}

func (r rule) matches(name string) bool { return matches(r.name, name) }

// matches reports whether a name is the wanted one, or begins so if that has * at its end.
func matches(wanted, name string) bool {
	prefix, all := strings.CutSuffix(wanted, "*")
	if all {
		return strings.HasPrefix(name, prefix)
	}
	return name == wanted
}

// A table is rules that hold in some files.
type table struct {
	name  string
	in    []string // libraries and programs, as in a rule; none: any
	rules []rule
}

//go:embed *.txt
var texts embed.FS

// The tables of each file: the first that knows a function decides.
var (
	golang    = tablesOf("go.txt")
	kernel    = tablesOf("kernel.txt")
	libraries = tablesOf("libraries.txt")
	programs  = tablesOf("programs.txt")
)

// tablesOf reads a file when it is asked for first.
func tablesOf(file string) func() []table {
	return sync.OnceValue(func() []table {
		text, _ := texts.ReadFile(file) // embedded
		return read(string(text))
	})
}

// read reads tables. One begins with its name in brackets and the files that it applies to, among which @NAME means
// those of the table NAME. Then come kinds, each followed by its rules, after a tab: a rule's name, a tab and its
// example, or whole names with spaces between them, which are examples of themselves. # begins a comment.
func read(text string) []table {
	var all []table
	var kind Kind
	for line := range strings.Lines(text) {
		rest, isRule := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case rest == "" || rest[0] == '#':
		case isRule:
			last := &all[len(all)-1]
			last.rules = append(last.rules, rulesIn(rest, kind)...)
		case rest[0] == '[':
			name, files, _ := strings.Cut(rest[1:], "]")
			all = append(all, table{name: name, in: filesIn(files, all)})
		default:
			kind = Kind(rest)
		}
	}
	return all
}

func rulesIn(line string, kind Kind) (rules []rule) {
	if name, example, ok := strings.Cut(line, "\t"); ok {
		return []rule{{name, kind, example}}
	}
	for _, name := range strings.Fields(line) {
		rules = append(rules, rule{name, kind, name})
	}
	return rules
}

func filesIn(list string, tables []table) (files []string) {
	for _, file := range strings.Fields(list) {
		if name, ok := strings.CutPrefix(file, "@"); ok {
			i := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
			files = append(files, tables[i].in...)
			continue
		}
		files = append(files, file)
	}
	return files
}

// compiled is what code is in that a runtime made.
const compiled = "[jit]"

// holdsIn reports whether the rules hold in a file. Code that was made has names that its runtime
// chose, in no language's manner.
func (t table) holdsIn(file string) bool {
	return t.in == nil && file != compiled || slices.ContainsFunc(t.in, func(wanted string) bool { return matches(wanted, file) })
}

// Of returns the kind of a function by its name, without parameters, and by the package,
// library or program that it is in: for the kernel's, kernel or kernel/ and the module's name.
// Empty texts are unknown.
func Of(function, in string) Kind {
	if in == "kernel" || strings.HasPrefix(in, "kernel/") {
		return cmp.Or(find(kernel(), function, in), Kernel)
	}
	if kind := find(golang(), function, in); kind != "" {
		return kind
	}
	if in != "" && strings.HasPrefix(function, in+".") {
		return find(libraries(), in, "") // a package of Go may be called send
	}
	// In Rust, what is implemented for a type begins with that: <&str as ...>::to_string.
	// Glibc calls its functions __GI_ and their names.
	function = strings.TrimPrefix(strings.TrimLeft(function, "<&"), "__GI_")
	return cmp.Or(find(programs(), function, in), find(libraries(), in, ""))
}

// find returns the kind of a name in a file, by the first table that knows it.
func find(tables []table, name, file string) Kind {
	for _, t := range tables {
		if !t.holdsIn(file) {
			continue
		}
		for _, r := range t.rules {
			if r.matches(name) {
				return r.kind
			}
		}
	}
	return ""
}

// IsTask reports whether the kind is what functions are called for, with all that these call, and
// not what they do for whoever calls them.
func (k Kind) IsTask() bool {
	switch k {
	case Collection, JSON, Encoding, Cryptography, Hashing, Compression, Regexps, Logging, Templates, Sorting, Database:
		return true
	}
	return false
}

// SystemCall returns the name of the system call that a function of the kernel is the
// entry of (Linux, include/linux/syscalls.h and the syscall_wrapper.h of each architecture).
func SystemCall(function string) (name string, ok bool) {
	for _, entry := range []string{"__x64_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_"} {
		if name, ok = strings.CutPrefix(function, entry); ok {
			return name, true
		}
	}
	return "", false
}
