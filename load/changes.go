package load

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/stat"
)

// Steady state is looked for in runs of at least so many full seconds, or intervals that
// are longer: the fewest values that stat.Movements judges. A change of the throughput counts from stat.SteadyThroughput on,
// one of the mean response time, which has longer tails, from 20%.
const (
	fewestSeconds     = 10
	responseTolerance = 0.20
)

// A development is how a run went over time: the throughput per second in the closed model; in the open one, where
// that is the plan's, the mean response time.
type development struct {
	model  Model
	values []float64
	at     []time.Duration // when each of them began
	step   time.Duration
}

// development leaves out what stalls explain. false: the run is too short to say, a sum of several, or at a rate that changes by plan.
func (r *Result) development() (d development, ok bool) {
	course := r.course()
	if course == nil || r.Model == OpenModel && !r.Plan.Pacer.Flat() {
		return d, false
	}
	seconds, step := course.seconds(r.Duration)
	if len(seconds) < fewestSeconds {
		return d, false
	}
	d = development{model: r.Model, step: step}
	stalls := r.stalls()
	for i, s := range seconds {
		from, value := time.Duration(i)*step, float64(max(s.Ops, s.Completed))/step.Seconds()
		switch {
		case slices.ContainsFunc(stalls, func(s stall) bool { return s.at < from+step && s.at+s.length > from }):
			continue // said for itself: see stalled
		case r.Model == OpenModel && s.Completed == 0:
			continue
		case r.Model == OpenModel:
			value = float64(s.ResponseSum) / float64(s.Completed)
		}
		d.values, d.at = append(d.values, value), append(d.at, from)
	}
	return d, true
}

// changes says how the server stood still, and how it changed unless it was still warming up.
func (r *Result) changes() (list []finding.Warning) {
	if r.Completed == 0 || r.OnlyCounted() {
		return nil
	}
	if w := r.stalled(); w != nil {
		list = append(list, *w)
	}
	if w := r.notSteady(); w != nil && r.stillWarming() == nil {
		list = append(list, *w)
	}
	return list
}

// notSteady returns the warning not_steady, which says how the run changed over time: by a trend, a jump or a wave; nil: it did not,
// as far as can be told.
func (r *Result) notSteady() *finding.Warning {
	d, ok := r.development()
	if !ok {
		return nil
	}
	tolerance := stat.SteadyThroughput
	if d.model == OpenModel {
		tolerance = responseTolerance
	}
	var seen []string
	for _, m := range stat.Movements(d.values, tolerance) {
		seen = append(seen, d.words(m))
	}
	if seen == nil {
		return nil
	}
	return finding.NotSteady.Refusal("%s", strings.Join(seen, "; "))
}

// words says one change: gets slower: from 120/s to 80/s in 25s.
func (d development) words(m stat.Movement) string {
	slower, format := m.To < m.From, unit.Rate
	if d.model == OpenModel {
		slower, format = m.To > m.From, unit.Duration
	}
	how, from, to := "faster", format(max(0, m.From)), format(max(0, m.To)) // those of a fit may be below 0
	if slower {
		how = "slower"
	}
	if d.model == OpenModel {
		from = "a mean response time of " + from
	}
	switch {
	case m.Period > 0:
		return fmt.Sprintf("goes up and down between %s and %s every %s", from, to, unit.Duration(m.Period*float64(d.step)))
	case m.At > 0:
		return fmt.Sprintf("becomes %s: from %s to %s, %s after the start", how, from, to, unit.Duration(float64(d.at[int(m.At*float64(len(d.at)))])))
	}
	return fmt.Sprintf("gets %s: from %s to %s in %s", how, from, to, unit.Duration(float64(d.at[len(d.at)-1]+d.step)))
}
