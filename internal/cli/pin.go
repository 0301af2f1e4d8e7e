package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"contend/experiment"
	"contend/internal/placement"
	"contend/probe"
	"contend/setting"
)

// pins are what is asked for of the CPUs on which the load generator, this process, and the
// servers that it starts run.
type pins struct {
	Generator []cpuRange `flag:"generator-cpus" words:"pin the load generator to these *CPUs*, as in 0,2-3 (Linux)"`
	Servers   []cpuRange `flag:"server-cpus" words:"pin the servers that contend starts to these *CPUs* (Linux)"`
	experiment.Placing

	process placement.Process // set by check
}

// cpuRange is an element of a list in the form of taskset: 0 or 2-3.
type cpuRange struct{ first, last int }

// UnmarshalText reads the form of taskset.
func (r *cpuRange) UnmarshalText(text []byte) error {
	low, high, ok := placement.Range(string(text))
	if !ok {
		return setting.NotAllowed(string(text), "a CPU or a range of them, as in 0 or 2-3")
	}
	*r = cpuRange{low, high}
	return nil
}

// MarshalText returns the form of taskset.
func (r cpuRange) MarshalText() ([]byte, error) {
	return []byte(placement.Format(cpusOf([]cpuRange{r}))), nil
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
	l := placement.Layout{Generator: cpusOf(p.Generator), Servers: cpusOf(p.Servers)}
	var errs []error
	if p.Placement == placement.Apart && !started {
		errs = append(errs, fmt.Errorf("--placement apart requires servers that contend starts, with %s", flag))
	}
	if len(l.Generator)+len(l.Servers) == 0 {
		p.process = placement.Process{}
		return errors.Join(errs...)
	}
	if p.Placement != placement.Auto && p.Placement != "" {
		errs = append(errs, errors.New("use either --placement or --generator-cpus and --server-cpus, which choose the CPUs themselves"))
	}
	if len(l.Servers) > 0 && !started {
		errs = append(errs, fmt.Errorf("--server-cpus requires servers that contend starts, with %s", flag))
	}
	allowed, err := probe.CPUs()
	if err != nil {
		return errors.Join(append(errs, fmt.Errorf("--generator-cpus and --server-cpus: %w", err))...)
	}
	for _, list := range []*[]cpuRange{&p.Generator, &p.Servers} {
		for _, r := range *list {
			if slices.ContainsFunc(cpusOf([]cpuRange{r}), func(cpu int) bool { return !slices.Contains(allowed, cpu) }) {
				errs = append(errs, setting.At(p, list).OutOf(r, placement.Format(allowed)+", which this process may use"))
			}
		}
	}
	if len(l.Servers) == 0 && started { // what this process is held to is not inherited
		l.Servers = allowed
	}
	p.process = placement.Fixed(l, allowed)
	return setting.FlagErrors(errors.Join(errs...))
}

// placing is the kind of placement for a command that starts servers, or starts none.
func (p *pins) placing(started bool) placement.Kind {
	if !started {
		return placement.Shared
	}
	return p.Placement
}

// place pins this process to its CPUs: the given ones, or those of a kind of placement. It
// prints what is odd about given sets on w.
func (p *pins) place(kind placement.Kind, w io.Writer) error {
	l := p.process.Layout
	if len(p.Generator) > 0 && len(p.Servers) > 0 && !l.Apart() {
		fmt.Fprintf(w, "contend: the load generator (CPUs %s) and the servers (CPUs %s) share CPUs and slow each other down\n",
			placement.Format(l.Generator), placement.Format(l.Servers))
	}
	err := p.process.Place(kind)
	if err != nil && len(p.Generator) > 0 {
		return fmt.Errorf("--generator-cpus %s: %w", placement.Format(l.Generator), err)
	}
	return err
}

// duet holds the generator to CPUs of its own, and returns the sets of the two
// arms.
func (p *pins) duet(started bool) ([][]int, error) {
	var errs []error
	if !started {
		errs = append(errs, errors.New("--duet requires two servers that contend starts, with --url and two commands"))
	}
	if len(p.Generator)+len(p.Servers) > 0 {
		errs = append(errs, errors.New("--duet chooses the CPUs; leave out --generator-cpus and --server-cpus"))
	}
	allowed, err := probe.CPUs()
	if err != nil {
		return nil, errors.Join(append(errs, fmt.Errorf("--duet: %w", err))...)
	}
	generator, a, b, err := duetCPUs(allowed)
	if err != nil {
		errs = append(errs, fmt.Errorf("--%w", err))
	}
	p.process = placement.Fixed(placement.Layout{Generator: generator, Servers: allowed}, allowed)
	return [][]int{a, b}, errors.Join(errs...)
}

// duetCPUs divides the CPUs between the generator and two arms that run at the
// same time: a quarter, but at least one, for each arm, and the rest for the
// generator, which drives both. CPUs that are threads of one core are not told
// from others.
func duetCPUs(allowed []int) (generator, a, b []int, err error) {
	if len(allowed) < 3 {
		return nil, nil, nil, fmt.Errorf("--duet requires 3 CPUs: one for the load generator and one for each variant; this process may use %d",
			len(allowed))
	}
	each := max(1, len(allowed)/4)
	rest := len(allowed) - 2*each
	return slices.Clone(allowed[:rest]), slices.Clone(allowed[rest : rest+each]), slices.Clone(allowed[rest+each:]), nil
}
