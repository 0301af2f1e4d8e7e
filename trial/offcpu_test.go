package trial

import (
	"testing"
	"time"

	"contend/internal/perf"
	"contend/load"
	"contend/subject"
	"contend/why"
)

// The window has 300 of 400 ms of CPU time, so 3/4 of what was counted: 75, 8.25 which is rounded,
// 30, and 0 of what threads that ended took with them.
func TestOffCPU(t *testing.T) {
	around := subject.Sample{CPU: 400 * time.Millisecond, Elapsed: time.Second, Activity: perf.Activity{VoluntarySwitches: 100, InvoluntarySwitches: 11, MinorFaults: 40, MajorFaults: -1}}
	window := &load.Usage{CPUSec: 0.3, WaitedSec: 0.02}
	waits := Waits{MemoryPressure: 2}
	want := why.OffCPU{Ready: 20 * time.Millisecond, Activity: perf.Activity{VoluntarySwitches: 75, InvoluntarySwitches: 8, MinorFaults: 30}, MemoryPressure: 2, Elapsed: time.Second}
	if got := offCPU(around, window, waits); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Clocks that were read at other moments show more in the window than around it.
	around.CPU = 200 * time.Millisecond
	if got := offCPU(around, window, waits); got.VoluntarySwitches != 100 {
		t.Errorf("%d switches, want 100", got.VoluntarySwitches)
	}
}
