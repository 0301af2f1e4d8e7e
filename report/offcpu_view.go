package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"contend/internal/unit"
	"contend/report/plain"
	"contend/trial"
	"contend/why"
)

// alsoDiffers is a line on what else clearly differs per op; "" if nothing that matters does.
func alsoDiffers(e why.Explanation) string {
	var differ []string
	for _, c := range e.Counts {
		if c.Matters {
			differ = append(differ, signedCount(c, c.Value)+" "+c.Name)
		}
	}
	if len(differ) == 0 {
		return ""
	}
	return "Also, per op: " + strings.Join(differ, "; ")
}

// countsTable has all that the kernel counted of threads.
func countsTable(e why.Explanation) table {
	t := table{columns: []string{"also, per op", plain.Line(e.Baseline), plain.Line(e.Candidate), "difference", "interval"}}
	for _, c := range e.Counts {
		value := unit.Duration
		if c.Events {
			value = unit.Digits
		}
		interval := "-"
		if c.Bounded() {
			interval = signedCount(c, c.Low) + " … " + signedCount(c, c.High)
		}
		t.rows = append(t.rows, []string{c.Name, value(c.BaselineValue), value(c.CandidateValue), signedCount(c, c.Value), interval})
	}
	return t
}

// signedCount formats a difference of events, or of times.
func signedCount(c why.Count, value float64) string {
	if c.Events {
		return unit.Signed(value, unit.Digits)
	}
	return signed(value)
}

// collectingSentence says how much of the CPU time garbage collection takes, "" where it takes none.
func collectingSentence(e why.Explanation) string {
	if max(e.Collecting[0], e.Collecting[1]) == 0 {
		return ""
	}
	return fmt.Sprintf("Garbage collection takes %s of the CPU time of %s and %s of that of %s.",
		unit.Percent(e.Collecting[0]), plain.Line(e.Baseline), unit.Percent(e.Collecting[1]), plain.Line(e.Candidate))
}

// leastPressure is the least share of the time for which pressure is mentioned. A convention.
const leastPressure = 0.01

// pressureSentence says how long threads waited for memory and disks while samples were taken.
func pressureSentence(d *trial.Diagnosis) string {
	var sum why.OffCPU
	for _, p := range d.Profiles {
		sum.Elapsed += p.Elapsed
		sum.MemoryPressure += p.MemoryPressure
		sum.DiskPressure += p.DiskPressure
	}
	var pressed []string
	for _, one := range []struct {
		name string
		time time.Duration
	}{{"memory", sum.MemoryPressure}, {"a disk", sum.DiskPressure}} {
		if share := float64(one.time) / math.Max(1, float64(sum.Elapsed)); share >= leastPressure {
			pressed = append(pressed, fmt.Sprintf("for %s in %s", one.name, unit.Percent(share)))
		}
	}
	if len(pressed) == 0 {
		return ""
	}
	return " Threads of this machine waited " + strings.Join(pressed, " and ") + " of that time."
}
