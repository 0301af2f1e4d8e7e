package subject

import (
	"time"

	"contend/internal/perf"
)

// A Sample is what a subject used from its start until one moment, summed over its
// process tree: the process that Start started, its descendants, and its session; or, if
// that process only runs a container, over the container's control group; or what a
// Foreign server used, its processes and their descendants. Only the CPU time remains of
// a process that has ended and was waited for by its parent, as of each in a container.
type Sample struct {
	// Elapsed is the time since the process was started, taken when CPU was; of a
	// Foreign server since it was found.
	Elapsed time.Duration `json:"elapsed_ns"`
	// CPU is user and system time. For a container it is what its control group counts, in steps of the scheduler's
	// ticks if a thread never pauses. For others live processes count with the nanoseconds of their CPU clock;
	// children that were waited for count with the ticks of 10 ms that the kernel shows for them, up to 20 ms too
	// little per parent.
	CPU time.Duration `json:"cpu_ns"`
	// RSSBytes is resident memory; a page shared by two processes counts twice.
	RSSBytes int64 `json:"rss_bytes"`
	// Threads is the number of kernel threads.
	Threads int `json:"threads"`
	perf.Activity
	// Waited is how long its threads were able to run and had no core, of those
	// that live; a difference can be too small, as with the switches.
	Waited time.Duration `json:"waited_ns"`
	// Busiest is the CPU time of the thread that has used the most, of those that live; 0: not known.
	Busiest time.Duration `json:"busiest_ns,omitempty"`
	// Go is set where one of its first processes is a Go program, which has as many threads run at
	// the same time as it finds CPUs.
	Go bool `json:"go,omitempty"`
	// CPUs is the number of CPUs that its first process may use, and SharedCPUs how
	// many of these the sampling process may also use; 0, 0: not known.
	CPUs       int `json:"cpus"`
	SharedCPUs int `json:"shared_cpus"`
}

// Parallel reports whether what was used between two samples, whose difference is s, would be used by several threads at
// the same time if there were several CPUs: no thread used nearly all of it, or it is a Go program.
func (s Sample) Parallel() bool {
	const nearly = 0.8
	return s.Go || s.Busiest > 0 && float64(s.Busiest) < nearly*float64(s.CPU)
}

// Sub returns what was used between an earlier sample and s: the differences of
// the sums, with memory, threads and CPUs as they are in s.
func (s Sample) Sub(earlier Sample) Sample {
	s.Elapsed -= earlier.Elapsed
	s.CPU -= earlier.CPU
	s.Activity = s.Activity.Minus(earlier.Activity)
	s.Waited -= earlier.Waited
	s.Busiest -= earlier.Busiest
	return s
}
