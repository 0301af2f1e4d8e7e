package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"contend/finding"
	"contend/metric"
	"contend/sweep"
	"contend/trial"
	"contend/usl"
)

// mostLevels are the lines of a page about a sweep for its levels.
const mostLevels = 8

// sweepScreen answers which concurrency to use.
func (d *Document) sweepScreen(c sweep.Curve) *screen {
	s := &screen{care: new(findings), hidden: len(d.Notes), mood: good}
	refused := refusedLevels(c)
	if trial.NothingRight(c.Results) {
		return d.nothingScreen(s, trial.MergeCells(c.Results))
	}
	s.first, s.trust = recommended(c)
	s.next = cmp.Or(d.Next, addFull+"the curve, its fit and every number")
	switch {
	case len(refused) > 0:
		s.first, s.mood = notAdvised, doubted
		s.trust, _ = doubtful(c.Results, "levels", trial.Cell.Doubt)
		s.next = d.afterDoubt(refused[0])
	case c.TimeUp != nil:
		s.first, s.mood = "Inconclusive so far: "+strings.ToLower(s.first[:1])+s.first[1:], doubted
		if use := c.Recommended(); use != nil && !sweep.Settled(use) && use.N.Interval != nil {
			s.first = fmt.Sprintf("Inconclusive: the concurrency to use is between %s and %s", metric.Number(use.N.Interval.Low), metric.Number(use.N.Interval.High))
		}
		s.trust = "Time was up: " + c.TimeUp.Lacks
		s.next = cmp.Or(d.Next, "run the same command with a longer -d")
	case c.Bound != nil:
		s.mood = doubted
		s.next = d.afterDoubt(c.Bound.Reason.Code)
	}
	if len(c.Results) > 0 {
		s.aside("%s", c.Results[0].Target)
		if slices.Contains(refused, finding.Errors.Code) {
			wrong := wrongKinds(trial.MergeCells(c.Results).Result)
			s.asides(wrong[:min(2, len(wrong))])
		}
		s.levels(c, len(refused) == 0 && c.TimeUp == nil)
	}
	if c.Fit != nil && c.Bound == nil {
		if p := c.Fit.Peak; p != nil && missed(c.Fit) == "" {
			s.aside("fitted peak (Universal Scalability Law): %s at concurrency %s", spanned(p.Throughput, inThree), spanned(p.N, whole))
		}
		for _, w := range c.Fit.Warnings {
			s.care.addCode(w)
		}
	}
	for _, cell := range c.Results {
		for _, w := range cell.Warnings {
			if !slices.Contains(refused, w.Code) && !w.Is(finding.ServerBusy) { // a sweep looks for the server's limit
				s.care.addCode(w)
			}
		}
	}
	s.countCaveats("Valid")
	return s
}

const notAdvised = "No result: no concurrency can be recommended"

// recommended says the concurrency to use, what more callers would give, and the
// status of that.
func recommended(c sweep.Curve) (first, trust string) {
	use := c.Recommended()
	if use == nil || c.Best == nil {
		return notAdvised, strings.TrimPrefix(c.NoFit, "usl: ")
	}
	at, most := atLevel(c, use.N.Value), atLevel(c, c.Best.N.Value)
	first = fmt.Sprintf("Use concurrency %s: %s", ranged(use.N), perSec(use.Throughput))
	if at != nil {
		first += ", median " + p50(at)
	}
	if at != nil && most != nil && c.Best.N.Value > use.N.Value {
		first += fmt.Sprintf(". Concurrency %s: %.1f%% more, %.2g times the median.", metric.Number(c.Best.N.Value),
			100*max(0, c.Best.Throughput/use.Throughput-1), float64(most.Response.Quantile(0.5))/float64(at.Response.Quantile(0.5)))
	} else if highest := c.Results[len(c.Results)-1].Concurrency; float64(highest) > use.N.Value {
		first += ". More callers gave no more throughput."
	} else {
		first += ". This was the highest level tried."
	}
	switch {
	case c.Bound != nil:
		return first, boundTrust(*c.Bound)
	case c.Fit == nil:
		return first, "Valid for the levels measured, not beyond: " + strings.TrimPrefix(c.NoFit, "usl: ")
	case c.Fit.Peak == nil:
		return first, "Valid for the levels measured; the peak is unknown: " + c.Fit.NoPeak
	case missed(c.Fit) != "":
		return first, fmt.Sprintf("Valid for the levels measured (best: %s at concurrency %s); ignore the fitted curve (%s)",
			perSec(c.Best.Throughput), metric.Number(c.Best.N.Value), missed(c.Fit))
	}
	return first, fmt.Sprintf("Valid: %s measured, and a peak confirmed by slower levels above it", plural(len(c.Results), "level"))
}

