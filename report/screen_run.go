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
	"contend/load"
	"contend/metric"
	"contend/trial"
)

// mostOfRun are the lines of a page about a run.
const mostOfRun = 15

// barColumns is how long the longest bar of a page is.
const barColumns = 40

// marks draws a share, 0 to 1, of the longest bar; one mark at least.
func marks(share float64) string { return marksOf(share, barColumns) }

// logShare is the share on a log scale of what lies between low and high, which is 1; that of
// low is what a factor of ten has.
func logShare(value, low, high float64) float64 {
	return math.Log(10*value/low) / math.Log(10*high/low)
}

// marksOf draws it where the longest has so many columns.
func marksOf(share float64, columns int) string {
	return strings.Repeat("█", min(columns, max(1, int(share*float64(columns)+0.5))))
}

// runScreen answers what a target did under one load.
func (d *Document) runScreen(c trial.Cell) *screen {
	s := &screen{care: new(findings), hidden: len(d.Notes), most: mostOfRun, mood: good}
	r := c.Result
	if r.Completed == 0 {
		return d.nothingScreen(s, c)
	}
	s.first = runSentence(r)
	under := fmt.Sprintf("concurrency %d, %s measured", r.Concurrency, window(r.Duration))
	if r.Model == load.OpenModel {
		under = fmt.Sprintf("arrivals %s, up to %d at once, %s measured", r.Plan.Pacer, r.Concurrency, window(r.Duration))
	}
	if r.Plan.Warmup > 0 && !r.Local {
		under += " after " + window(r.Plan.Warmup) + " of warm-up"
	}
	if by := drivenBy(r); by != "" {
		under += ", " + by
	}
	doubt, ceased := d.doubt(c), ceasedSentence(r)
	switch {
	case doubt != nil:
		s.first, s.mood = cmp.Or(ceased, "Do not believe it: "+s.first), doubted
		s.trust = fmt.Sprintf("INVALID %s: %s", doubt.Code, doubt.Text)
	case r.Stopped == load.Interrupted:
		s.trust = "Interrupted, so this is only a part: " + under
	case r.TooShort():
		s.trust, s.mood = "Too short to rely on, as it may not be the usual speed: "+under, doubted
	default:
		s.trust = "Believe it" + minding(r, d.caveats(r)) + ": " + under
	}
	expected, failed := d.expected()
	if failed > 0 && (doubt == nil || doubt.Is(finding.Errors)) { // claims about these are decided all the same
		s.first, s.mood = d.unmet(failed)+cmp.Or(ceased, runSentence(r)), bad
	}
	s.body = append(s.body, "  "+clean(r.Target))
	s.body = append(s.body, wrongKinds(r)...)
	s.body = append(append(append(s.body, percentiles(r)...), flow(r)...), expected...)
	if isFlow(r) {
		s.most = mostOfFlow
	}
	caveats := d.caveats(r)
	s.hidden += len(r.Warnings) - len(caveats)
	for _, w := range caveats {
		if (doubt == nil || w.Code != doubt.Code) && (ceased == "" || tells(w)) {
			s.care.add(w, "")
		}
	}
	s.next = cmp.Or(d.Next, "contend sweep finds the best concurrency of this target, sweep --rate its highest rate")
	switch {
	case ceased != "":
		s.next = "see why it stopped (what does the server say?), then the same command again"
	case doubt.Is(finding.Errors) && 2*r.Errored[errkind.Stale] > r.Wrong():
		s.next = "raise the server's keep-alive timeout above the pauses between requests, shorten these (--think), or use --no-keepalive"
	case doubt != nil && 2*r.Errored[errkind.PortsExhausted] > r.Wrong():
		s.next = toFreePorts
	case doubt != nil:
		s.next = d.afterDoubt(doubt.Code)
	}
	return s
}

// caveats are the warnings that matter to what was asked of a run: claims that hold do so with the start lag
// in the response times.
func (d *Document) caveats(r *load.Result) []finding.Warning {
	if len(d.Expectations) == 0 || slices.ContainsFunc(d.Expectations, func(x expect.Expectation) bool { return !x.Held }) {
		return r.Warnings
	}
	return slices.DeleteFunc(slices.Clone(r.Warnings), func(w finding.Warning) bool { return w.Is(finding.StartLag) })
}

// minding says what to keep in mind about a result that is believed: warnings that the page
// marks, and others that took cores, idle ones too, unless a warning says that.
func minding(r *load.Result, caveats []finding.Warning) string {
	var list []string
	if casting(caveats) {
		list = append(list, "the !")
	}
	if share := r.Elsewhere(); share > finding.MachineBusy.Warns && !finding.MachineBusy.In(r.Warnings) {
		list = append(list, fmt.Sprintf("other programs (%.2g of %s)", share*float64(r.MachineCores), plural(r.MachineCores, "core")))
	}
	if len(list) == 0 {
		return ""
	}
	return ", but mind " + enumerated(list)
}

// mostKinds are the kinds of failures and errors that are shown.
const mostKinds = 3

// wrongKinds counts what went wrong, what did so most often first.
func wrongKinds(r *load.Result) []string {
	list := append(failures(r), kindsOf(r)...)
	slices.SortStableFunc(list, func(a, b wrong) int { return cmp.Compare(b.count, a.count) })
	var lines []string
	for _, w := range list[:min(mostKinds, len(list))] {
		lines = append(lines, fmt.Sprintf("  %s × %s: %s", metric.Number(float64(w.count)), w.what, w.example))
	}
	return lines
}

