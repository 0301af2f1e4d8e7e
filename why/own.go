package why

import (
	"slices"
	"strings"
	"time"

	"contend/why/symbol"
	"contend/why/symbol/work"
)

// A Function has the time spent in it with all that it called; recursion counts once.
type Function struct {
	Name string        `json:"name"`
	Time time.Duration `json:"time_ns"`
	// Of is where it is from; "": of the runtime, the kernel, or not known.
	Of Origin `json:"of,omitempty"`
}

// An Origin is where a function is from.
type Origin string

// The origins.
const (
	Own     Origin = "program"
	Library Origin = "library"
)

// standard are the first elements of the import paths of Go's standard library.
var standard = strings.Fields(`archive bufio builtin bytes cmp compress container context crypto database debug embed encoding errors expvar flag
	fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings
	structs sync syscall testing text time unicode unique unsafe vendor weak`)

// interpreters are programs whose own functions are not those of the programs that they run.
var interpreters = []string{"node", "python", "java", "ruby", "php", "perl", "bun", "deno", "dotnet", "beam.smp"}

// elsewhere are the folders that dependencies of scripts are in, and what scripts begin with that a runtime brings.
var elsewhere = []string{"/node_modules/", "node:", "/site-packages/", "/dist-packages/", "/lib/python", "<frozen"}

// isOwn reports whether a function is of the program itself, and neither of a library, a runtime nor the kernel: of
// Go by the file, which has the version of a module that is a dependency; of scripts by their folder; else what the
// executable contains, unless it is an interpreter, or known as a library's by name.
func isOwn(f symbol.Frame) bool {
	if !isNamed(f) {
		return false
	}
	switch {
	case f.Package == symbol.Compiled:
		return !slices.ContainsFunc(elsewhere, func(part string) bool { return strings.Contains(f.File, part) }) && f.File != ""
	case f.File != "":
		first, _, _ := strings.Cut(f.Package, "/")
		return f.Package == "main" || !slices.Contains(standard, first) && !strings.Contains(f.File, "@") && !strings.Contains(f.File, "/vendor/")
	default:
		return !strings.Contains(f.Package, ".so") && work.Of(f.Function, f.Package) == "" && !slices.Contains(outermost, f.Function) &&
			!slices.ContainsFunc(interpreters, func(name string) bool { return strings.HasPrefix(f.Package, name) }) &&
			!slices.ContainsFunc([]string{"std::", "core::", "alloc::", "<std::", "<core::", "<alloc::", "_", "<_"}, func(prefix string) bool { return strings.HasPrefix(f.Function, prefix) })
	}
}

func originOf(f symbol.Frame) Origin {
	switch {
	case isOwn(f):
		return Own
	case isLibrary(f):
		return Library
	default:
		return ""
	}
}

// isLibrary reports whether a function with a name is of a library.
func isLibrary(f symbol.Frame) bool {
	return isNamed(f) && !isOwn(f) && work.Of(f.Function, f.Package) == "" && !slices.Contains(outermost, f.Function)
}

// isNamed reports whether a function of user space is known by name. Names in brackets are not of functions.
func isNamed(f symbol.Frame) bool { return f.Function != "" && f.Function[0] != '[' && !f.InKernel() }

// only are stacks without functions of other kinds, except the first that one of the kind calls.
func only(stacks []Stack, kind func(symbol.Frame) bool) (list []Stack, some bool) {
	list = make([]Stack, len(stacks))
	for i, s := range stacks {
		list[i] = Stack{Samples: s.Samples, Time: s.Time}
		for n, f := range s.Frames {
			if !kind(f) {
				continue
			}
			if n > 0 && len(list[i].Frames) == 0 {
				list[i].Frames = append(list[i].Frames, s.Frames[n-1])
			}
			list[i].Frames, some = append(list[i].Frames, f), true
		}
		if len(list[i].Frames) == 0 {
			list[i].Frames = []symbol.Frame{{Function: others}}
		}
	}
	return list, some
}

// OwnCallsOf are CallsOf the program's own functions, or those of libraries if none of its own is known, and, below
// these, the functions that they call directly.
func OwnCallsOf(arms [][]Stacks, most int) []Call {
	for _, kind := range []func(symbol.Frame) bool{isOwn, isLibrary} {
		known, own := false, make([][]Stacks, len(arms))
		for arm, levels := range arms {
			for _, s := range levels {
				list, some := only(s.List, kind)
				s.List, known = list, known || some
				own[arm] = append(own[arm], s)
			}
		}
		if known {
			return CallsOf(own, most)
		}
	}
	return nil
}
