package load

import (
	"cmp"
	"math"
	"slices"
	"time"

	"contend/errkind"
	"contend/finding"
	"contend/internal/unit"
)

const (
	// stallResponses are how many responses a median interval of a run must have so that two without any in succession are no
	// chance: with arrivals at random that is once in 20,000 pairs (e⁻¹⁰).
	stallResponses = 5
	stallIntervals = 2
	// stallResponse times the median response before it is less than a stall: equal responses that come in bursts leave gaps.
	stallResponse = 3
	// regularly is by how much the times between stalls may differ from their median to be called a period.
	regularly = 0.2
	// idleInStall and busyInStall are the cores below which a server did nothing in a stall, and above which it worked.
	idleInStall = 0.1
	busyInStall = 0.5
)

// A stall is a time in which nothing was answered.
type stall struct {
	at, length time.Duration
	cores      float64 // that the server used in the middle of it; that of 2 · lookEvery and more is of a look within
}

// stalls are those of a run in which responses come all the time by its plan: intervals of its course without any, and how long the
// longest response waited that came after them.
func (r *Result) stalls() []stall {
	course := r.course()
	changes := r.Plan.Callers != nil || r.Plan.Think > 0 || r.Model == OpenModel && !r.Plan.Pacer.Flat()
	if course == nil || changes || course.Warmup >= len(course.Intervals) {
		return nil
	}
	intervals := course.Intervals[course.Warmup:]
	intervals = intervals[:min(len(intervals), int(r.Duration/course.Width))] // whole ones
	ended := make([]int64, len(intervals))
	for i := range intervals {
		ended[i] = intervals[i].ended()
	}
	if len(ended) == 0 || median(ended) < stallResponses {
		return nil
	}
	var found []stall
	for i := 0; i < len(ended); {
		n := 0
		for i+n < len(ended) && ended[i+n] == 0 {
			n++
		}
		if n >= stallIntervals && i > 0 {
			s := stall{at: time.Duration(i) * course.Width, length: time.Duration(n) * course.Width}
			s.cores = float64(intervals[i+n/2].ServerCPU) / float64(course.Width)
			if i+n < len(ended) {
				s.length = min(max(s.length, intervals[i+n].ResponseMax), time.Duration(n+2)*course.Width)
			}
			if s.length > stallResponse*intervals[i-1].ResponseP50 {
				found = append(found, s)
			}
		}
		i += n + 1
	}
	return found
}

func (i *Interval) ended() int64 {
	n := i.Completed + i.Failed + i.Carried
	for kind, errors := range i.Errored {
		if kind != errkind.Refused { // nobody listened
			n += errors
		}
	}
	return n
}

// stalled says how often and how long the server stood still; nil: it did not.
func (r *Result) stalled() *finding.Warning {
	stalls := r.stalls()
	if len(stalls) == 0 {
		return nil
	}
	lengths, between := make([]time.Duration, len(stalls)), []time.Duration{}
	for i, s := range stalls {
		if lengths[i] = s.length; i > 0 {
			between = append(between, s.at-stalls[i-1].at)
		}
	}
	shown := func(d time.Duration) string { return unit.Duration(float64(d.Round(10 * time.Millisecond))) }
	long, using := shown(median(lengths)), r.duringStalls(stalls)
	if len(stalls) == 1 {
		return finding.Stalled.Refusal("no response for %s%s, from %s on", long, using, shown(stalls[0].at))
	}
	period := median(between)
	if regular := len(between) > 1 && !slices.ContainsFunc(between, func(d time.Duration) bool {
		return math.Abs(float64(d-period)) > regularly*float64(period)
	}); regular {
		return finding.Stalled.Refusal("no response for %s every %s, %d times%s, from %s on", long, shown(period), len(stalls), using, shown(stalls[0].at))
	}
	return finding.Stalled.Refusal("no response for %s, %d times%s, from %s to %s on", long, len(stalls), using, shown(stalls[0].at), shown(stalls[len(stalls)-1].at))
}

// duringStalls goes on with what the server used of the CPU in its stalls, which tells a garbage collector, that needs some, from a
// wait; "": it is not known, as of stalls too short for a look within each, or neither.
func (r *Result) duringStalls(stalls []stall) string {
	if r.Server == nil || slices.ContainsFunc(stalls, func(s stall) bool { return s.length < 2*lookEvery }) {
		return ""
	}
	least := slices.MinFunc(stalls, func(a, b stall) int { return cmp.Compare(a.cores, b.cores) }).cores
	most := slices.MaxFunc(stalls, func(a, b stall) int { return cmp.Compare(a.cores, b.cores) }).cores
	switch {
	case most < idleInStall:
		return ", using no CPU, so it waited and did not collect garbage"
	case least > busyInStall:
		return ", using " + unit.Digits(least) + " cores, as garbage collection or computation does"
	}
	return ""
}

func median[T cmp.Ordered](of []T) T {
	return slices.Sorted(slices.Values(of))[len(of)/2]
}
