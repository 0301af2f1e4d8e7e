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
	return why.OffCPU{
		Ready:          time.Duration(window.WaitedSec * float64(time.Second)),
		Activity:       around.Activity.Part(share),
		MemoryPressure: waits.MemoryPressure,
		DiskPressure:   waits.DiskPressure,
		Elapsed:        around.Elapsed,
	}
}
