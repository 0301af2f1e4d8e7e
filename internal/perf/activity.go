package perf

import "github.com/prometheus/procfs"

// Activity is what the kernel counts of processes without being asked, from their starts or over a
// stretch of time. A thread takes its switches with it when it ends, so that a difference can be too
// small and even negative.
type Activity struct {
	// VoluntarySwitches are how often a thread gave up its core to wait, InvoluntarySwitches how
	// often one had to.
	VoluntarySwitches   int64 `json:"voluntary_switches,omitempty"`
	InvoluntarySwitches int64 `json:"involuntary_switches,omitempty"`
	// MinorFaults are accesses to memory that the kernel had to map first, MajorFaults those for
	// which it had to read a disk; of children that were waited for, too.
	MinorFaults int64 `json:"minor_faults,omitempty"`
	MajorFaults int64 `json:"major_faults,omitempty"`
	// DiskWritten is how many bytes they had written to disks, and those that they will, less what was
	// deleted before; 0 also where that may not be read.
	DiskWritten int64 `json:"disk_written_bytes,omitempty"`
	// ReadCalls and WriteCalls are system calls of the families of read and write, also on sockets, and ReadBytes and
	// WrittenBytes what these moved, without those of send and recv; 0 also where they may not be read. They are not stored.
	ReadCalls    int64 `json:"-"`
	WriteCalls   int64 `json:"-"`
	ReadBytes    int64 `json:"-"`
	WrittenBytes int64 `json:"-"`
}

// OfProcess is what a process did so far, with the children that it waited for, and without what is of its
// threads (proc_pid_stat(5), proc_pid_io(5)).
func OfProcess(stat procfs.ProcStat) Activity {
	a := Activity{MinorFaults: int64(stat.MinFlt + stat.CMinFlt), MajorFaults: int64(stat.MajFlt + stat.CMajFlt)}
	if p, err := procfs.NewProc(stat.PID); err == nil {
		if io, err := p.IO(); err == nil {
			a.DiskWritten = int64(io.WriteBytes) - io.CancelledWriteBytes
			a.ReadCalls, a.WriteCalls, a.ReadBytes, a.WrittenBytes = int64(io.SyscR), int64(io.SyscW), int64(io.RChar), int64(io.WChar)
		}
	}
	return a
}

// OfThread is what a thread did so far (proc_pid_status(5)).
func OfThread(status procfs.ProcStatus) Activity {
	return Activity{VoluntarySwitches: int64(status.VoluntaryCtxtSwitches), InvoluntarySwitches: int64(status.NonVoluntaryCtxtSwitches)}
}

// Plus is what happened in two stretches of time, or in two processes.
func (a Activity) Plus(b Activity) Activity {
	return a.with(b, func(x, y int64) int64 { return x + y })
}

// Minus is what happened between an earlier moment and a's.
func (a Activity) Minus(earlier Activity) Activity {
	return a.with(earlier, func(x, y int64) int64 { return x - y })
}

// Part is a share of it, from 0 to 1; of what is negative nothing.
func (a Activity) Part(share float64) Activity {
	return a.with(a, func(x, _ int64) int64 { return max(0, int64(share*float64(x)+0.5)) })
}

// with calculates each figure of two activities.
func (a Activity) with(b Activity, of func(x, y int64) int64) Activity {
	for _, figure := range [][2]*int64{
		{&a.VoluntarySwitches, &b.VoluntarySwitches},
		{&a.InvoluntarySwitches, &b.InvoluntarySwitches},
		{&a.MinorFaults, &b.MinorFaults},
		{&a.MajorFaults, &b.MajorFaults},
		{&a.DiskWritten, &b.DiskWritten},
		{&a.ReadCalls, &b.ReadCalls},
		{&a.WriteCalls, &b.WriteCalls},
		{&a.ReadBytes, &b.ReadBytes},
		{&a.WrittenBytes, &b.WrittenBytes},
	} {
		*figure[0] = of(*figure[0], *figure[1])
	}
	return a
}
