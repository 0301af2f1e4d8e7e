package perf

import "time"

// frequency is how often samples are usually taken, per second of CPU time: out of step
// with what a program does each millisecond. (Gregg, "perf CPU Sampling", 2014,
// www.brendangregg.com/blog/2014-06-22/perf-cpu-sample.html, has 99 for this reason. Ten
// times as often gives as many samples in a tenth of the time.)
const frequency = 999

// often is how often they are taken where that is not enough. A sample costs some 30 µs in a virtual machine, for its timer.
const often = 3999

// Samples say where the CPU time of processes went while samples were taken: each
// represents a Period.
type Samples struct {
	Processes []Process
	// Began is when the first of them may have been taken.
	Began time.Time
	// Period is the CPU time that a sample represents.
	Period time.Duration
	// Lost is how many records the kernel did not write, as we were too slow to read.
	Lost uint64
	// Dropped is how many samples came when as many different stacks were known as are kept.
	Dropped uint64
	// Throttled is how often the kernel took no samples of a thread until its next tick,
	// as there were more than kernel.perf_event_max_sample_rate allows.
	Throttled uint64
	// KernelMissing says why CPU time in the kernel was not sampled. nil: it was.
	KernelMissing *UnavailableError
}

// Count is the number of samples in Processes.
func (s *Samples) Count() uint64 {
	var n uint64
	for _, p := range s.Processes {
		for _, stack := range p.Stacks {
			n += stack.Count
		}
	}
	return n
}

// A Process is a process as long as no address in it changed its meaning: what runs
// another program (execve(2)) is another Process with the same PID.
type Process struct {
	PID int
	// Maps say what lay at its addresses. None: it had ended before anybody could look.
	Maps []Map
	// Stacks are all different, the most frequent first.
	Stacks []Stack
}

// A Map is an executable mapping: the bytes of a file, starting at Offset, were at the
// addresses from Start to before End.
type Map struct {
	PID                int
	Start, End, Offset uint64
	// The file, as in /proc/PID/maps (proc_pid_maps(5)): as the process sees it, followed by
	// " (deleted)" if it was; "[vdso]" and the like; "": none, as of compiled code.
	Path string
	// The device and number of the file; 0 if it is not a file.
	Major, Minor uint32
	Inode        uint64
}

// A Stack is where threads were when samples were taken. The first address is that of the
// instruction; the following ones are where its callers go on, the outermost last.
//
// The kernel keeps kernel.perf_event_max_stack of them. In user space it finds them by
// frame pointers, which Go and some distributions keep: without them callers are missing
// or wrong, as is the first caller of a function that has no frame, or none yet. Memory shows
// them, with what files say of their stacks. In the kernel the first address is where interrupts
// were next allowed.
type Stack struct {
	Kernel []uint64 // none: the thread was in user space
	User   []uint64 // none: it has no user space
	// Frame and Pointer are the registers rbp and rsp in user space, and Memory is what there was from Pointer on,
	// up to 4 KiB. On other machines than x86-64 they mean nothing.
	Frame, Pointer uint64
	Memory         []byte
	Count          uint64
}

// Sample opens a sampler of the CPU time of the threads that list returns, and of all that these
// start after the call, with [frequency] samples per second of it. A thread 0 is the calling
// one, as for [Children]. It holds a descriptor for each thread and CPU.
//
// CPU time in the kernel is also sampled, where that is allowed. The time of a thread on a CPU
// is rounded down to whole periods: threads that live for less are not seen.
//
// The errors are those of [Threads].
func Sample(list func() ([]int, error)) (*Sampler, error) { return openSampler(list, frequency) }

// SampleOwn opens a sampler of this process, as [Sample] does.
func SampleOwn() (*Sampler, error) { return Sample(ownThreads) }
