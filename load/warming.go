package load

import (
	"slices"
	"time"

	"contend/finding"
	"contend/internal/unit"
)

// fewestWarming is the least number of full seconds, or of intervals that are longer, in which a
// server can be seen to warm up: a first one and two to compare it with.
const fewestWarming = 3

// A warming is how the cost of an operation went from second to second.
type warming struct {
	seconds []Interval
	step    time.Duration // the length of each
	costs   []float64     // CPU time of an operation, or without it the time between two
	byCPU   bool
	excess  float64 // how much more the first must cost than the last ones, as a share
}

// stillWarming returns the warning still_warming if the run began before the server had reached its usual
// speed; nil: it had, or it is not known.
func (r *Result) stillWarming() *finding.Warning {
	w := r.warming()
	if w == nil {
		return nil
	}
	ended := w.ended()
	if ended == 0 {
		return nil
	}
	if ended == len(w.costs) {
		return finding.StillWarming.Refusal("the server was still warming up: %s", w.course(r.Model))
	}
	return finding.StillWarming.Refusal("the server was still warming up: %s; --warmup %v excludes that", w.course(r.Model), time.Duration(ended)*w.step+r.Plan.Warmup)
}

// warming reads the cost of an operation over time; nil: it is not known, or says nothing about the server.
func (r *Result) warming() *warming {
	course := r.course()
	if course == nil || r.Local || r.Plan.WholeFlows || r.Model == OpenModel && !r.Plan.Pacer.Flat() || r.Plan.Callers != nil {
		return nil
	}
	w := &warming{excess: finding.StillWarming.Warns}
	w.seconds, w.step = course.seconds(r.Duration)
	if len(w.seconds) < fewestWarming || slices.ContainsFunc(w.seconds, func(s Interval) bool { return s.Ops+s.Carried == 0 }) {
		return nil
	}
	w.byCPU = r.Server != nil && !slices.ContainsFunc(w.seconds, func(s Interval) bool { return s.ServerCPU <= 0 })
	others := r.Elsewhere()
	if !w.byCPU {
		if r.Model == OpenModel || r.generatorLimits() {
			return nil
		}
		others = r.Others(0) / max(1, float64(r.MachineCores)*r.Duration.Seconds()) // the server may be one of them
		w.excess *= 2
	}
	w.excess = max(w.excess, 2*others)
	for _, s := range w.seconds {
		cost := float64(w.step)
		if w.byCPU {
			cost = float64(s.ServerCPU)
		}
		w.costs = append(w.costs, cost/float64(s.Ops+s.Carried))
	}
	return w
}

// generatorLimits reports whether the throughput may be the generator's.
func (r *Result) generatorLimits() bool {
	return r.generatorUse(0) >= finding.GeneratorBusy.Warns || r.GeneratorShare != nil && *r.GeneratorShare > finding.GeneratorShare.Warns
}

// ended is after how many seconds the cost had fallen to what it was in the last half; 0: it did not fall, as where it comes
// and goes.
func (w *warming) ended() int {
	tail := slices.Sorted(slices.Values(w.costs[len(w.costs)/2:]))
	level := tail[len(tail)/2]
	dear := func(cost float64) bool { return cost > (1+w.excess)*level }
	first := slices.IndexFunc(w.costs, func(cost float64) bool { return cost <= (1+w.excess/2)*level })
	if !dear(w.costs[0]) || slices.Max(w.costs) > (1+w.excess/2)*w.costs[0] || slices.ContainsFunc(w.costs[first:], dear) {
		return 0
	}
	if w.costs[len(w.costs)-1] < level/(1+w.excess/2) {
		return len(w.costs) // it still falls
	}
	return first
}

// course says how it went: the throughput, or at a rate, or where that was not what changed, the cost.
func (w *warming) course(m Model) string {
	first, last := w.seconds[0], w.seconds[len(w.seconds)-1]
	span := "second"
	if w.step != time.Second {
		span = w.step.String()
	}
	perSec := func(s Interval) float64 { return float64(s.Ops+s.Carried) / w.step.Seconds() }
	if m == ClosedModel && perSec(last) > (1+w.excess/2)*perSec(first) {
		return unit.Rate(perSec(first)) + " in the first " + span + ", " + unit.Rate(perSec(last)) + " in the last"
	}
	return unit.Duration(w.costs[0]) + " of CPU per op in the first " + span + ", " + unit.Duration(w.costs[len(w.costs)-1]) + " in the last"
}
