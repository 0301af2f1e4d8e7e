package load

import (
	"cmp"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/stat"
)

// Refusal returns why no verdict may rest on the result, or nil: one about times
// (stat.LowerIsFaster), a rate (stat.HigherIsFaster) or another amount.
func (r *Result) Refusal(about stat.Kind) *finding.Warning {
	if r.OnlyCounted() {
		return r.CountedRefusal()
	}
	if w := r.wrongOrMissing(); w != nil {
		return w
	}
	for _, look := range []func(stat.Kind) *finding.Warning{r.notTheServers, r.late, r.unsteady, r.overloaded} {
		if w := look(about); w != nil {
			return w
		}
	}
	return nil
}

// Spoilt returns why figures of the result are INVALID even if nothing is compared with them, or nil. bound says
// that they are still a bound: the server is at least that fast.
func (r *Result) Spoilt() (why *finding.Warning, bound bool) {
	if r.OnlyCounted() {
		return r.CountedRefusal(), false
	}
	if w := r.wrongOrMissing(); w != nil {
		return w, false
	}
	why = cmp.Or(r.notTheServers(stat.HigherIsFaster), r.notTheServers(stat.LowerIsFaster), r.overloaded(stat.Amount))
	return why, why != nil
}

// Headroom is how many times the throughput could be at most without what made the server look slower, see Spoilt.
func (r *Result) Headroom() float64 {
	most, use := 1.0, r.cpu()
	if share := r.GeneratorShare; share != nil && *share < 1 {
		most = 1 / (1 - *share)
	}
	if use.saturated() != nil && use.server > 0 {
		most = max(most, 1/use.server)
	}
	if squeezed, known := r.Squeezed(); known && r.overloaded(stat.Amount) != nil {
		most = max(most, squeezed)
	}
	return most
}

// wrongOrMissing: too many answers are, or what became of all does not add up.
func (r *Result) wrongOrMissing() *finding.Warning {
	if w := r.miscounted(); w != nil {
		return w
	}
	if w := r.lost(); w != nil {
		return w
	}
	after, ceased := r.Ceased()
	switch wrong := r.Wrong(); {
	case r.Starved > 0:
		return finding.Starved.Refusal("%s", r.silent())
	case r.Planned == 0:
		return finding.Errors.Refusal("no iteration started within the %v measured", r.Duration.Round(time.Millisecond))
	case r.Completed == 0 && wrong > 0:
		return finding.Errors.Refusal("no request succeeded")
	case r.Stopped == StoppedByOutage:
		return finding.Errors.Refusal("%s", r.Silence())
	case r.Plan.TooManyErrors(wrong, r.Planned):
		return finding.Errors.Refusal("%s of %s iterations failed (%s), more than %s", unit.Count(wrong), unit.Count(r.Planned), unit.Percent(float64(wrong)/float64(r.Planned)), unit.Percent(r.Plan.AllowedErrors()))
	case ceased:
		return finding.Errors.Refusal("no successful response after the first %v of %v", after, r.Duration.Round(time.Millisecond))
	case r.Incomplete():
		return finding.Incomplete.Refusal("%s, more than %s", r.missing(), unit.Percent(r.Plan.AllowedUnfinished()))
	}
	return nil
}

// notTheServers: what was measured is the generator.
func (r *Result) notTheServers(about stat.Kind) *finding.Warning {
	use := r.cpu()
	if saturated := use.saturated(); saturated != nil && !r.Server.Foreign {
		return saturated
	}
	if r.GeneratorShare == nil {
		return nil
	}
	switch share := *r.GeneratorShare; {
	case about == stat.LowerIsFaster && share > finding.GeneratorShare.Refuses:
		return finding.GeneratorSaturated.Refusal("%.0f%% of each cycle was spent in the load generator, so the times are not the server's", 100*share)
	case share > finding.GeneratorSaturated.Refuses && use.server < finding.ServerBusy.Warns:
		return finding.GeneratorSaturated.Refusal("%.0f%% of each cycle was spent in the load generator, and nothing shows that the server was at its limit", 100*share)
	}
	return nil
}

// late: an open model's iterations started late. In the closed model what the
// generator does between two iterations is judged as its share of the cycle.
func (r *Result) late(about stat.Kind) *finding.Warning {
	if r.Model != OpenModel || about != stat.LowerIsFaster {
		return nil
	}
	return r.TooLate()
}

// TooLate is startedLate as a reason to distrust all times: machine_busy if other processes on the machine are the
// cause.
func (r *Result) TooLate() *finding.Warning {
	late := r.startedLate()
	if share := r.keptFrom(); late != nil && share > finding.MachineBusy.Warns {
		return finding.MachineBusy.Refusal("other programs took %.0f%% of the CPU time the load generator needed, and %s", 100*share, late.Text)
	}
	return late
}

// unsteady: one long run that did not stay around one level. Sums of rounds
// have no course; they are judged by their rounds.
func (r *Result) unsteady(about stat.Kind) *finding.Warning {
	if about == stat.Amount {
		return nil
	}
	return r.notSteady()
}

// overloaded: the machine had no CPU left, and most of it went to others.
func (r *Result) overloaded(stat.Kind) *finding.Warning {
	return crowd(r.crowding(), finding.MachineBusy.Refuses)
}
