package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/errkind"
	"contend/expect"
	"contend/finding"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/report/plain"
	"contend/trial"
)

// barColumns is how long the longest bar of a page is.
const barColumns = 40

// logShare is the position of a value on a log scale from low to high, as a share: high is 1,
// and low has the share of a factor of ten.
func logShare(value, low, high float64) float64 {
	return math.Log(10*value/low) / math.Log(10*high/low)
}

// marksOf draws a share, 0 to 1, of the longest bar, which has so many columns; one mark at least.
func marksOf(share float64, columns int) string {
	return strings.Repeat("█", min(columns, max(1, int(share*float64(columns)+0.5))))
}

// runScreen answers what a target did under one load.
func (d *Document) runScreen(c trial.Cell) *screen {
	s := &screen{care: new(findings), hidden: len(d.Notes), mood: good}
	r := c.Result
	if r.Completed == 0 {
		return d.nothingScreen(s, c)
	}
	measured, caveats := changed(r)+runSentence(r), d.caveats(r)
	s.first = measured
	s.also = crowded(r)
	doubt, ceased, under := d.doubt(c), ceasedSentence(r), underLoad(r)
	switch {
	case doubt.Is(finding.Starved):
		s.mood = doubted
		s.first, s.trust = starvedAt(r, doubt)
	case doubt != nil:
		s.first, s.mood, s.trust = cmp.Or(ceased, "No result: "+doubt.Short()), doubted, invalid(*doubt)
	case r.Stopped == load.Interrupted:
		s.trust = "Interrupted, partial result: " + under
	case r.TooShort():
		s.trust, s.mood = "Too short to be representative: "+under, doubted
	default:
		s.trust = "Valid: " + under
	}
	expected := new(view)
	failed := d.expected(expected)
	if failed > 0 && (doubt == nil || doubt.Is(finding.Errors)) { // expectations about these are decided all the same
		s.first, s.mood = d.unmet(failed), bad
	}
	s.aside("%s", d.asTyped(r.Target))
	if s.first != measured {
		s.aside("%s%s", either(doubt != nil, "measured, not usable: ", ""), measured)
	}
	s.elements = append(s.elements, expected.elements...)
	s.asides(wrongKinds(r))
	s.percentiles(r)
	if doubt == nil {
		s.amounts(r)
	}
	s.flow(r)
	s.hidden += len(r.Warnings) - len(caveats)
	for _, w := range caveats {
		if (doubt == nil || w.Code != doubt.Code) && (ceased == "" || tells(w)) {
			s.care.add(w, "")
		}
	}
	s.countCaveats("Valid")
	s.next = cmp.Or(d.explains(r.Changes), d.curing(s.marked()), d.goesOn(), advise("find the best concurrency (contend sweep) or the highest rate (contend sweep --rate)"))
	switch {
	case ceased != "":
		s.next = advise("check the server log, then run the same command again")
	case doubt != nil:
		s.next = d.mending(r, doubt)
	}
	return s
}

// mending is what to do about what makes a run INVALID.
func (d *Document) mending(r *load.Result, doubt *finding.Warning) Step {
	switch {
	case doubt.Is(finding.Errors) && 2*r.Errored[errkind.Stale] > r.Wrong():
		return advise("raise the server's keep-alive timeout above the pauses between requests, shorten these (--think), or use --no-keepalive")
	case 2*r.Errored[errkind.PortsExhausted] > r.Wrong():
		return advise(toFreePorts)
	case doubt.Is(finding.Incomplete) && r.Model == load.ClosedModel: // which has no rate to lower
		return advise("allow more time (-d, or --grace), or use fewer callers (-c)")
	case doubt.Is(finding.Incomplete) && d.Settle != "":
		return d.settles()
	}
	return d.afterDoubt(doubt.Code)
}

// starvedAt is the beginning of the page about connections that got no response.
func starvedAt(r *load.Result, doubt *finding.Warning) (first, trust string) {
	return upper(doubt.Text), fmt.Sprintf("INVALID (%s): no result at %s", doubt.Code, underLoad(r))
}

// changed begins the first line with how the server changed; "": it did not, as far as can be told.
func changed(r *load.Result) string {
	var texts []string
	for _, w := range r.Changes {
		texts = append(texts, w.Text)
	}
	if texts == nil {
		return ""
	}
	return upper(strings.Join(texts, "; ")) + "; overall "
}

// explains is the advice on the first way in which a server changed; empty without one.
func (d *Document) explains(changes []finding.Warning) Step {
	if len(changes) == 0 {
		return Step{}
	}
	return d.afterDoubt(changes[0].Code)
}

