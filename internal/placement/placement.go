// Package placement chooses CPUs for the load generator, which is this process, and
// for the servers that it starts, and pins this process to its own.
package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Kind is what is asked for.
type Kind string

const (
	// Auto is Apart where the machine allows it, and else Shared.
	Auto Kind = "auto"
	// Apart gives the load generator and the servers CPUs of their own.
	Apart Kind = "apart"
	// Shared lets both use all CPUs.
	Shared Kind = "shared"
)

// A Layout says which CPUs each side has, in ascending order; empty: all that this
// process may use.
type Layout struct {
	Generator, Servers []int
	// Because is why CPUs are shared although they were not asked to be.
	Because string
}

// Apart reports whether the two sides have no CPU in common.
func (l Layout) Apart() bool {
	return len(l.Generator) > 0 && len(l.Servers) > 0 &&
		!slices.ContainsFunc(l.Generator, func(cpu int) bool { return slices.Contains(l.Servers, cpu) })
}

// String says where servers and load generator run.
func (l Layout) String() string {
	switch {
	case l.Apart():
		return fmt.Sprintf("servers on %s, load generator on %s", cpus(l.Servers), cpus(l.Generator))
	case len(l.Generator)+len(l.Servers) > 0:
		return fmt.Sprintf("servers on %s, load generator on %s, some shared", cpus(l.Servers), cpus(l.Generator))
	case l.Because != "":
		return "servers and load generator share all CPUs: " + l.Because
	}
	return "servers and load generator share all CPUs"
}

func cpus(list []int) string {
	if len(list) == 0 {
		return "all CPUs"
	}
	if len(list) == 1 {
		return "CPU " + Format(list)
	}
	return "CPUs " + Format(list)
}

// Format writes ascending CPUs in the form of taskset: 0,2-3.
func Format(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); i++ {
		first := cpus[i]
		for i+1 < len(cpus) && cpus[i+1] == cpus[i]+1 {
			i++
		}
		part := strconv.Itoa(first)
		if cpus[i] > first {
			part += "-" + strconv.Itoa(cpus[i])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Parse reads what Format writes; nil: something else.
func Parse(text string) []int {
	var cpus []int
	for part := range strings.SplitSeq(text, ",") {
		low, high, ok := Range(part)
		if !ok {
			return nil
		}
		for cpu := low; cpu <= high; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// Range reads an element of a list in the form of taskset: a CPU, or the first and last of several, as in 0 or 2-3.
func Range(part string) (low, high int, ok bool) {
	first, last, isRange := strings.Cut(part, "-")
	if !isRange {
		last = first
	}
	from, err := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	return int(from), int(to), err == nil && err2 == nil && from <= to
}
