package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"contend/probe"
	"contend/report"
	"contend/setting"
)

// pins are the CPUs that the generator, this process, and the servers that it
// starts are held to.
type pins struct {
	generatorPin
	Servers []cpuRange `flag:"server-cpus" words:"hold the servers that are started to these *CPUs* (Linux)"`

	generator, servers []int // ascending; set by check
	allowed            []int // what this process might use when it began
	started            bool  // the servers are started here
}

// generatorPin is all that can be asked for where no server is started.
type generatorPin struct {
	Generator []cpuRange `flag:"generator-cpus" words:"hold the generator to these *CPUs*, as in 0,2-3 (Linux)"`
}

// cpuRange is an element of a list in the form of taskset: 0 or 2-3.
type cpuRange struct{ first, last int }

// UnmarshalText reads the form of taskset.
func (r *cpuRange) UnmarshalText(text []byte) error {
	first, last, isRange := strings.Cut(string(text), "-")
	if !isRange {
		last = first
	}
	low, err := strconv.ParseUint(first, 10, 16)
	high, err2 := strconv.ParseUint(last, 10, 16)
	if err != nil || err2 != nil || low > high {
		return setting.NotAllowed(string(text), "a CPU or a range of them, as in 0 or 2-3")
	}
	*r = cpuRange{int(low), int(high)}
	return nil
}

// MarshalText returns the form of taskset.
func (r cpuRange) MarshalText() ([]byte, error) {
	return []byte(formatCPUs(cpusOf([]cpuRange{r}))), nil
}

// cpusOf returns the CPUs in ascending order, each once.
func cpusOf(ranges []cpuRange) []int {
	var cpus []int
	for _, r := range ranges {
		for cpu := r.first; cpu <= r.last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// check finds the CPUs and returns every mistake. Servers cannot be held unless
// they are started, which the named flag asks for.
func (p *pins) check(flag string, started bool) error {
	p.generator, p.servers = cpusOf(p.Generator), cpusOf(p.Servers)
	if len(p.generator)+len(p.servers) == 0 {
		return nil
	}
	p.started = started
	var errs []error
	if len(p.servers) > 0 && !started {
		errs = append(errs, fmt.Errorf("--server-cpus holds servers that are started here, with %s", flag))
	}
	allowed, err := probe.CPUs()
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("--generator-cpus and --server-cpus: %w", err))...)
	}
	p.allowed = allowed
	for _, list := range []*[]cpuRange{&p.Generator, &p.Servers} {
		for _, r := range *list {
			if slices.ContainsFunc(cpusOf([]cpuRange{r}), func(cpu int) bool { return !slices.Contains(allowed, cpu) }) {
				errs = append(errs, setting.At(p, list).OutOf(r, formatCPUs(allowed)+", which this process may use"))
			}
		}
	}
	return setting.FlagErrors(errors.Join(errs...))
}

// apply holds this process to the generator's CPUs until it is undone. Servers
// do not inherit that: without CPUs of their own they get all that this process
// might use. What is odd about the sets is said on w.
func (p *pins) apply(w io.Writer) (undo func(), err error) {
	if len(p.generator) == 0 {
		return func() {}, nil
	}
	if overlap(p.generator, p.servers) {
		fmt.Fprintf(w, "contend: the generator (CPUs %s) and the servers (CPUs %s) share CPUs, and slow each other down there\n",
			formatCPUs(p.generator), formatCPUs(p.servers))
	}
	free, err := pinProcess(p.generator)
	if err != nil {
		return nil, fmt.Errorf("--generator-cpus %s: %w", formatCPUs(p.generator), err)
	}
	procs := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(min(procs, len(p.generator)))
	return func() {
		runtime.GOMAXPROCS(procs)
		free()
	}, nil
}

// serverCPUs are those that the servers which are started may use; empty: those
// of this process.
func (p *pins) serverCPUs() []int {
	if len(p.generator) > 0 && len(p.servers) == 0 && p.started {
		return p.allowed
	}
	return p.servers
}

// ownCores reports whether the generator has its CPUs for itself: the servers
// have others, or others are left for a server that is not ours.
func (p *pins) ownCores() bool {
	switch {
	case len(p.generator) == 0:
		return false
	case len(p.servers) > 0:
		return !overlap(p.generator, p.servers)
	}
	return len(p.generator) < len(p.allowed)
}

// probe looks at the machine between the CPUs of the generator and of the
// servers. The threads of the probe need two processors of the Go runtime, which
// a generator with one CPU does not have.
func (p *pins) probe() probe.Sample {
	if len(p.generator)+len(p.servers) == 0 {
		return probe.Take()
	}
	if procs := runtime.GOMAXPROCS(0); procs == 1 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(procs)
	}
	cpus := slices.Concat(p.generator, p.servers)
	if len(p.generator) == 0 || len(p.servers) == 0 {
		cpus = p.allowed // whoever has none of his own has these
	}
	slices.Sort(cpus)
	return probe.TakeOn(cpus)
}

// describe notes the CPUs in a document.
func (p *pins) describe(e *report.Environment) {
	e.GeneratorCPUs, e.ServerCPUs = formatCPUs(p.generator), formatCPUs(p.serverCPUs())
}

func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(cpu int) bool { return slices.Contains(b, cpu) })
}

// formatCPUs writes ascending CPUs in the form of taskset.
func formatCPUs(cpus []int) string {
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

// duet holds the generator to CPUs of its own, and returns the sets of the two
// arms.
func (p *pins) duet(started bool) ([][]int, error) {
	var errs []error
	if !started {
		errs = append(errs, errors.New("--duet drives two servers that are started here, with --url and two commands"))
	}
	if len(p.generator)+len(p.servers) > 0 {
		errs = append(errs, errors.New("--duet chooses the CPUs: leave out --generator-cpus and --server-cpus"))
	}
	allowed, err := probe.CPUs()
	if err != nil {
		return nil, errors.Join(append(errs, fmt.Errorf("--duet: %w", err))...)
	}
	generator, a, b, err := duetCPUs(allowed)
	if err != nil {
		errs = append(errs, fmt.Errorf("--%w", err))
	}
	p.allowed, p.started, p.generator = allowed, started, generator
	return [][]int{a, b}, errors.Join(errs...)
}

// duetCPUs divides the CPUs between the generator and two arms that run at the
// same time: a quarter, but at least one, for each arm, and the rest for the
// generator, which drives both. CPUs that are threads of one core are not told
// from others.
func duetCPUs(allowed []int) (generator, a, b []int, err error) {
	if len(allowed) < 3 {
		return nil, nil, nil, fmt.Errorf("duet needs 3 CPUs: one for the generator and one for each variant; this process may use %d",
			len(allowed))
	}
	each := max(1, len(allowed)/4)
	rest := len(allowed) - 2*each
	return slices.Clone(allowed[:rest]), slices.Clone(allowed[rest : rest+each]), slices.Clone(allowed[rest+each:]), nil
}
