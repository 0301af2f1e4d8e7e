package load

import (
	"cmp"

	"contend/finding"
)

// machineFull is the share of the CPU time of all cores at which the machine
// counts as full.
const machineFull = 0.95

// generatorUse returns the CPU that the generator used as a share of what it
// could get in the measured window, up to 1; 0: not known. Taken is the CPU, in
// seconds, that the system under test used on CPUs that the generator may use.
//
// What it could get is the least of
//
//   - its threads that can run at the same time (event loops, else GOMAXPROCS),
//     for as long as the process was not stalled;
//   - for event loops, the same without the time that they waited for a core:
//     an event loop that is not running and not waiting for a core has nothing
//     to do;
//   - the CPU limit of its control group;
//   - the CPUs that it may use, while not stalled, without what was taken and
//     what other processes took from it (takenByOthers).
func (r *Result) generatorUse(taken float64) float64 {
	window, used := r.Duration.Seconds(), r.GeneratorCPUSec
	if window <= 0 || used <= 0 || r.GeneratorCores == 0 {
		return 0
	}
	running := max(0, window-r.GeneratorStalledSec)
	threads := float64(r.usableCores()) * running
	if r.Engine == EventLoop {
		threads -= r.GeneratorWaitedSec
	}
	could := min(threads, float64(r.cpus())*running-taken-r.takenByOthers(r.GeneratorWaitedSec, r.Others(taken)))
	if r.GeneratorCPULimit > 0 {
		could = min(could, r.GeneratorCPULimit*window)
	}
	return used / max(used, could)
}

// Others returns the CPU in seconds that all processes of the machine used
// except the generator and the system under test; 0: none, or not known.
func (r *Result) Others(server float64) float64 {
	if r.ServerApart {
		server = 0
	}
	return max(0, r.MachineCPUSec-r.GeneratorCPUSec-server)
}

// Squeezed is how many times the throughput could be at most if others left the machine alone and
// an operation took as much CPU time: all that there is ÷ what generator and server had; false: it
// is not known.
func (r *Result) Squeezed() (factor float64, known bool) {
	all := float64(r.MachineCores) * r.Duration.Seconds()
	had := r.GeneratorCPUSec
	if r.Server != nil {
		had += r.Server.CPUSec
	}
	if r.MachineCPUSec <= 0 || all <= 0 || had <= 0 {
		return 1, false
	}
	return max(1, all/had), true
}

// takenByOthers returns how much of the CPU that other processes used, all in
// seconds, was taken from a side whose threads waited for a core for so long.
// While they waited somebody ran: others, the other side, or the side itself,
// each in the proportion of the CPU that it used. The rest of what others used
// took nothing from a side that had nothing to do then.
func (r *Result) takenByOthers(waited, others float64) float64 {
	if r.MachineCPUSec <= 0 {
		return 0
	}
	return others * min(1, waited/r.MachineCPUSec)
}

// keptFrom is the share of the CPU time that the generator needed which others took from it;
// 0 also where nothing is known of the server, which may be one of them.
func (r *Result) keptFrom() float64 {
	if r.Server == nil || r.GeneratorCPUSec <= 0 {
		return 0
	}
	taken := r.takenByOthers(r.GeneratorWaitedSec, r.Others(r.Server.CPUSec))
	return taken / (taken + r.GeneratorCPUSec)
}

// Elsewhere is the share of all CPU time of the machine that programs other than the generator
// and the server used, 0 to 1; also 0 if that is not known. A server that contend did not
// start may be among them.
func (r *Result) Elsewhere() float64 {
	all, server := float64(r.MachineCores)*r.Duration.Seconds(), 0.0
	switch {
	case r.Server != nil:
		server = r.Server.CPUSec
	case !r.Local:
		return 0
	}
	if all <= 0 {
		return 0
	}
	return min(1, r.Others(server)/all)
}

// cpus returns how many CPUs the generator may run on.
func (r *Result) cpus() int {
	if r.GeneratorCPUs > 0 {
		return r.GeneratorCPUs
	}
	return r.GeneratorCores
}

// usableCores returns how many cores the generator can use: an event loop uses
// one.
func (r *Result) usableCores() int {
	if r.Engine == EventLoop {
		return min(r.Loops, r.GeneratorCores)
	}
	return r.GeneratorCores
}

// cpuUse is how much of the CPU that it could get each side used.
type cpuUse struct {
	generator, server float64 // shares, 0 to 1; both 0: not known
	diluted           float64 // server ÷ (server + generator)
	apart             bool    // on different CPUs

	busiest Generator // of several
}

// saturated returns the warning generator_saturated when the generator, or one of several, was at
// its limit and the server was not.
func (u cpuUse) saturated() *finding.Warning {
	who, use := "the load generator", u.generator
	if u.busiest.CPUShare > use {
		who, use = "the worker "+u.busiest.Name, u.busiest.CPUShare
	}
	if use < finding.GeneratorSaturated.Warns || u.server >= finding.ServerBusy.Warns {
		return nil
	}
	return finding.GeneratorSaturated.Refusal("%s used %.0f%% of the CPU it could get, the server %.0f%%",
		who, 100*use, 100*u.server)
}

