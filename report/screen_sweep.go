package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/finding"
	"contend/internal/unit"
	"contend/metric"
	"contend/sweep"
	"contend/trial"
	"contend/usl"
)

// mostLevels are the lines of a page about a sweep for its levels.
const mostLevels = 8

// sweepScreen answers which concurrency to use.
func (d *Document) sweepScreen(c sweep.Curve) *screen {
	s := &screen{care: new(findings), mood: good}
	refused := refusedLevels(c)
	if trial.NothingRight(c.Results) {
		return d.nothingScreen(s, trial.MergeCells(c.Results))
	}
	s.first, s.trust = recommended(c)
	s.next = cmp.Or(d.goesOn(), advise(addFull+"the curve, its fit and every number"))
	switch {
	case c.TimeUp != nil && len(c.Results) < 2:
		s.first, s.mood = "Too little time for a sweep, which takes about "+roughly(c.TimeUp.Needs), doubted
		s.trust = "INCONCLUSIVE: " + c.TimeUp.Lacks
		s.next = cmp.Or(d.goesOn(), advise("run the same command with a longer -d"))
	case len(refused) > 0:
		s.mood = doubted
		s.first, s.trust = noLevel(c.Results)
		s.next = d.afterDoubt(refused[0])
	case c.Interrupted:
		s.mood, s.trust = doubted, fmt.Sprintf("INCONCLUSIVE: %s at %s before it ended", plural(len(c.Visits), "run"), plural(len(c.Results), "level"))
		s.next = advise("run the same command again, and let it end")
	case c.TimeUp != nil:
		s.first, s.mood = "Inconclusive; so far: "+s.first, doubted
		if best := c.Recommended(); best != nil && !sweep.Settled(best) && best.N.Interval != nil {
			s.first = fmt.Sprintf("Inconclusive: the best concurrency is between %s and %s", unit.Number(best.N.Interval.Low), unit.Number(best.N.Interval.High))
		}
		s.trust = "Time was up: " + c.TimeUp.Lacks
		s.next = cmp.Or(d.goesOn(), advise("run the same command with a longer -d"))
	case c.Crowded != nil:
		s.mood = doubted
		s.first = "Inconclusive: the best concurrency is at least " + unit.Number(c.Recommended().N.Value)
		s.trust = "Other programs may keep more callers from paying: " + c.Crowded.Text
		s.next = d.afterDoubt(c.Crowded.Code)
	case c.Bound != nil:
		s.mood = doubted
		s.next = d.afterDoubt(c.Bound.Reason.Code)
	}
	if len(c.Results) > 0 {
		s.aside("%s", d.asTyped(c.Results[0].Target))
		s.asides(d.Notes)
		if slices.Contains(refused, finding.Errors.Code) {
			wrong := wrongKinds(trial.MergeCells(c.Results).Result)
			s.asides(wrong[:min(2, len(wrong))])
		}
		s.levels(c, len(refused) == 0 && c.Done())
	}
	s.curveFindings(c, refused)
	s.countCaveats("Valid")
	return s
}

// curveFindings adds the fitted peak and what is to be known of the fit and the levels, except what refused these.
func (s *screen) curveFindings(c sweep.Curve, refused []string) {
	if c.Fit != nil && c.Bound == nil {
		if p := c.Fit.Peak; p != nil && missed(c.Fit) == "" {
			s.aside("fitted peak (Universal Scalability Law): %s at concurrency %s", spanned(p.Throughput, unit.Rate), spanned(p.N, whole))
		}
		for _, w := range c.Fit.Warnings {
			s.care.addCode(w, "")
		}
	}
	for _, cell := range c.Results {
		for _, w := range cell.Warnings {
			if !slices.Contains(refused, w.Code) && !w.Is(finding.ServerBusy) { // a sweep looks for the server's limit
				s.care.addCode(w, "")
			}
		}
	}
}

