package load

// GeneratorUse returns the CPU that the generator used as a share of what it
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
//     what other processes took from it (TakenByOthers).
func (r *Result) GeneratorUse(taken float64) float64 {
	window, used := r.Duration.Seconds(), r.GeneratorCPUSec
	if window <= 0 || used <= 0 || r.GeneratorCores == 0 {
		return 0
	}
	running := max(0, window-r.GeneratorStalledSec)
	threads := float64(r.usableCores()) * running
	if r.Engine == EventLoop {
		threads -= r.GeneratorWaitedSec
	}
	could := min(threads, float64(r.cpus())*running-taken-r.TakenByOthers(r.GeneratorWaitedSec, r.Others(taken)))
	if r.GeneratorCPULimit > 0 {
		could = min(could, r.GeneratorCPULimit*window)
	}
	return used / max(used, could)
}

// Others returns the CPU in seconds that all processes of the machine used
// beside the generator and the system under test; 0: none, or not known.
func (r *Result) Others(server float64) float64 {
	return max(0, r.MachineCPUSec-r.GeneratorCPUSec-server)
}

// TakenByOthers returns how much of the CPU that other processes used, all in
// seconds, was taken from a side whose threads waited for a core for so long.
// While they waited somebody ran: others, the other side, or the side itself,
// each in the proportion of the CPU that it used. The rest of what others used
// took nothing from a side that had nothing to do then.
func (r *Result) TakenByOthers(waited, others float64) float64 {
	if r.MachineCPUSec <= 0 {
		return 0
	}
	return others * min(1, waited/r.MachineCPUSec)
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
