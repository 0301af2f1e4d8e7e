package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"contend/hist"
	"contend/internal/unit"
	"contend/metric"
	"contend/trial"
)

// InProcess is what a run of a guard in this process reports in addition to its result.
type InProcess struct {
	Design string `json:"design"`
	// Class is the design's consistency class.
	Class string `json:"class"`
	// Kind is what was asked of the design; figures of different kinds are not
	// ranked together.
	Kind string `json:"kind"`
	// Latency is that of single operations chosen at random, each longer than
	// the operation by about ClockPair, the cost of reading the clock twice.
	Latency   *hist.Histogram `json:"latency_ns"`
	ClockPair time.Duration   `json:"clock_pair_ns"`
	// Jain is Jain's fairness index of the operations per caller, 1/n to 1, and
	// MinMax the fewest divided by the most.
	Jain        float64 `json:"fairness_jain"`
	MinMax      float64 `json:"fairness_min_max"`
	AllocsPerOp float64 `json:"allocs_per_op"`
}

// AddInProcess takes a guard's result into the document.
func (d *Document) AddInProcess(c trial.Cell, p InProcess) {
	c.Derive()
	d.Results = append(d.Results, Result{Cell: c, InProcess: &p})
}

// inProcess writes one table per kind and number of callers, the fastest first.
func inProcess(v *view, results []Result) {
	if len(results) == 0 {
		return
	}
	type group struct {
		kind    string
		callers int
	}
	var groups []group
	byGroup := map[group][]Result{}
	found := &findings{places: len(results)}
	for _, r := range results {
		g := group{r.InProcess.Kind, r.Concurrency}
		if byGroup[g] == nil {
			groups = append(groups, g)
		}
		byGroup[g] = append(byGroup[g], r)
		for _, w := range r.Remarks() {
			found.add(w, fmt.Sprintf("%s, %s, %s", r.Arm, g.kind, plural(g.callers, "caller")))
		}
	}
	for _, g := range groups {
		list := byGroup[g]
		slices.SortStableFunc(list, func(a, b Result) int { return cmp.Compare(b.ThroughputPerSec, a.ThroughputPerSec) })
		v.head("%s, %s", g.kind, plural(g.callers, "caller"))
		t := table{columns: []string{"design", "class", "throughput", "time per op", "p50", "p99", "p99.9",
			"CPU per op", "allocs/op", "fairness"}}
		counted := slices.ContainsFunc(list, func(r Result) bool { return r.Counted != nil })
		if counted {
			t.columns = append(t.columns, metric.ServerInstructions.ShortWords())
		}
		for _, r := range list {
			row := r.inProcessRow()
			if counted {
				row = append(row, figure(metric.ServerInstructions, r.Cell))
			}
			t.rows = append(t.rows, row)
		}
		v.table(t)
	}
	v.say("p50, p99 and p99.9 are of single operations timed at random and include the clock itself, about %s. "+
		"Fairness is Jain's index: 1 when all callers got the same number of operations.",
		unit.Duration(float64(results[0].InProcess.ClockPair)))
	found.write(v)
}

func (r Result) inProcessRow() []string {
	p := r.InProcess
	row := []string{p.Design, p.Class, unit.Rate(r.ThroughputPerSec), "-", "-", "-", "-", "-",
		strconv.FormatFloat(p.AllocsPerOp, 'f', 1, 64), strconv.FormatFloat(p.Jain, 'f', 2, 64)}
	if wall, ok := metric.WallPerOp.Of(r.Cell.Result); ok {
		row[3] = unit.Duration(wall)
	}
	for i, q := range []float64{0.5, 0.99, 0.999} {
		if p.Latency.Count() > 0 {
			row[4+i] = unit.Duration(float64(p.Latency.Quantile(q)))
		}
	}
	if cpu, ok := metric.GeneratorCPUPerOp.Of(r.Cell.Result); ok {
		row[7] = unit.Duration(cpu)
	}
	return row
}