// caveats are the warnings that matter to what was asked of a run: claims that hold do so with the start lag
// in the response times.
func (d *Document) caveats(r *load.Result) []finding.Warning {
	if len(d.Expectations) == 0 || slices.ContainsFunc(d.Expectations, func(x expect.Expectation) bool { return !x.Held }) {
		return r.Warnings
	}
	return slices.DeleteFunc(slices.Clone(r.Warnings), func(w finding.Warning) bool { return w.Is(finding.StartLag) })
}

// underLoad says under which load a result was measured, and for how long.
func underLoad(r *load.Result) string {
	text := fmt.Sprintf("concurrency %d, %s measured", r.Concurrency, window(r.Duration))
	if r.Model == load.OpenModel {
		text = fmt.Sprintf("%s, up to %s in flight; %s measured", due(r), unit.Count(r.Concurrency), window(r.Duration))
	}
	if r.Plan.Warmup > 0 && !r.Local {
		text += " after " + window(r.Plan.Warmup) + " of warm-up"
	}
	if by := drivenBy(r); by != "" {
		text += ", " + by
	}
	return text
}

// due says when the requests of an open model are due.
func due(r *load.Result) string {
	text := fmt.Sprintf("arrivals %s", r.Plan.Pacer)
	if constant, ok := strings.CutPrefix(text, "arrivals constant:"); ok {
		return constant + " requests due per second"
	}
	return text
}

// where is the rate of a comparison, or else its concurrency, which hardly matters at a rate.
func (d *Document) where(c Comparison) string {
	for _, r := range d.Results {
		if r.Place == c.Place && r.Arm == c.Baseline && r.Concurrency == c.Concurrency && r.Plan.Pacer != nil {
			return "with " + due(r.Result)
		}
	}
	return at(c.Comparison)
}

// crowded says that other programs took cores, idle ones included, unless a warning says it.
func crowded(r *load.Result) []string {
	share := r.Elsewhere()
	if share <= finding.MachineBusy.Warns || finding.MachineBusy.In(r.Warnings) {
		return nil
	}
	return []string{fmt.Sprintf("other programs used %s of %s", unit.Digits(share*float64(r.MachineCores)), plural(r.MachineCores, "core"))}
}

// mostKinds are the kinds of failures and errors that are shown.
const mostKinds = 3

// wrongKinds counts what went wrong, what did so most often first.
func wrongKinds(r *load.Result) []string {
	list := append(failures(r), kindsOf(r)...)
	slices.SortStableFunc(list, func(a, b wrong) int { return cmp.Compare(b.count, a.count) })
	var lines []string
	for _, w := range list[:min(mostKinds, len(list))] {
		lines = append(lines, fmt.Sprintf("%s × %s: %s", unit.Count(w.count), w.what, w.example))
	}
	return lines
}

// expected writes which expectations failed and which passed, and returns how many failed.
func (d *Document) expected(v *view) (failed int) {
	t, missed := table{columns: []string{"", ""}}, 0
	var passed []string
	for _, x := range d.claims() {
		row := []string{"undecided", x.Text + ": " + x.Detail}
		switch {
		case x.Held:
			passed = append(passed, x.Text)
			continue
		case x.Excuse != nil:
			row[1] = x.Text + ": " + x.Excuse.Text
		default:
			row[0] = "FAIL"
			failed++
		}
		if missed++; missed <= mostWarnings {
			t.rows = append(t.rows, []string{row[0], plain.Clip(plain.Line(row[1]), 3*textWidth)})
		}
	}
	if more := missed - mostWarnings; more > 0 {
		t.rows = append(t.rows, []string{"", fmt.Sprintf("%d more: add --full", more)})
	}
	if len(passed) > 0 {
		t.rows = append(t.rows, []string{"pass", plain.Clip(plain.Line(strings.Join(passed, ", ")), 3*textWidth)})
	}
	v.rows(t)
	return failed
}

// claims are the expectations of a run, or of a user's own comparison.
func (d *Document) claims() []expect.Expectation {
	if e, own := d.own(); own {
		return e.Expectations
	}
	return d.Expectations
}

// unmet is the first line of a page where so many expectations failed.
func (d *Document) unmet(failed int) string {
	of := d.claims()
	first := of[slices.IndexFunc(of, func(x expect.Expectation) bool { return !x.Held && x.Excuse == nil })]
	text := fmt.Sprintf("FAIL: %s: %s", first.Text, first.Detail)
	if len(of) > 1 {
		text += fmt.Sprintf(" (%d of %d expectations failed)", failed, len(of))
	}
	return text
}

