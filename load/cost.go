package load

import (
	"cmp"
	"runtime"

	"contend/internal/cpu"
	"contend/internal/perf"
)

// Cost is what the machine spent in the measured window, in seconds. A figure
// of 0 is not known on this system, or was none.
type Cost struct {
	// GeneratorCPUSec is the user and system time of this process (of the target
	// too, if that is in process), and GeneratorCores how many cores it may use.
	GeneratorCPUSec float64 `json:"generator_cpu_s"`
	GeneratorCores  int     `json:"generator_cores"`
	// GeneratorCPUs is the number of CPUs that the process may run on, and
	// GeneratorCPULimit that of its control group, in cores; 0: none, or not known.
	GeneratorCPUs     int     `json:"generator_cpus,omitempty"`
	GeneratorCPULimit float64 `json:"generator_cpu_limit,omitempty"`
	// GeneratorWaitedSec is how long threads of the generator (those of the event
	// loops, or all) were able to run and had no core, and GeneratorStalledSec how
	// long the whole process could not run for another reason: it was stopped, or
	// its virtual machine was.
	GeneratorWaitedSec  float64 `json:"generator_waited_s,omitempty"`
	GeneratorStalledSec float64 `json:"generator_stalled_s,omitempty"`
	// MachineCPUSec is the CPU time that was not idle, of all processes on the
	// machine, which has MachineCores.
	MachineCPUSec float64 `json:"machine_cpu_s,omitempty"`
	MachineCores  int     `json:"machine_cores,omitempty"`
	// ServerApart: the generators ran on other machines than the server that was sampled.
	ServerApart bool `json:"server_apart,omitempty"`
	// Server is what the system under test used; nil when there is no process to sample.
	Server *Usage `json:"server,omitempty"`
	// Unsampled is why nothing is known of what the server used, though its process is
	// ours; "": it is, or it is not ours.
	Unsampled string `json:"unsampled,omitempty"`
	// Counted is what events happened in the server, counted in other runs than all
	// else in a result; nil: none were counted.
	Counted *Counted `json:"counted,omitempty"`
	// Uncounted is why events could not be counted, and what to do about it; "": they
	// were, or nobody asked.
	Uncounted string `json:"uncounted,omitempty"`
}

// Usage is what a process tree used over a stretch of time.
type Usage struct {
	CPUSec   float64 `json:"cpu_s"`
	RSSBytes int64   `json:"rss_bytes"` // the largest seen at the end of a run
	Threads  int     `json:"threads"`   // the largest seen
	perf.Activity
	// WaitedSec is how long its threads were able to run and had no core.
	WaitedSec float64 `json:"waited_s,omitempty"`
	// CPUs is how many CPUs it may use, and SharedCPUs how many of these the
	// generator may also use; both 0: not known, taken as all and all.
	CPUs       int `json:"cpus,omitempty"`
	SharedCPUs int `json:"shared_cpus,omitempty"`
	// Parallel: it would run several threads at the same time, if it had as many CPUs.
	Parallel bool `json:"parallel,omitempty"`
	// Foreign: it is the server that was found to listen at the target's address, and may
	// not be all that answers. No verdict is refused for what it used.
	Foreign bool `json:"foreign,omitempty"`
}

// Add adds up what two runs on the same machine cost.
func (c *Cost) Add(o *Cost) {
	c.GeneratorCPUSec += o.GeneratorCPUSec
	c.GeneratorCores = max(c.GeneratorCores, o.GeneratorCores)
	c.GeneratorCPUs = max(c.GeneratorCPUs, o.GeneratorCPUs)
	c.GeneratorCPULimit = max(c.GeneratorCPULimit, o.GeneratorCPULimit)
	c.GeneratorWaitedSec += o.GeneratorWaitedSec
	c.GeneratorStalledSec += o.GeneratorStalledSec
	c.MachineCPUSec += o.MachineCPUSec
	c.MachineCores = max(c.MachineCores, o.MachineCores)
	c.ServerApart = c.ServerApart || o.ServerApart
	if o.Server != nil {
		sum := *o.Server
		if c.Server != nil {
			sum.add(c.Server)
		}
		c.Server = &sum // what was handed in stays as it is
	}
	if c.Unsampled = cmp.Or(c.Unsampled, o.Unsampled); c.Unsampled != "" {
		c.Server = nil // a part would be read as all
	}
	c.Counted = c.Counted.plus(o.Counted)
	c.Uncounted = cmp.Or(c.Uncounted, o.Uncounted)
}

func (u *Usage) add(o *Usage) {
	u.CPUSec += o.CPUSec
	u.RSSBytes = max(u.RSSBytes, o.RSSBytes)
	u.Threads = max(u.Threads, o.Threads)
	u.Activity = u.Activity.Plus(o.Activity)
	u.WaitedSec += o.WaitedSec
	u.CPUs, u.SharedCPUs = max(u.CPUs, o.CPUs), max(u.SharedCPUs, o.SharedCPUs)
	u.Foreign, u.Parallel = u.Foreign || o.Foreign, u.Parallel || o.Parallel
}

// cost is what the process and the machine used in the measured window.
func (w watched) cost() Cost {
	c := Cost{
		GeneratorCPUs: cpu.Allowed(), GeneratorCores: runtime.GOMAXPROCS(0),
		GeneratorWaitedSec: w.spent.Waited.Seconds(), GeneratorStalledSec: w.stalled.Seconds(),
		MachineCPUSec: w.spent.Machine.Seconds(), MachineCores: w.spent.Cores,
	}
	if w.spent.Known {
		c.GeneratorCPUSec = w.spent.Process.Seconds()
	}
	return c
}
