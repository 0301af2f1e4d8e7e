package why

import (
	"math"
	"slices"
	"time"

	"contend/internal/perf"
)

// OffCPU is what the kernel counted of an arm's threads in addition to their CPU time.
type OffCPU struct {
	// Ready is how long they could run and had no core, added up over them.
	Ready time.Duration `json:"ready_ns,omitempty"`
	perf.Activity
	// MemoryPressure and DiskPressure are how long some thread of the machine, not of
	// the arm alone, waited for memory or a disk, of the Elapsed time.
	MemoryPressure time.Duration `json:"memory_pressure_ns,omitempty"`
	DiskPressure   time.Duration `json:"disk_pressure_ns,omitempty"`
	Elapsed        time.Duration `json:"elapsed_ns,omitempty"`
}

func (o *OffCPU) add(p OffCPU) {
	o.Ready += p.Ready
	o.Activity = o.Activity.Plus(p.Activity)
	o.MemoryPressure += p.MemoryPressure
	o.DiskPressure += p.DiskPressure
	o.Elapsed += p.Elapsed
}

// A Count is a figure of OffCPU, per operation.
type Count struct {
	Row
	// Events says that it is a number of them, and else nanoseconds.
	Events bool
	// Matters says that it clearly differs and is worth mentioning: rows of work or waiting
	// clearly differ as well, and as many events take 1% of the CPU time.
	Matters bool
}

// mattersShare is the share of the greater CPU time. A convention, as what events take is.
const mattersShare = 0.01

// counts are the figures of OffCPU. What an event takes, in ns, is the order of magnitude on
// present machines, and decides what is worth mentioning only.
var counts = []struct {
	name  string
	takes float64
	of    func(OffCPU) int64
}{
	{"runnable, waiting for a CPU", 1, func(o OffCPU) int64 { return int64(o.Ready) }},
	{"voluntary context switches", 1000, func(o OffCPU) int64 { return o.VoluntarySwitches }},
	{"preemptions", 1000, func(o OffCPU) int64 { return o.InvoluntarySwitches }},
	{"page faults", 500, func(o OffCPU) int64 { return o.MinorFaults }},
	{"page faults from disk", 100_000, func(o OffCPU) int64 { return o.MajorFaults }},
}

// compareCounts compares those figures that are not 0 in all rounds; their intervals hold together.
// Without any other difference none matters, so that equal arms are named as seldom as without them.
func (e *Explanation) compareCounts(pairs []pair, confidence float64) {
	least := mattersShare * max(e.CPU.BaselineValue, e.CPU.CandidateValue)
	differ := len(e.Rows) > 0 || e.Wait.Excludes0()
	for _, c := range counts {
		perOp := func(p Profile) float64 { return ratio(float64(c.of(p.OffCPU)), float64(p.Operations)) }
		if !slices.ContainsFunc(pairs, func(p pair) bool { return perOp(p[0]) != 0 || perOp(p[1]) != 0 }) {
			continue
		}
		row := compared(c.name, pairs, perOp, 1-(1-confidence)/float64(len(counts)))
		e.Counts = append(e.Counts, Count{Row: row, Events: c.takes > 1, Matters: differ && row.Excludes0() && math.Abs(row.Value)*c.takes >= least})
	}
}
