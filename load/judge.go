package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/internal/unit"
	"contend/stat"
)

// judge says what is doubtful about a result.
func (r *Result) judge() []finding.Warning {
	warnings := []finding.Warning{}
	warn := func(kind finding.Kind, format string, args ...any) {
		warnings = append(warnings, kind.Warning(format, args...))
	}
	switch measured := r.Duration.Round(time.Millisecond); r.Stopped {
	case Interrupted:
		warn(finding.Interrupted, "the run was interrupted after %v of its measured window", measured)
	case StoppedByOutage:
		warn(finding.Interrupted, "the run was stopped after %v of its measured window: %s", measured, r.Silence())
	case Aborted:
		warn(finding.Interrupted, "the run was stopped after %v of its measured window: %s", measured, r.Outage)
	case stoppedEarly:
		warn(finding.Interrupted, "the run was stopped after %v of its measured window: an expectation that ends it failed", measured)
	}
	if w := r.miscounted(); w != nil {
		warnings = append(warnings, *w)
	}
	if w := r.lost(); w != nil {
		warnings = append(warnings, *w)
	}
	if r.OnlyCounted() {
		return warnings
	}
	warnings = append(warnings, r.oddities()...)
	if r.Completed == 0 {
		warn(finding.NothingSucceeded, "no request succeeded: planned %s, failed %s, no response %s, never started %s, unfinished %s",
			number(r.Planned), number(r.Failed), number(r.ErroredTotal()), number(r.Dropped), number(r.Unfinished))
		return warnings
	}
	if share := float64(r.Wrong()) / float64(r.Planned); share > finding.Errors.Warns {
		warn(finding.Errors, "%.3g%% of the planned iterations failed, more than %.3g%%", 100*share, 100*finding.Errors.Warns)
	}
	if w := r.unserved(); w != nil {
		warnings = append(warnings, *w)
	}
	if r.Starved == 0 && r.GeneratorShare != nil && *r.GeneratorShare > finding.GeneratorShare.Warns {
		warn(finding.GeneratorShare, "%.0f%% of each cycle was spent in the load generator, not waiting for the server (Little's law)", 100**r.GeneratorShare)
	}
	if used := r.generatorUse(0); used >= finding.GeneratorBusy.Warns && !r.Local && r.Server == nil {
		warn(finding.GeneratorBusy, "the load generator used %.0f%% of the CPU it could get on %s, and may be the bottleneck", 100*used, r.means())
	}
	for _, w := range []*finding.Warning{r.startedLate(), r.stalled(), cmp.Or(r.stillWarming(), r.notSteady()), r.differs()} {
		if w != nil {
			warnings = append(warnings, *w)
		}
	}
	if a := r.Answers; a.Count() > 0 && a.Redirects == a.Count() {
		warn(finding.OnlyRedirects, "every success was a redirect, which is not followed, to %s", a.Location)
	}
	if w := r.delayedAck(); w != nil {
		warnings = append(warnings, *w)
	}
	if n := r.Completed; n < int64(finding.FewSamples.Warns) && !r.Local {
		warn(finding.FewSamples, "%d completed iterations: fewer than %.0f are above p90, so read high percentiles as single events", n, finding.FewSamples.Refuses)
	}
	return warnings
}

// oddities are what servers did against the protocol, or at its edge, without harm to an iteration.
func (r *Result) oddities() (list []finding.Warning) {
	if r.Resent > 0 {
		list = append(list, finding.IdleClosed.Warning("%s requests were sent again: the server closed an idle connection, refused them, or sent bytes of an earlier response", number(r.Resent)))
	}
	if r.Stray > 0 {
		list = append(list, finding.StrayBytes.Warning("%s responses came with bytes that belong to none, such as an extra line break or a body after 204", number(r.Stray)))
	}
	return list
}

// unserved says which callers or iterations got no response; nil: hardly any.
func (r *Result) unserved() *finding.Warning {
	switch {
	case r.Starved > 0:
		return finding.Starved.Refusal("%s", r.silent())
	case r.cut() > min(finding.Incomplete.Warns, r.Plan.AllowedUnfinished()):
		return finding.Incomplete.Refusal("%s, so high percentiles are lower bounds", r.missing())
	}
	return nil
}

// silent says how many callers were starved.
func (r *Result) silent() string {
	return fmt.Sprintf("%d of %d connections got no response, the others %s", r.Starved, r.Concurrency, number(r.Completed+r.Failed))
}

// Incomplete says whether more iterations were dropped or unfinished than the plan
// allows: then the figures are those of the part that was quick enough.
func (r *Result) Incomplete() bool { return r.cut() > r.Plan.AllowedUnfinished() }

// cut is the share of the planned iterations that were dropped or unfinished.
func (r *Result) cut() float64 {
	if r.Planned == 0 {
		return 0
	}
	return float64(r.Dropped+r.Unfinished) / float64(r.Planned)
}

// missing says how many iterations were dropped or unfinished.
func (r *Result) missing() string {
	if r.Dropped+r.Unfinished == r.Planned {
		return fmt.Sprintf("none of the %s planned iterations finished", number(r.Planned))
	}
	return fmt.Sprintf("%s of %s planned iterations (%.3g%%) never started or never finished: the slowest", number(r.Dropped+r.Unfinished), number(r.Planned), 100*r.cut())
}

