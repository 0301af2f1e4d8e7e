package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"contend/probe"
	"contend/report"
)

// pins are the CPUs that the generator, this process, and the servers that it
// starts are held to.
type pins struct {
	generator, servers cpuList
	allowed            []int // what this process might use when it began
	started            bool  // the servers are started here
}

// cpuList is a flag with CPUs in the form of taskset: 0,2-3.
type cpuList struct {
	text  string
	given bool
	cpus  []int // ascending; set by pins.check
}

func (l *cpuList) String() string { return l.text }
func (l *cpuList) Type() string   { return "CPUs" }

// Set keeps the text: check speaks of its mistakes together with all others.
func (l *cpuList) Set(text string) error {
	l.text, l.given = text, true
	return nil
}

// generatorFlag is for commands that start no servers, flags for those that do.
func (p *pins) generatorFlag(cmd *cobra.Command) {
	cmd.Flags().Var(&p.generator, "generator-cpus", "hold the generator to these `CPUs`, as in 0,2-3 (Linux)")
}

func (p *pins) flags(cmd *cobra.Command) {
	p.generatorFlag(cmd)
	cmd.Flags().Var(&p.servers, "server-cpus", "hold the servers that are started to these `CPUs` (Linux)")
}

// check reads the lists and returns every mistake. Servers cannot be held unless
// they are started, which the named flag asks for.
func (p *pins) check(flag string, started bool) error {
	if !p.generator.given && !p.servers.given {
		return nil
	}
	p.started = started
	var err error
	if p.servers.given && !started {
		err = fmt.Errorf("--server-cpus holds servers that are started here, with %s", flag)
	}
	allowed, failed := probe.CPUs()
	if failed != nil {
		return errors.Join(err, fmt.Errorf("--generator-cpus and --server-cpus: %w", failed))
	}
	p.allowed = allowed
	return errors.Join(err, p.generator.parse("generator-cpus", allowed), p.servers.parse("server-cpus", allowed))
}

// parse reads the list of a flag that is given.
func (l *cpuList) parse(flag string, allowed []int) error {
	if !l.given {
		return nil
	}
	var errs []error
	mistake := func(entry, why string) {
		errs = append(errs, fmt.Errorf("--%s: %q %s, allowed is a list of %s, as in 0,2-3", flag, entry, why, formatCPUs(allowed)))
	}
	for entry := range strings.SplitSeq(l.text, ",") {
		first, last, isRange := strings.Cut(entry, "-")
		if !isRange {
			last = first
		}
		low, err := strconv.ParseUint(first, 10, 16)
		high, err2 := strconv.ParseUint(last, 10, 16)
		switch {
		case err != nil || err2 != nil:
			mistake(entry, "is neither a CPU nor a range")
			continue
		case low > high:
			mistake(entry, "is an empty range")
		}
		for cpu := int(low); cpu <= int(high); cpu++ {
			if !slices.Contains(allowed, cpu) {
				mistake(entry, fmt.Sprintf("has CPU %d, which this process may not use", cpu))
				break
			}
			l.cpus = append(l.cpus, cpu)
		}
	}
	slices.Sort(l.cpus)
	l.cpus = slices.Compact(l.cpus)
	return errors.Join(errs...)
}

// apply holds this process to the generator's CPUs until it is undone. Servers
// do not inherit that: without CPUs of their own they get all that this process
// might use. What is odd about the sets is said on w.
func (p *pins) apply(w io.Writer) (undo func(), err error) {
	if !p.generator.given {
		return func() {}, nil
	}
	if p.servers.given && overlap(p.generator.cpus, p.servers.cpus) {
		fmt.Fprintf(w, "contend: the generator (CPUs %s) and the servers (CPUs %s) share CPUs, and slow each other down there\n",
			formatCPUs(p.generator.cpus), formatCPUs(p.servers.cpus))
	}
	free, err := pinProcess(p.generator.cpus)
	if err != nil {
		return nil, fmt.Errorf("--generator-cpus %s: %w", p.generator.text, err)
	}
	procs := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(min(procs, len(p.generator.cpus)))
	return func() {
		runtime.GOMAXPROCS(procs)
		free()
	}, nil
}

// serverCPUs are those that the servers which are started may use; empty: those
// of this process.
func (p *pins) serverCPUs() []int {
	if p.generator.given && !p.servers.given && p.started {
		return p.allowed
	}
	return p.servers.cpus
}

// ownCores reports whether the generator has its CPUs for itself: the servers
// have others, or others are left for a server that is not ours.
func (p *pins) ownCores() bool {
	switch {
	case !p.generator.given:
		return false
	case p.servers.given:
		return !overlap(p.generator.cpus, p.servers.cpus)
	}
	return len(p.generator.cpus) < len(p.allowed)
}

// probe looks at the machine between the CPUs of the generator and of the
// servers. The threads of the probe need two processors of the Go runtime, which
// a generator with one CPU does not have.
func (p *pins) probe() probe.Sample {
	if !p.generator.given && !p.servers.given {
		return probe.Take()
	}
	if procs := runtime.GOMAXPROCS(0); procs == 1 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(procs)
	}
	cpus := slices.Concat(p.generator.cpus, p.servers.cpus)
	if !p.generator.given || !p.servers.given {
		cpus = p.allowed // whoever has none of his own has these
	}
	slices.Sort(cpus)
	return probe.TakeOn(cpus)
}

// describe notes the CPUs in a document.
func (p *pins) describe(e *report.Environment) {
	e.GeneratorCPUs, e.ServerCPUs = formatCPUs(p.generator.cpus), formatCPUs(p.serverCPUs())
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
	if p.generator.given || p.servers.given {
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
	p.allowed, p.started = allowed, started
	p.generator = cpuList{text: formatCPUs(generator), given: true, cpus: generator}
	return [][]int{a, b}, errors.Join(errs...)
}

// duetCPUs divides the CPUs between the generator and two arms that run at the
// same time: a quarter, but at least one, for each arm, and the rest for the
// generator, which drives both. CPUs that are threads of one core are not told
// from others.
func duetCPUs(allowed []int) (generator, a, b []int, err error) {
	if len(allowed) < 3 {
		return nil, nil, nil, fmt.Errorf("duet needs 3 CPUs: one for the generator and one for each arm; this process may use %d",
			len(allowed))
	}
	each := max(1, len(allowed)/4)
	rest := len(allowed) - 2*each
	return slices.Clone(allowed[:rest]), slices.Clone(allowed[rest : rest+each]), slices.Clone(allowed[rest+each:]), nil
}
