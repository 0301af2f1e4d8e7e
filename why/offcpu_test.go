package why

import (
	"testing"
	"time"

	"contend/internal/perf"
)

// In each of 12 rounds of 1000 operations B waits 20 ns an operation more for a core, 1.4% of the
// 1400 ns that A works for, and of 1650 that B does; it switches 0.01 times more to wait, which
// takes about 10 ns; and faults as often.
func TestCounts(t *testing.T) {
	all := planted(12)
	for i := range all {
		p := &all[i]
		p.OffCPU = OffCPU{Ready: 100 * time.Microsecond, Activity: perf.Activity{VoluntarySwitches: 500, MinorFaults: 30}}
		if p.Arm == "B" {
			p.Ready += 20 * time.Microsecond
			p.VoluntarySwitches += 10
		}
	}
	e, _ := Explain(all, "A", "B", 8, 0.95, nil)
	want := []struct {
		baseline, difference float64
		told, events, says   bool
	}{{100, 20, true, false, true}, {0.5, 0.01, true, true, false}, {0.03, 0, false, true, false}}
	if len(e.Counts) != len(want) { // no preemptions and no faults that read a disk were seen
		t.Fatalf("%+v", e.Counts)
	}
	for i, w := range want {
		c := e.Counts[i]
		near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
		if !near(c.BaselineValue, w.baseline) || !near(c.Value, w.difference) || c.Excludes0() != w.told || c.Events != w.events || c.Matters != w.says {
			t.Errorf("%+v, want %+v", c, w)
		}
	}
	for i := range all {
		all[i].Work = []Work{{"", "main.handle", all[i].CPU}}
		all[i].CPU = 1400 * time.Microsecond
		all[i].Work[0].Time = all[i].CPU
	}
	if e, _ := Explain(all, "A", "B", 8, 0.95, nil); e.Counts[0].Matters || !e.Counts[0].Excludes0() {
		t.Errorf("without any row of work it matters: %+v", e.Counts[0])
	}
}

// None of 1400 ns, and 350 of 1650 + 350.
func TestShareOfCollection(t *testing.T) {
	all := planted(12)
	for i := range all {
		if all[i].Arm == "B" {
			all[i].Work = append(all[i].Work, Work{"garbage collection", "runtime.scanobject", 350 * time.Microsecond})
			all[i].CPU += 350 * time.Microsecond
		}
	}
	if e, _ := Explain(all, "A", "B", 8, 0.95, nil); e.Collecting != [2]float64{0, 350. / 2000} {
		t.Errorf("%v", e.Collecting)
	}
}