// cpu returns zeros if no subject was sampled: then nothing is known.
func (r *Result) cpu() cpuUse {
	if r.Server == nil || r.Duration <= 0 || r.GeneratorCPUSec == 0 || r.Server.CPUSec == 0 {
		return cpuUse{}
	}
	return cpuUse{
		generator: r.generatorUse(min(r.Server.CPUSec, r.shared())),
		server:    r.serverUse(),
		diluted:   r.Server.CPUSec / (r.Server.CPUSec + r.GeneratorCPUSec),
		apart:     r.ServerApart || r.Server.CPUs > 0 && r.Server.SharedCPUs == 0,
		busiest:   r.busiest(),
	}
}

// busiest is that of several generators which used the most of the CPU that it could get.
func (r *Result) busiest() (g Generator) {
	for _, one := range r.Generators {
		if one.CPUShare > g.CPUShare {
			g = one
		}
	}
	return g
}

// shared is the CPU time, in seconds, of the CPUs that both sides may use.
func (r *Result) shared() float64 {
	switch {
	case r.ServerApart:
		return 0
	case r.Server.CPUs == 0:
		return float64(r.GeneratorCores) * r.Duration.Seconds()
	}
	return float64(r.Server.SharedCPUs) * r.Duration.Seconds()
}

// serverUse is what the server used of its CPUs without what the generator and
// others took from it. A limit of its own (a quota, one thread) is not known.
func (r *Result) serverUse() float64 {
	cpus := cmp.Or(r.Server.CPUs, r.GeneratorCPUs, r.GeneratorCores)
	could := float64(cpus)*r.Duration.Seconds() - min(r.GeneratorCPUSec, r.shared())
	if !r.ServerApart { // other programs on its machine are not known
		could -= r.takenByOthers(r.Server.WaitedSec, r.Others(r.Server.CPUSec))
	}
	return r.Server.CPUSec / max(could, r.Server.CPUSec)
}

// crowding is the share of the CPU time used that other processes used, on a full machine
// where at least one side was at its limit, or starved. 0: otherwise, or if that is not
// known, as when the server, or a part of it, may be one of the others.
func (r *Result) crowding() float64 {
	all, server := r.MachineCPUSec, 0.0
	use := cpuUse{generator: r.generatorUse(0)}
	switch {
	case r.Server != nil && !r.Server.Foreign:
		server, use = r.Server.CPUSec, r.cpu()
	case !r.Local:
		return 0
	}
	if !r.full() || max(use.generator, use.server) < finding.ServerBusy.Warns && !r.starved() {
		return 0
	}
	return r.Others(server) / all
}

// starved: a side waited for a core for longer than it had one.
func (r *Result) starved() bool {
	return r.GeneratorWaitedSec > r.GeneratorCPUSec || r.Server != nil && r.Server.WaitedSec > r.Server.CPUSec
}

// full: the machine had no CPU left.
func (r *Result) full() bool {
	return r.MachineCPUSec > 0 && r.MachineCPUSec >= machineFull*float64(r.MachineCores)*r.Duration.Seconds()
}

// Crowded returns the warning machine_busy when the machine had no CPU left and
// others than generator and server used most of it, whether or not one of these
// was at its limit; nil: no, or not known.
func (r *Result) Crowded() *finding.Warning {
	if r.Server == nil || r.Server.Foreign || !r.full() {
		return nil
	}
	return crowd(r.Others(r.Server.CPUSec)/r.MachineCPUSec, finding.MachineBusy.Refuses)
}

// crowd returns the warning machine_busy for a share of others above the bound.
func crowd(share, bound float64) *finding.Warning {
	if share <= bound {
		return nil
	}
	return finding.MachineBusy.Refusal("other programs used %.0f%% of the CPU time on a machine that had none left", 100*share)
}

// cpuFindings is what the CPU use of both sides, and of others, says about the
// figures.
func (r *Result) cpuFindings() []finding.Warning {
	var found []finding.Warning
	use := r.cpu()
	busy, saturated := use.generator >= finding.CPUShared.Warns, use.saturated()
	switch {
	case saturated != nil && r.Server.Foreign:
		found = append(found, finding.GeneratorBusy.Warning(
			"the load generator used %.0f%% of the CPU it could get, the server that listens there %.0f%%: the load generator may be the bottleneck",
			100*use.generator, 100*use.server))
	case saturated != nil:
		found = append(found, *saturated)
	case busy && !use.apart:
		found = append(found, finding.CPUShared.Warning(
			"load generator and server were both busy on the same cores: %.0f%% of the CPU used was the server's, so a change of the server's cost shows in the throughput at %.0f%% of its size",
			100*use.diluted, 100*use.diluted))
	case use.server >= finding.ServerBusy.Warns:
		found = append(found, finding.ServerBusy.Warning("the server used %.0f%% of the CPU it could get: it was at its limit", 100*use.server))
	}
	if w := crowd(r.crowding(), finding.MachineBusy.Warns); w != nil {
		found = append(found, *w)
	}
	if s := r.Server; s != nil && use.apart && s.CPUs == 1 && s.Parallel && !s.Foreign && !r.ServerApart {
		found = append(found, finding.OneCPU.Warning("the server ran on one CPU, so its threads never ran in parallel: --placement shared shows how they contend"))
	}
	return found
}
