package placement

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"contend/probe"
)

// A Process is this one, the load generator, together with the servers that it starts.
// The zero value uses all CPUs. One goroutine uses it.
type Process struct {
	Layout
	kind  Kind   // that was placed; "": none
	free  func() // undoes what holds this process; nil: nothing does
	fixed bool   // by whoever made it
	first Layout // before it was widened
	all   []int  // that this process could use, of a fixed one
	far   bool   // others are placed
	needs int    // CPUs of the load generator, of a far one
}

// Far returns the process of a coordinator: a worker that both drives and starts servers places these two by what is Asked of
// it, and Told here.
func Far() Process { return Process{far: true} }

// Asked is the kind of placement and how many CPUs the load generator needs at least, of a Far one.
func (p *Process) Asked() (kind Kind, generator int) { return p.kind, p.needs }

// Told takes the layout of a worker.
func (p *Process) Told(l Layout) { p.Layout = l }

// ServersHere are the CPUs of servers that are started on this machine; none: all.
func (p *Process) ServersHere() []int {
	if p.far {
		return nil
	}
	return p.Servers
}

// Fixed returns a process of a layout that does not change, out of all the CPUs that may be used.
func Fixed(l Layout, all []int) Process { return Process{Layout: l, fixed: true, all: all} }

// Place chooses the CPUs and holds this process to its own, until Release; servers do not
// inherit that. Where it was asked for the same before it keeps to that choice. The error is
// that the two cannot be Apart, or that the system refuses.
func (p *Process) Place(kind Kind) error {
	switch {
	case p.fixed:
		return p.hold()
	case p.far:
		p.kind, p.needs, p.Layout = kind, 1, Layout{}
		return nil
	case p.kind == kind:
		return p.take(p.first)
	case kind == Shared:
		p.kind = kind
		return p.take(Layout{})
	}
	p.Release()
	l, err := apart(1)
	switch {
	case err != nil && kind == Apart:
		return fmt.Errorf("load generator and servers cannot have CPUs of their own: %w", err)
	case err != nil:
		l = Layout{Because: err.Error()}
	}
	p.kind, p.first = kind, l
	return p.take(l)
}

// apart looks at the machine and gives the load generator at least so many CPUs.
func apart(generator int) (Layout, error) {
	allowed, err := probe.CPUs()
	if err != nil {
		return Layout{}, err
	}
	return look(os.DirFS("/"), allowed, time.Sleep).Apart(generator)
}

// take holds this process to another layout.
func (p *Process) take(l Layout) error {
	p.Release()
	p.Layout = l
	return p.hold()
}

// Widen gives the load generator, whose CPUs were its limit, twice as many, or where there are
// too few all of them to both sides, unless they are to be Apart. It returns false where nothing can be changed.
func (p *Process) Widen() bool {
	if p.fixed || !p.Layout.Apart() {
		return false
	}
	if p.far {
		p.needs *= 2
		return true
	}
	n := len(p.Generator)
	p.Release()
	l, err := apart(2 * n)
	if err != nil && p.kind == Apart {
		_ = p.hold() // as before
		return false
	}
	if err != nil {
		l = Layout{Because: fmt.Sprintf("the load generator was the limit on %s", cpus(p.Generator))}
	}
	return p.take(l) == nil
}

// OwnCores reports whether the load generator has its CPUs to itself: the servers have others, or
// others are left for them.
func (p *Process) OwnCores() bool {
	left := len(p.Generator) > 0 && len(p.Generator) < len(p.all)
	return p.Apart() || left && (len(p.Servers) == 0 || len(p.Servers) == len(p.all))
}

// PlaceFor is Place with so many CPUs for the load generator at least, or as many as there are.
func (p *Process) PlaceFor(kind Kind, generator int) error {
	if p.kind == kind && len(p.Generator) >= generator && p.Apart() {
		return p.hold()
	}
	if err := p.Place(kind); err != nil {
		return err
	}
	for p.Apart() && len(p.Generator) < generator && p.Widen() {
	}
	p.first = p.Layout
	return nil
}

// holding counts who holds this process now, and undoes it: one that comes while another holds it finds it held,
// and must not leave it so.
var holding struct {
	sync.Mutex
	by   int
	undo func()
}

// hold holds this process to the load generator's CPUs.
func (p *Process) hold() error {
	if len(p.Generator) == 0 || p.free != nil || p.far {
		return nil
	}
	holding.Lock()
	defer holding.Unlock()
	unpin, err := pin(p.Generator)
	if err != nil {
		return err
	}
	procs := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(min(procs, len(p.Generator)))
	if holding.by++; holding.by == 1 {
		holding.undo = func() {
			runtime.GOMAXPROCS(procs)
			unpin()
		}
	}
	p.free = letGo
	return nil
}

// letGo lets this process use all CPUs again once nobody holds it any more.
func letGo() {
	holding.Lock()
	defer holding.Unlock()
	if holding.by--; holding.by == 0 {
		holding.undo()
	}
}

// Release lets this process use all CPUs again. Its Layout says where it was.
func (p *Process) Release() {
	if p.free != nil {
		p.free()
		p.free = nil
	}
}

// Probe looks at the machine between the CPUs of both sides. The threads of the probe need
// two processors of the Go runtime, which a load generator with one CPU does not have.
func (p *Process) Probe() probe.Sample {
	if len(p.Generator)+len(p.Servers) == 0 || p.far {
		return probe.Take()
	}
	if procs := runtime.GOMAXPROCS(0); procs == 1 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(procs)
	}
	return probe.TakeOn(p.cpus())
}

// cpus are those of both sides; one without its own has all that this process could use.
func (p *Process) cpus() []int {
	if len(p.Generator) == 0 || len(p.Servers) == 0 {
		if all := p.all; len(all) > 0 {
			return all
		}
	}
	both := slices.Concat(p.Generator, p.Servers)
	slices.Sort(both)
	return both
}