// expected says which claims failed, and how many did and held.
func (d *Document) expected() (lines []string, failed int) {
	var held []string
	for _, x := range d.claims() {
		if x.Held {
			held = append(held, x.Text)
		} else {
			lines = append(lines, "! "+clean(outcome(x)))
		}
	}
	failed = len(lines)
	if more := failed - mostWarnings; more > 0 {
		lines = append(lines[:mostWarnings], fmt.Sprintf("! %s more failed: --full", plural(more, "expectation")))
	}
	if len(held) > 0 {
		lines = append(lines, clip("  held: "+clean(strings.Join(held, ", ")), textWidth))
	}
	return lines, failed
}

// claims are those about a run, or about a user's own comparison.
func (d *Document) claims() []expect.Expectation {
	if e, own := d.own(); own {
		return e.Expectations
	}
	return d.Expectations
}

// unmet begins the first line of a page where so many expectations failed.
func (d *Document) unmet(failed int) string {
	return fmt.Sprintf("%d of %s failed: ", failed, plural(len(d.claims()), "expectation"))
}

// runSentence has throughput, response time and errors; where an iteration is many operations,
// the time of one of these.
func runSentence(r *load.Result) string {
	if r.Completed == 0 {
		return nothingSentence(r)
	}
	text := perSec(r.ThroughputPerSec)
	switch each, batched := metric.WallPerOp.Of(r); {
	case batched && r.Ops > r.Completed:
		text = fmt.Sprintf("%s %s/s, %s each", metric.Number(r.ThroughputPerSec), operations(r), metric.Duration(each))
	case r.Response.Count() > 0:
		text += fmt.Sprintf(" at %s in the median, %s", metric.Duration(float64(r.Response.Quantile(0.5))), tail(r))
	}
	return text + "; " + amiss(r)
}

// amiss says how many iterations came to no right answer, and how.
func amiss(r *load.Result) string {
	var parts []string
	of := " of " + metric.Number(float64(r.Planned))
	for _, one := range []struct {
		count int64
		how   string
	}{{r.Dropped, "never started"}, {r.Unfinished, "cut off by the end"}, {r.Wrong(), "failed or errored"}} {
		if one.count > 0 {
			parts = append(parts, fmt.Sprintf("%s%s %s (%s)", metric.Number(float64(one.count)), of, one.how, shareOf(one.count, r.Planned)))
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
			parts = append(parts, fmt.Sprintf("%s of %s %s failed (%s)", metric.Number(float64(one.count)), metric.Number(float64(one.of)), one.what, shareOf(one.count, one.of)))
		}
	}
	return parts
}

// shareOf is a part of a whole in two digits, or all of it: 0.2 %, 100 %.
func shareOf(part, whole int64) string {
	if part == whole {
		return "100 %"
	}
	return fmt.Sprintf("%.2g %%", 100*float64(part)/float64(whole))
}

// tail says how long the slow answers took: p99, or of too few for one the slowest.
func tail(r *load.Result) string {
	if q := 0.99; reaches(r.Response.Count(), q) {
		return metric.Duration(float64(r.Response.Quantile(q))) + " at p99"
	}
	return "the slowest " + metric.Duration(float64(r.Response.Quantile(1)))
}

// reaches says whether one of n values at least lies beyond the percentile of a share below 1.
func reaches(n int64, share float64) bool {
	const rounding = 1e-9
	return float64(n)*(1-share) >= 1-rounding
}

// operations is what a target in this process does many of in an iteration.
func operations(r *load.Result) string {
	if strings.HasPrefix(r.Target, "pipe:") {
		return "items"
	}
	return "operations"
}

// squeezed is how many times the median the longest is from which on percentiles are drawn
// on a log scale: on another all but the longest would have the same mark.
const squeezed = 50

// percentiles draws those of the response time that so many answers have.
func percentiles(r *load.Result) []string {
	if r.Response == nil || r.Response.Count() == 0 {
		return nil
	}
	median, longest := float64(max(1, r.Response.Quantile(0.5))), float64(max(1, r.Response.Quantile(1)))
	what := "response time"
	switch {
	case r.Ops > r.Completed:
		what = fmt.Sprintf("time of %s %s", metric.Number(float64(r.Ops/max(1, r.Completed))), operations(r))
	case r.Model == load.OpenModel:
		what = "response time from due time"
	}
	share := func(value float64) float64 { return value / longest }
	if longest > squeezed*median {
		what += ", on a log scale"
		share = func(value float64) float64 { return logShare(value, median, longest) }
	}
	var t table
	for _, q := range ladderOf {
		if q.share < 1 && !reaches(r.Response.Count(), q.share) {
			continue
		}
		value := float64(r.Response.Quantile(q.share))
		t.rows = append(t.rows, []string{q.name, metric.Duration(value), marks(share(value))})
	}
	t.columns = []string{"", "", ""}
	return append([]string{"  " + what}, t.lines()[1:]...)
}

// ladderOf are the percentiles of a page.
var ladderOf = []struct {
	name  string
	share float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}