// number is a count with its thousands set apart, as in tables.
func number(n int64) string { return unit.Number(float64(n)) }

// miscounted: an iteration was lost, or counted twice, in sum or over time.
func (r *Result) miscounted() *finding.Warning {
	if r.Accounted() != r.Planned {
		return finding.Miscounted.Refusal("%s iterations were planned, but their outcomes add up to %s", number(r.Planned), number(r.Accounted()))
	}
	if r.Course == nil {
		return nil
	}
	if missed := r.Course.misses(&r.Counts); missed != "" {
		return finding.Miscounted.Refusal("the parts of the run do not add up to the whole: %s", missed)
	}
	return nil
}

// means says what the generator had to run on.
func (r *Result) means() string {
	what, n := "core", r.GeneratorCores
	if r.Engine == EventLoop {
		what, n = "event loop", r.Loops
	}
	text := fmt.Sprintf("%d %s", n, what)
	if n != 1 {
		text += "s"
	}
	if r.GeneratorCPULimit > 0 {
		text += fmt.Sprintf(" and a CPU limit of %.3g", r.GeneratorCPULimit)
	}
	return text
}

// startedLate returns the warning start_lag when iterations started so late that the
// response times say something else than the server's, as the words of
// finding.StartLag have it: in the open model, where nothing but a want of VUs or
// CPU makes an iteration late, on average too. Start lag that the plan asks for is
// not counted. nil: none, or a target in this process.
func (r *Result) startedLate() *finding.Warning {
	if r.Local || r.Completed == 0 {
		return nil
	}
	text := ""
	asked := r.Plan.StartLag.Of(0)
	mean, response := r.StartLag.Mean()-asked, r.Response.Mean()
	switch lag := r.StartLag.Quantile(0.99) - asked; {
	case lag > max(finding.TailLag, time.Duration(finding.TailLagShare*float64(r.Response.Quantile(0.99)))):
		text = fmt.Sprintf("p99 of the start lag is %v", hist.Rounded(lag))
	case r.Model == OpenModel && mean > finding.MeanLag && float64(mean) > finding.MeanLagShare*float64(response):
		text = fmt.Sprintf("the mean start lag of %v is %.0f%% of the mean response time", hist.Rounded(mean), 100*float64(mean)/float64(response))
	default:
		return nil
	}
	return finding.StartLag.Refusal("%s, which the response time includes", text)
}

// delayedAck returns the warning delayed_ack where the median answer is short and takes
// as long from its first byte to its last as an acknowledgement is delayed; nil: it
// takes another time, or that is not measured.
func (r *Result) delayedAck() *finding.Warning {
	if r.FirstByte == nil || r.Answers == nil {
		return nil
	}
	whole := r.Service
	if r.Exchange != nil && 2*r.Exchange.Count() > r.Completed {
		whole = r.Exchange // without the time to connect
	}
	rest, size := whole.Quantile(0.5)-r.FirstByte.Quantile(0.5), r.Answers.BodyQuantile(0.5)
	if rest < finding.AckDelayFrom || rest > finding.AckDelayTo || size > finding.ShortAnswer {
		return nil
	}
	return finding.DelayedAck.Refusal("the median response of %d bytes took %v from its first byte to its last, as when a server writes it in pieces without TCP_NODELAY and waits for a delayed acknowledgement",
		size, hist.Rounded(rest))
}

// Steady state is looked for in runs of at least so many full seconds, or intervals that
// are longer: the fewest values that stat.Steady judges. A change of the throughput counts from stat.SteadyThroughput on, one of the mean response time, which has
// longer tails, from 20%.
const (
	fewestSeconds     = 10
	responseTolerance = 0.20
)

// notSteady returns the warning not_steady when the course of the run shows a
// trend, a shift or an oscillation: of the throughput in the closed model, of the
// mean response time in the open one, where the throughput is the plan's. nil:
// none, too short to say, a sum of several runs, or a rate that changes by plan.
func (r *Result) notSteady() *finding.Warning {
	course := r.course()
	if course == nil || r.Model == OpenModel && !r.Plan.Pacer.Flat() {
		return nil
	}
	seconds, step := course.seconds(r.Duration)
	if len(seconds) < fewestSeconds {
		return nil
	}
	what, tolerance := "throughput per second", stat.SteadyThroughput
	if r.Model == OpenModel {
		what, tolerance = "mean response time per second", responseTolerance
	}
	if step > time.Second {
		what = strings.Replace(what, "second", step.String(), 1)
	}
	stalls := r.stalls()
	var values []float64
	for i, s := range seconds {
		from := time.Duration(i) * step
		if slices.ContainsFunc(stalls, func(s stall) bool { return s.at < from+step && s.at+s.length > from }) {
			continue // said for itself: see stalled
		}
		switch {
		case r.Model == ClosedModel:
			values = append(values, float64(s.Completed))
		case s.Completed > 0:
			values = append(values, float64(s.ResponseSum)/float64(s.Completed))
		}
	}
	for _, w := range stat.Steady(values, tolerance) {
		if w.Is(finding.NotSteady) {
			return finding.NotSteady.Refusal("%s (%s)", w.Text, what)
		}
	}
	return nil
}
