package load

import (
	"fmt"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/internal/unit"
)

// judge says what is doubtful about a result.
func (r *Result) judge() []finding.Warning {
	warnings := []finding.Warning{}
	warn := func(kind finding.Kind, format string, args ...any) {
		warnings = append(warnings, kind.Warning(format, args...))
	}
	switch measured := unit.Duration(float64(r.Duration)); r.Stopped {
	case Interrupted:
		warn(finding.Interrupted, "the run was interrupted after %s of its measured window", measured)
	case StoppedByOutage:
		warn(finding.Interrupted, "the run was stopped after %s of its measured window: %s", measured, r.Silence())
	case Aborted:
		warn(finding.Interrupted, "the run was stopped after %s of its measured window: %s", measured, r.Outage)
	case stoppedEarly:
		warn(finding.Interrupted, "the run was stopped after %s of its measured window: an expectation that ends it failed", measured)
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
			unit.Count(r.Planned), unit.Count(r.Failed), unit.Count(r.ErroredTotal()), unit.Count(r.Dropped), unit.Count(r.Unfinished))
		return warnings
	}
	if share := float64(r.Wrong()) / float64(r.Planned); share > finding.Errors.Warns {
		warn(finding.Errors, "%s of the planned iterations failed, more than %s", unit.Percent(share), unit.Percent(finding.Errors.Warns))
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
	for _, w := range []*finding.Warning{r.startedLate(), r.stillWarming(), r.differs()} {
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
		warn(finding.FewSamples, "%s completed iterations: fewer than %.0f are above p90, so read high percentiles as single events", unit.Count(n), finding.FewSamples.Refuses)
	}
	return warnings
}

// parting says that the server ends connections with its responses, and what opening others costs; nil: it keeps them.
func (r *Result) parting() *finding.Warning {
	if r.Completed == 0 || r.Parted == 0 {
		return nil
	}
	share := r.connecting()
	each := r.PartedMost
	switch limited := each > 1 && each == r.PartedLeast && r.Parted >= fewestParted; {
	case limited && 1/float64(each) >= finding.KeepaliveLimit.Warns:
		return finding.KeepaliveLimit.Refusal("the server closed each connection after %d requests, so new connections took %s of the time", each, unit.Percent(share))
	case float64(r.Parted) > finding.Closes.Warns*float64(r.Completed):
		return finding.Closes.Refusal("the server closed its connection after %s of %s responses; opening others took %s of the service time", unit.Count(r.Parted), unit.Count(r.Completed), unit.Percent(share))
	}
	return nil
}

// connecting is the share of all service times that new connections took: the time to open them and, where other responses came over old
// ones, by how much those over new ones took longer.
func (r *Result) connecting() float64 {
	if r.Connect == nil {
		return 0
	}
	n, sum := float64(r.Connect.Count()), func(h *hist.Histogram) float64 { return float64(h.Count()) * float64(h.Mean()) }
	took := sum(r.Connect)
	if others := float64(r.Service.Count()) - n; others > 0 && r.Exchange != nil {
		over := took + sum(r.Exchange)
		took = max(took, over-n*(sum(r.Service)-over)/others)
	}
	return r.ofService(took)
}

// ofService is the share of all service times that so many nanoseconds are.
func (r *Result) ofService(ns float64) float64 {
	return ns / max(1, float64(r.Service.Count())*float64(r.Service.Mean()))
}

// fewestParted are how many connections must have ended after equally many responses to show a limit.
const fewestParted = 3

// continuedLate says that 100 Continue came late, and what that costs a client that waits for it; nil: it did not.
func (r *Result) continuedLate() *finding.Warning {
	if r.Continued == 0 {
		return nil
	}
	after, share := float64(r.ContinueWait)/float64(r.Continued), r.ofService(float64(r.ContinueWait))
	if after < float64(finding.LateContinue) || share <= finding.ContinueLate.Warns {
		return nil
	}
	return finding.ContinueLate.Refusal("100 Continue came late in %s responses: after %s, %s of the service time", unit.Count(r.Continued), unit.Duration(after), unit.Percent(share))
}

// oddities are what servers did against the protocol, or at its edge, without harm to an iteration.
func (r *Result) oddities() (list []finding.Warning) {
	for _, w := range []*finding.Warning{r.parting(), r.continuedLate()} {
		if w != nil {
			list = append(list, *w)
		}
	}
	if r.Resent > 0 {
		list = append(list, finding.IdleClosed.Warning("%s requests were sent again: the server closed an idle connection, refused them, or sent bytes of an earlier response", unit.Count(r.Resent)))
	}
	if r.Stray > 0 {
		list = append(list, finding.StrayBytes.Warning("%s responses came with bytes that belong to none, such as an extra line break or a body after 204", unit.Count(r.Stray)))
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
	what := "connections"
	if r.Shares != nil && r.Shares.Streams {
		what = "streams"
	}
	return fmt.Sprintf("%d of %d %s got no response, the others %s", r.Starved, r.Concurrency, what, unit.Count(r.Completed+r.Failed))
}

// Incomplete reports whether more iterations were dropped or unfinished than the plan
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
		return fmt.Sprintf("none of the %s planned iterations finished", unit.Count(r.Planned))
	}
	return fmt.Sprintf("%s of %s planned iterations (%s) never started or never finished: the slowest", unit.Count(r.Dropped+r.Unfinished), unit.Count(r.Planned), unit.Percent(r.cut()))
}

// miscounted: an iteration was lost, or counted twice, in sum or over time.
func (r *Result) miscounted() *finding.Warning {
	if r.Accounted() != r.Planned {
		return finding.Miscounted.Refusal("%s iterations were planned, but their outcomes add up to %s", unit.Count(r.Planned), unit.Count(r.Accounted()))
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
		text += " and a CPU limit of " + unit.Exactly(r.GeneratorCPULimit)
	}
	return text
}

// startedLate returns the warning start_lag if iterations started so late that the
// response times are not the server's, as finding.StartLag says: in the open model,
// where only a lack of VUs or CPU makes an iteration late, also on average. Start
// lag that the plan asks for is not counted. nil: none, or a target in this process.
func (r *Result) startedLate() *finding.Warning {
	if r.Local || r.Completed == 0 {
		return nil
	}
	text := ""
	asked := r.Plan.StartLag.Of(0)
	mean, response := r.StartLag.Mean()-asked, r.Response.Mean()
	switch lag := r.StartLag.Quantile(0.99) - asked; {
	case lag > max(finding.TailLag, time.Duration(finding.TailLagShare*float64(r.Response.Quantile(0.99)))):
		text = "p99 of the start lag is " + unit.Duration(float64(lag))
	case r.Model == OpenModel && mean > finding.MeanLag && float64(mean) > finding.MeanLagShare*float64(response):
		text = fmt.Sprintf("the mean start lag of %s is %.0f%% of the mean response time", unit.Duration(float64(mean)), 100*float64(mean)/float64(response))
	default:
		return nil
	}
	return finding.StartLag.Refusal("%s, which the response time includes", text)
}

// delayedAck returns the warning delayed_ack where the median answer is short and takes
// as long from its first byte to its last as an acknowledgement is delayed; nil: it
// takes another time, or that is not measured.
func (r *Result) delayedAck() *finding.Warning {
	if r.FirstByte == nil || r.Answers == nil || 2*r.Continued > r.Completed { // the first byte is then that of 100 Continue
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
	return finding.DelayedAck.Refusal("the median response of %s bytes took %s from its first byte to its last, as when a server writes it in pieces without TCP_NODELAY and waits for a delayed acknowledgement",
		unit.Count(size), unit.Duration(float64(rest)))
}