func whole(n float64) string { return metric.Number(math.Round(n)) }

// missed is the code of the warning that the law is not what was measured, so that its
// peak is nothing to go by; "": there is none.
func missed(f *usl.Result) string {
	for _, w := range f.Warnings {
		if w.Is(finding.Misfit) || w.Is(finding.PoorFit) {
			return w.Code
		}
	}
	return ""
}

// spanned is an estimate with its interval: 188,000/s (95% CI 176,000 to 206,000/s).
func spanned(e usl.Estimate, format func(float64) string) string {
	if e.Interval == nil {
		return format(e.Value)
	}
	return fmt.Sprintf("%s (%s %s to %s)", format(e.Value), ci(1-usl.Confidence), strings.TrimSuffix(format(e.Interval.Low), "/s"), format(e.Interval.High))
}

func atLevel(c sweep.Curve, n float64) *trial.Cell {
	i := slices.IndexFunc(c.Results, func(cell trial.Cell) bool { return float64(cell.Concurrency) == n })
	if i < 0 || c.Results[i].Response == nil || c.Results[i].Response.Count() == 0 {
		return nil
	}
	return &c.Results[i]
}

func p50(c *trial.Cell) string { return metric.Duration(float64(c.Response.Quantile(0.5))) }

// ranged is a level with its interval, if that is more than the level: 4 (3 to 6).
func ranged(n usl.Estimate) string {
	if n.Interval == nil || n.Interval.Low == n.Interval.High {
		return metric.Number(n.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", metric.Number(n.Value), metric.Number(n.Interval.Low), metric.Number(n.Interval.High))
}

// rule says what the recommended level is.
func rule(d sweep.Design) string {
	if d.Within > 0 {
		return fmt.Sprintf("the smallest concurrency within %g%% of the best throughput", 100*d.Within)
	}
	return "the knee, with the highest throughput ÷ response time"
}

// refusedLevels are the codes of levels that must not be believed, where they spoil the answer.
func refusedLevels(c sweep.Curve) []string {
	if c.Bound != nil || c.Fit != nil && c.Fit.Peak != nil {
		return nil
	}
	_, refused := doubtful(c.Results, "levels", trial.Cell.Doubt)
	return refused
}

// levels draws throughput over concurrency, with the level to use marked if it is valid.
func (v *view) levels(c sweep.Curve, valid bool) {
	highest := 1.0
	for _, cell := range c.Results {
		highest = max(highest, cell.ThroughputPerSec)
	}
	shown := shownLevels(c)
	t := table{columns: []string{"concurrency", "throughput", "median", "p99"}}
	if len(shown) < len(c.Results) {
		t.over = fmt.Sprintf("%d of %d levels", len(shown), len(c.Results))
	}
	use := c.Recommended()
	for _, i := range shown {
		cell := c.Results[i]
		median, p99, b := "-", "-", bar{}
		if cell.ThroughputPerSec > 0 {
			median, p99, b.share = figure(metric.ResponseP50, cell), figure(metric.ResponseP99, cell), cell.ThroughputPerSec/highest
		}
		if valid && use != nil && use.N.Value == float64(cell.Concurrency) {
			b.remark = "← use this"
		}
		t.rows, t.bars = append(t.rows, []string{strconv.Itoa(cell.Concurrency), figure(metric.Throughput, cell), median, p99}), append(t.bars, b)
	}
	v.rows(t)
	if valid && use != nil {
		v.aside("use this: %s", rule(c.Design))
	}
}

// shownLevels are all levels, or as many as there is room for: the first, the last, the
// one to use, and others in even steps.
func shownLevels(c sweep.Curve) []int {
	n := len(c.Results)
	var shown []int
	add := func(i int) {
		if i >= 0 && !slices.Contains(shown, i) && len(shown) < mostLevels {
			shown = append(shown, i)
		}
	}
	add(0)
	add(n - 1)
	if use := c.Recommended(); use != nil {
		add(slices.IndexFunc(c.Results, func(cell trial.Cell) bool { return use.N.Value == float64(cell.Concurrency) }))
	}
	for step := max(1, (n+mostLevels-1)/mostLevels); step > 0 && len(shown) < min(n, mostLevels); step-- {
		for i := 0; i < n; i += step {
			add(i)
		}
	}
	slices.Sort(shown)
	return shown
}