// runSentence has throughput, response time and errors; where an iteration is many operations,
// the time of one of these.
func runSentence(r *load.Result) string {
	if r.Completed == 0 {
		return nothingSentence(r)
	}
	text := unit.Rate(r.ThroughputPerSec)
	if isFlow(r) {
		text = unit.Number(r.ThroughputPerSec) + " iterations/s"
	}
	switch each, batched := metric.WallPerOp.Of(r); {
	case batched && r.Ops > r.Completed:
		text = fmt.Sprintf("%s %s/s, %s each", unit.Number(r.ThroughputPerSec), operations(r), unit.Duration(each))
	case r.Response.Count() > 0:
		text += fmt.Sprintf(", median %s, %s", unit.Duration(float64(r.Response.Quantile(0.5))), tail(r))
	}
	return text + ", " + amiss(r)
}

// amiss counts the iterations that got no successful response.
func amiss(r *load.Result) string {
	var parts []string
	of := " of " + unit.Count(r.Planned)
	for _, one := range []struct {
		count int64
		how   string
	}{{r.Dropped, "never started"}, {r.Unfinished, "unfinished"}, {r.Wrong(), "failed"}} {
		if one.count > 0 {
			parts = append(parts, fmt.Sprintf("%s%s %s (%s)", unit.Count(one.count), of, one.how, unit.Percent(float64(one.count)/float64(r.Planned))))
			of = ""
		}
	}
	if parts = append(parts, amissWithin(r)...); parts == nil {
		return "no errors"
	}
	return strings.Join(parts, ", ")
}

// amissWithin says how many requests and checks of flows failed that ran to their end.
func amissWithin(r *load.Result) (parts []string) {
	if !r.Plan.WholeFlows {
		return nil
	}
	var requests, failed, checks, broken int64
	for _, q := range r.Requests {
		requests, failed = requests+q.Completed+q.Failed+q.Errored, failed+q.Failed
	}
	for _, c := range r.Checks {
		checks, broken = checks+c.Passed+c.Failed, broken+c.Failed
	}
	for _, one := range []struct {
		count, of int64
		what      string
	}{{broken, checks, "checks"}, {failed, requests, "requests"}} {
		if one.count > 0 {
			parts = append(parts, fmt.Sprintf("%s of %s %s failed (%s)", unit.Count(one.count), unit.Count(one.of), one.what, unit.Percent(float64(one.count)/float64(one.of))))
		}
	}
	return parts
}

// tail is the time of the slow responses: p99, or the slowest if there are too few for it.
func tail(r *load.Result) string {
	if q := 0.99; reaches(r.Response.Count(), q) {
		return "p99 " + unit.Duration(float64(r.Response.Quantile(q)))
	}
	return "slowest " + unit.Duration(float64(r.Response.Quantile(1)))
}

// reaches reports whether at least one of n values is beyond the percentile of a share below 1.
func reaches(n int64, share float64) bool {
	const rounding = 1e-9
	return float64(n)*(1-share) >= 1-rounding
}

// operations is what a target in this process does many of in an iteration.
func operations(r *load.Result) string {
	if strings.HasPrefix(r.Target, "pipe:") {
		return "items"
	}
	return "ops"
}

// squeezed is the least ratio of the longest to the median for which percentiles are drawn
// on a log scale: on a linear one all but the longest would have the same mark.
const squeezed = 50

// percentiles draws those of the response time that so many answers have.
func (v *view) percentiles(r *load.Result) {
	if r.Response == nil || r.Response.Count() == 0 {
		return
	}
	median, longest := float64(max(1, r.Response.Quantile(0.5))), float64(max(1, r.Response.Quantile(1)))
	what := "response time"
	switch {
	case r.Ops > r.Completed:
		what = fmt.Sprintf("time of %s %s", unit.Count(r.Ops/max(1, r.Completed)), operations(r))
	case isFlow(r):
		what = "time of an iteration, with its pauses"
	case r.Model == load.OpenModel:
		what = "response time, from when each request was due"
	}
	share := func(value float64) float64 { return value / longest }
	if longest > squeezed*median {
		what += " (log scale)"
		share = func(value float64) float64 { return logShare(value, median, longest) }
	}
	t := table{title: what, columns: []string{"", ""}}
	for _, q := range ladderOf {
		if q.share < 1 && !reaches(r.Response.Count(), q.share) {
			continue
		}
		value := float64(r.Response.Quantile(q.share))
		t.rows, t.bars = append(t.rows, []string{q.name, unit.Duration(value)}), append(t.bars, bar{share: share(value)})
	}
	v.rows(t)
}

// amounts says how many iterations there were, and what went over the network.
func (v *view) amounts(r *load.Result) {
	if r.Local || r.Duration <= 0 {
		return
	}
	perSec := func(n int64) string { return unit.Bytes(float64(n)/r.Duration.Seconds()) + "/s" }
	v.aside("%s %s, %s received, %s sent", unit.Count(r.Planned), either(isFlow(r), "iterations", "requests"), perSec(r.BytesIn), perSec(r.BytesOut))
}

// ladderOf are the percentiles of a page.
var ladderOf = []struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}