// noLevel is the beginning of the page about levels that are INVALID.
func noLevel(levels []trial.Cell) (first, trust string) {
	if doubt := levels[0].Doubt(); doubt.Is(finding.Starved) {
		return starvedAt(levels[0].Result, doubt)
	}
	trust, _ = doubtful(levels, "levels", trial.Cell.Doubt)
	return notAdvised, trust
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
	first = fmt.Sprintf("%s %s: %s", either(c.Done(), "Use concurrency", "concurrency"), ranged(use.N), unit.Rate(use.Throughput))
	if at != nil {
		first += ", median " + p50(at)
	}
	if at != nil && most != nil && c.Best.N.Value > use.N.Value {
		gain := max(1, c.Best.Throughput/use.Throughput)
		first += fmt.Sprintf(". Concurrency %s: %s, %s the median.", unit.Number(c.Best.N.Value),
			either(unit.AsFactor(gain), unit.Factor(gain)+" the throughput", unit.Difference(gain)+" more"), timesMedian(most, at))
	} else if highest := c.Results[len(c.Results)-1].Concurrency; float64(highest) > use.N.Value {
		first += ". More callers gave no more throughput."
	} else if c.Starved() == nil {
		first += ". This was the highest level tried."
	}
	if starved := c.Starved(); starved != nil {
		first = fmt.Sprintf("%s. At concurrency %s, %s.", strings.TrimSuffix(first, "."), unit.Count(starved.Concurrency), starved.Doubt().Text)
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
			unit.Rate(c.Best.Throughput), unit.Number(c.Best.N.Value), missed(c.Fit))
	}
	return first, fmt.Sprintf("Valid: %s measured, and a peak confirmed by slower levels above it", plural(len(c.Results), "level"))
}

func whole(n float64) string { return unit.Number(math.Round(n)) }

// missed is the code of the warning that the law does not fit what was measured, which
// makes its peak useless; "" if it fits.
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

func p50(c *trial.Cell) string { return unit.Duration(float64(c.Response.Quantile(0.5))) }

// ranged is a level with its interval, if that is more than the level: 4 (3 to 6).
func ranged(n usl.Estimate) string {
	if n.Interval == nil || n.Interval.Low == n.Interval.High {
		return unit.Number(n.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", unit.Number(n.Value), unit.Number(n.Interval.Low), unit.Number(n.Interval.High))
}

// rule says what the recommended level is.
func rule(d sweep.Design) string {
	if d.Within > 0 {
		return fmt.Sprintf("the smallest concurrency within %s of the best throughput", unit.Percent(d.Within))
	}
	return "the knee, with the highest throughput ÷ response time"
}

// refusedLevels are the codes of INVALID levels, where they spoil the answer.
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
	t := table{columns: []string{"concurrency", "throughput", ci(1 - usl.Confidence), "median", "p99"}, longest: 32}
	if len(shown) < len(c.Results) {
		t.over = fmt.Sprintf("%d of %d levels", len(shown), len(c.Results))
	}
	use, known := c.Recommended(), false
	for _, i := range shown {
		cell := c.Results[i]
		within, median, p99, b := "-", "-", "-", bar{}
		if cell.ThroughputPerSec > 0 {
			median, p99, b.share = figure(metric.ResponseP50, cell), figure(metric.ResponseP99, cell), cell.ThroughputPerSec/highest
		}
		if half, ok := c.Within(cell.Concurrency); ok && cell.ThroughputPerSec > 0 {
			known, within = true, "±"+unit.Percent(half/cell.ThroughputPerSec)
		}
		if valid && use != nil && use.N.Value == float64(cell.Concurrency) {
			b.remark = "← use this"
		}
		t.rows, t.bars = append(t.rows, []string{unit.Count(cell.Concurrency), figure(metric.Throughput, cell), within, median, p99}), append(t.bars, b)
	}
	if !known { // each level was visited once
		t.columns = slices.Delete(t.columns, 2, 3)
		for i := range t.rows {
			t.rows[i] = slices.Delete(t.rows[i], 2, 3)
		}
	}
	v.rows(t)
	if valid && use != nil {
		v.aside("use this: %s", rule(c.Design))
	}
	if text := flatness(c); text != "" {
		v.aside("%s", text)
	}
}

// flatness says what the callers above the recommended level do, if that is not the best level, which the first line has.
func flatness(c sweep.Curve) string {
	use, last := c.Recommended(), len(c.Results)-1
	if use == nil || c.Best == nil || float64(c.Results[last].Concurrency) <= max(use.N.Value, c.Best.N.Value) {
		return ""
	}
	from, to := atLevel(c, use.N.Value), atLevel(c, float64(c.Results[last].Concurrency))
	if from == nil || to == nil {
		return ""
	}
	change := math.Round(100 * (to.ThroughputPerSec/use.Throughput - 1))
	moves := "stays within 1%"
	if change != 0 {
		moves = fmt.Sprintf("%s by %.0f%%", either(change < 0, "falls", "rises"), math.Abs(change))
	}
	return fmt.Sprintf("from concurrency %s to %s throughput %s, and the median is %s as long", unit.Count(from.Concurrency), unit.Count(to.Concurrency), moves, timesMedian(to, from))
}

// timesMedian is the ratio of two medians.
func timesMedian(a, b *trial.Cell) string {
	return unit.Factor(float64(a.Response.Quantile(0.5)) / float64(b.Response.Quantile(0.5)))
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
