package trial

import (
	"time"

	"contend/load"
	"contend/subject"
	"contend/why"
)

// offCPU returns what the kernel counted of a server in a window: of what it counted around it the
// part that the window has of the CPU time. A thread that ended took its counts with it.
func offCPU(around subject.Sample, window *load.Usage, waits Waits) why.OffCPU {
	share := 1.0
	if used := around.CPU.Seconds(); used > window.CPUSec {
		share = window.CPUSec / used
	}
	part := func(events int64) int64 { return max(0, int64(share*float64(events)+0.5)) }
	return why.OffCPU{
		Ready:               time.Duration(window.WaitedSec * float64(time.Second)),
		VoluntarySwitches:   part(around.VoluntarySwitches),
		InvoluntarySwitches: part(around.InvoluntarySwitches),
		MinorFaults:         part(around.MinorFaults),
		MajorFaults:         part(around.MajorFaults),
		MemoryPressure:      waits.MemoryPressure,
		DiskPressure:        waits.DiskPressure,
		Elapsed:             around.Elapsed,
	}
}
